"""Tools that programs call as functions: tools.freeze_graph, inspect_checkpoint and others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from google.protobuf import text_format

from graphio.execution.session import Session
from graphio.framework import dtypes
from graphio.framework.constants import placeholder
from graphio.framework.graph import Graph
from graphio.io import gfile
from graphio.protos.graph_def import GraphDef
from graphio.protos.graph_import import import_graph_def
from graphio.protos.graph_util import (
    convert_variables_to_constants,
    extract_sub_graph,
    remove_training_nodes,
)
from graphio.saved_model import loader
from graphio.schema import model_pb2, tensorflow_pb2
from graphio.support import api_guard
from graphio.train.checkpoints import checkpoint_reader, meta_graphs

__all__ = [
    "freeze_graph",
    "optimize_for_inference",
    "print_tensors_in_checkpoint_file",
    "strip_unused",
]


@api_guard.unguarded
def print_tensors_in_checkpoint_file(
    file_name: Any,
    tensor_name: str | None,
    all_tensors: bool,
    all_tensor_names: bool = False,
    count_exclude_pattern: str = "",
) -> None:
    """Prints a checkpoint: the tensor of a name, all of them, or names and shapes.

    Args:
        file_name: the checkpoint.
        tensor_name: None or "": none alone.
        all_tensors: whether the values of all tensors are printed.
        all_tensor_names: whether their names are.
        count_exclude_pattern: tensors whose names match are not counted as parameters.
    """
    try:
        reader = checkpoint_reader.NewCheckpointReader(file_name)
        if all_tensors or all_tensor_names:
            for name in sorted(reader.get_variable_to_shape_map()):
                print("tensor_name: ", name)
                if all_tensors:
                    print(reader.get_tensor(name))
        elif not tensor_name:
            print(reader.debug_string().decode())
        else:
            print("tensor_name: ", tensor_name)
            print(reader.get_tensor(tensor_name))
        print(f"# Total number of params: {_parameters(reader, count_exclude_pattern)}")
    except Exception as error:  # as in TensorFlow, a checkpoint that cannot be read is reported
        print(error)


def _parameters(reader: Any, excluded: str) -> int:
    shapes = reader.get_variable_to_shape_map()
    return sum(
        int(np.prod(shape, dtype=np.int64))
        for name, shape in shapes.items()
        if not (excluded and re.search(excluded, name))
    )


@api_guard.unguarded
def freeze_graph(
    input_graph: Any,
    input_saver: Any,
    input_binary: bool,
    input_checkpoint: Any,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: Any,
    clear_devices: bool,
    initializer_nodes: Any,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: Any = None,
    input_saved_model_dir: Any = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Writes a graph whose variables are constants with the values of a checkpoint.

    Args:
        input_graph: file of a GraphDef, as tf.train.write_graph writes it.
        input_saver: must be empty: variables get their values by name.
        input_binary: whether input_graph and input_meta_graph are not text.
        input_checkpoint: the checkpoint of the values.
        output_node_names: separated by commas.
        restore_op_name, filename_tensor_name, checkpoint_version: have no effect.
        output_graph: file to write; "": none.
        clear_devices: whether operations lose their devices.
        initializer_nodes: must be empty.
        variable_names_whitelist, variable_names_blacklist: variables that alone, or not, become
            constants; separated by commas.
        input_meta_graph: file of a MetaGraphDef in place of input_graph.
        input_saved_model_dir: a SavedModel in place of graph and checkpoint.
        saved_model_tags: its tags, separated by commas.

    Returns:
        The GraphDef.

    Raises:
        ValueError: no output is named, or input_saver or initializer_nodes are given.
    """
    if not output_node_names:
        raise ValueError("freeze_graph: output_node_names is empty; name the operations to keep")
    for name, value in (("input_saver", input_saver), ("initializer_nodes", initializer_nodes)):
        if value:
            raise ValueError(
                f"freeze_graph: {name} is {value!r}, which is not supported: leave it empty"
            )
    with Graph().as_default() as graph, Session() as session:
        values: Any = session
        if input_saved_model_dir:
            loader.load(session, saved_model_tags.split(","), input_saved_model_dir)
        else:
            values = _Values(input_checkpoint)
            if input_meta_graph:
                meta_graphs.import_meta_graph(input_meta_graph)
            else:
                import_graph_def(_graph_in(input_graph, input_binary), name="")
        frozen = convert_variables_to_constants(
            values,
            graph.as_graph_def(),
            output_node_names.replace(" ", "").split(","),
            _names(variable_names_whitelist),
            _names(variable_names_blacklist),
        )
    if clear_devices:
        for node in frozen.node:
            node.device = ""
    if output_graph:
        with gfile.GFile(output_graph, "wb") as file:
            file.write(frozen.SerializeToString())
    return frozen


class _Values:
    """The values of a checkpoint, as convert_variables_to_constants takes them from a session."""

    def __init__(self, checkpoint: Any) -> None:
        self.state = self
        self._reader = checkpoint_reader.NewCheckpointReader(checkpoint)

    def names(self) -> Iterable[str]:
        """The variables of the checkpoint."""
        return self._reader.get_variable_to_shape_map()

    def initialized(self, name: str) -> bool:
        """Whether the checkpoint has a variable."""
        return self._reader.has_tensor(name)

    def get(self, name: str) -> Any:
        """The value of a variable."""
        return self._reader.get_tensor(name)


def _names(text: str) -> list[str] | None:
    return text.replace(" ", "").split(",") if text else None


def _graph_in(path: Any, binary: bool) -> GraphDef:
    """The graph of a file: graphio's or TensorFlow's message, as bytes or as text."""
    with gfile.GFile(path, "rb") as file:
        data = file.read()
    if binary:
        found = GraphDef()
        found.ParseFromString(data)
        return found
    try:
        return GraphDef.of(text_format.Parse(data, model_pb2.Model()))
    except text_format.ParseError:
        foreign = text_format.Parse(data, tensorflow_pb2.GraphDef())
        return GraphDef.FromString(foreign.SerializeToString())  # type: ignore[no-any-return]


@api_guard.unguarded
def strip_unused(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
) -> Any:
    """The part of a graph between inputs, which become placeholders, and outputs.

    Args:
        input_graph_def: of Graph.as_graph_def; it stays as it is.
        input_node_names: the operations that become placeholders.
        output_node_names: the operations to keep.
        placeholder_type_enum: the dtype of the placeholders as a number, or one for each.

    Raises:
        KeyError: there is no such input.
    """
    present = {node.name for node in input_graph_def.node}
    missing = [name for name in input_node_names if name not in present]
    if missing:
        raise KeyError(f"The following input nodes were not found: {set(missing)}")
    many = isinstance(placeholder_type_enum, (list, tuple))
    types = list(placeholder_type_enum) if many else [placeholder_type_enum] * len(input_node_names)
    with Graph().as_default() as graph:
        made = {
            name: placeholder(dtypes.as_dtype(kind), name=name)
            for name, kind in zip(input_node_names, types, strict=True)
        }
        import_graph_def(
            input_graph_def,
            input_map={f"{name}:0": value for name, value in made.items()},
            name="",
        )
    return extract_sub_graph(graph.as_graph_def(), list(output_node_names))


@api_guard.unguarded
def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> Any:
    """strip_unused without the nodes that only training needs. The engines do other rewrites when
    they load a model; toco_compatible has no effect.

    Args:
        input_graph_def, input_node_names, output_node_names, placeholder_type_enum: as
            strip_unused's.
    """
    stripped = strip_unused(
        input_graph_def, input_node_names, output_node_names, placeholder_type_enum
    )
    return remove_training_nodes(stripped, list(output_node_names))
