"""Your own suites: a Python file, or a TOML plan of steps."""
