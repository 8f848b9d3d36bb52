"""The command `graphio`: app.py has the commands, commands/ what each does.

A command collects facts, plain dicts and lists, and shows them: as JSON with --json, else as text.
So what scripts read and what people read are the same facts. Exit codes are in exits.py.
"""
