"""Commands about the machine around a drive: what it is, what it should be, and what each setting is worth."""
