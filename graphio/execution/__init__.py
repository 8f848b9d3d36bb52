"""Running a graph: Session, feeds, fetches, placement, options, and the engines to choose from.

Imports protos, model, variables and below.
"""
