"""TensorFlow's messages as views of a model: GraphDef, NodeDef, MetaGraphDef, SignatureDef.

Imports model and below.
"""
