"""Numbers, tables and escapes as people read them. Knows no domain: everything else may use it, and it uses nothing."""
