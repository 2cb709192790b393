"""Numbers, tables and escapes as people read them. Knows no domain and imports no other package."""
