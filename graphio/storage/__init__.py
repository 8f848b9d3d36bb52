"""Where files are: local folders and object stores, durable writes, tf.io.gfile.

Imports support.
"""
