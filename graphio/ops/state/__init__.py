"""Operators with state or effects: assignments, tables, files, Python functions, printing.

assigning        scatter_update, v[1:3].assign; lookup: tf.lookup; report: uninitialised names
console          tf.print; files: tf.read_file; py_func: tf.py_func, tf.numpy_function
custom_operators    declaring and building custom operators
"""
