"""TensorFlow's messages as views of a model: GraphDef, NodeDef, MetaGraphDef, SignatureDef.

May import model and below.

    graph_def, node_def, meta_graph, collection_def, signature_def, variable_def    a message each
    graph_import         tf.import_graph_def; graph_io: tf.io.write_graph
    graph_util           tf.graph_util
    tensorflow_messages  graphs as TensorFlow's own messages, for their text and TensorBoard
"""
