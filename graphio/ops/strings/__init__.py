"""Operators on strings, which are bytes.

core, numbers    functions with kernels in both engines
python_strings, patterns, segments, transcode, edit_distance, csv_lines    run by Python
example, sequence_example    tf.parse_example
"""
