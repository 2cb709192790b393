"""Numbers, tables, escapes and options as people read them. Knows no domain and imports no other package."""
