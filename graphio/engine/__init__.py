"""What both engines share: their interface, the arguments of a run, host functions, pickling.

Imports support, storage and schema.
"""
