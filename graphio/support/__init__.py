"""What any part of graphio may need: errors, logging, progress, marks of public functions, HTML.

Imports only Python, numpy and small libraries.
"""
