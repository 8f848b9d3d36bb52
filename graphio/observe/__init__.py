"""Looking into graphs and runs: debugging, watchpoints, profiles, timelines, pictures.

Imports execution, protos, model and below.
"""
