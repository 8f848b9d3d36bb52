"""The graph: operations, tensors, static shapes, dtypes, names, scopes, collections, devices.

Also the guard of the public functions and the registry of gradients. Imports engine, schema and
below; operators register what the graph's classes call of them.
"""
