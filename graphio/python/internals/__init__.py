"""Functions of TensorFlow's inner modules that have no public name; tables.py lists them."""
