"""The state of a graph, one module for each subject; framework/graph.py holds an object of each.

names                       names of operations and scopes, and look-up by name
contexts, control           name scopes, devices and control dependencies of a thread
bodies                      what a body of a loop or branch reads from outside
collections                 named lists of values
seeds, host_functions       keys of random generators; functions that operations call
gradient_overrides          gradients by name for new operations
attachments                 objects that other modules keep with a graph
rollback                    the state before a call that failed
"""
