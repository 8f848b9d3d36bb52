"""From a graph to a model and back: export, import, sizes, costs, descriptions, C source.

rewrite/ has the passes that run before the bytes are made. Imports autodiff, variables and below.
"""
