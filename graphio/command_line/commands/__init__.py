"""The commands: each module has NAME and the function `command`, whose docstring is its help."""
