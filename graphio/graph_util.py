"""tf.graph_util: cutting graphs out of graphs, and freezing variables to constants."""

from graphio.protos.graph_util import (
    convert_variables_to_constants,
    extract_sub_graph,
    import_graph_def,
    must_run_on_cpu,
    remove_training_nodes,
    set_cpu0,
    tensor_shape_from_node_def_name,
)

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "set_cpu0",
    "tensor_shape_from_node_def_name",
]
