"""Operators with state or effects: assignments, tables, files, Python functions, printing."""
