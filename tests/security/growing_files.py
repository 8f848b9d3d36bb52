"""Files of every format that is read, of a requested size: wide, long or deep."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from foreign_files import torch_file
from onnx import TensorProto, helper, numpy_helper
from tensorflow_tables import entry, field, masked, number, table_of

import graphio as tf
from graphio import tensorflow_files
from graphio.schema import tensorflow_pb2 as pb
from graphio.train.interop import snappy, table
from graphio.train.interop.sources import open_source

Work = Callable[[], object]
#: from a folder and a size to the work that reads a file of that size
Family = Callable[[Path, int], Work]

ONE = np.zeros(1, np.float32)


# ---- TensorFlow ----


def _placeholder(graph: pb.GraphDef, name: str) -> None:
    node = graph.node.add(name=name, op="Placeholder")
    node.attr["dtype"].type = pb.DT_FLOAT
    node.attr["shape"].shape.dim.add(size=1)


def _node(nodes: Any, name: str, op: str, *inputs: str, **types: int) -> Any:
    node = nodes.add(name=name, op=op, input=inputs)
    for key, value in {"T": pb.DT_FLOAT, **types}.items():
        node.attr[key].type = value
    return node


def _test(graph: pb.GraphDef) -> None:
    """A placeholder for a bool."""
    node = graph.node.add(name="test", op="Placeholder")
    node.attr["dtype"].type = pb.DT_BOOL
    node.attr["shape"].shape.SetInParent()


def _constant(nodes: Any, name: str) -> None:
    node = nodes.add(name=name, op="Const")
    node.attr["dtype"].type = pb.DT_FLOAT
    tensor = node.attr["value"].tensor
    tensor.dtype, tensor.tensor_content = pb.DT_FLOAT, ONE.tobytes()
    tensor.tensor_shape.dim.add(size=1)


def _imported(graph: pb.GraphDef) -> Work:
    data = graph.SerializeToString()

    def work() -> object:
        with tf.Graph().as_default():
            return tensorflow_files.import_model(data)

    return work


def tf_wide_sum(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    for i in range(size):
        _placeholder(graph, f"p{i}")
    _node(graph.node, "sum", "AddN", *(f"p{i}" for i in range(size))).attr["N"].i = size
    return _imported(graph)


def tf_sum_of_one(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    _placeholder(graph, "p")
    _node(graph.node, "sum", "AddN", *["p"] * size).attr["N"].i = size
    return _imported(graph)


def tf_wide_pack(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    for i in range(size):
        _placeholder(graph, f"p{i}")
    _node(graph.node, "pack", "Pack", *(f"p{i}" for i in range(size))).attr["N"].i = size
    return _imported(graph)


def tf_long_chain(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    _placeholder(graph, "n0")
    for i in range(size):
        _node(graph.node, f"n{i + 1}", "Neg", f"n{i}")
    return _imported(graph)


def tf_backward_chain(folder: Path, size: int) -> Work:
    """The nodes come after those that read them."""
    graph = pb.GraphDef()
    for i in reversed(range(size)):
        _node(graph.node, f"n{i + 1}", "Neg", f"n{i}")
    _placeholder(graph, "n0")
    return _imported(graph)


def tf_weights(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    _placeholder(graph, "x0")
    for i in range(size):
        _constant(graph.node, f"w{i}")
        _node(graph.node, f"x{i + 1}", "Mul", f"x{i}", f"w{i}")
    return _imported(graph)


def tf_controls(folder: Path, size: int) -> Work:
    """Groups of groups: each waits for the one before."""
    graph = pb.GraphDef()
    _placeholder(graph, "x")
    graph.node.add(name="g0", op="NoOp")
    for i in range(size):
        graph.node.add(name=f"g{i + 1}", op="NoOp", input=[f"^g{i}"])
    _node(graph.node, "y", "Neg", "x", f"^g{size}")
    return _imported(graph)


def tf_asserts(folder: Path, size: int) -> Work:
    """One operation that waits for many checks, by a group of groups."""
    graph = pb.GraphDef()
    _placeholder(graph, "x")
    _test(graph)
    graph.node.add(name="g0", op="NoOp")
    for i in range(size):
        check = graph.node.add(name=f"a{i}", op="Assert", input=["test", "x"])
        check.attr["T"].list.type.append(pb.DT_FLOAT)
        graph.node.add(name=f"g{i + 1}", op="NoOp", input=[f"^a{i}", f"^g{i}"])
    _node(graph.node, "y", "Neg", "x", f"^g{size}")
    return _imported(graph)


def tf_branches(folder: Path, size: int) -> Work:
    """Conds of TensorFlow 1, one after the other."""
    graph = pb.GraphDef()
    _placeholder(graph, "x0")
    _test(graph)
    for i in range(size):
        _node(graph.node, f"s{i}", "Switch", f"x{i}", "test")
        _node(graph.node, f"no{i}", "Neg", f"s{i}")
        _node(graph.node, f"yes{i}", "Abs", f"s{i}:1")
        _node(graph.node, f"x{i + 1}", "Merge", f"no{i}", f"yes{i}").attr["N"].i = 2
    return _imported(graph)


def tf_loop_variables(folder: Path, size: int) -> Work:
    """A loop of TensorFlow 1 with many variables."""
    graph = pb.GraphDef()
    for i in range(size):
        _placeholder(graph, f"p{i}")
        _node(graph.node, f"e{i}", "Enter", f"p{i}").attr["frame_name"].s = b"loop"
        _node(graph.node, f"m{i}", "Merge", f"e{i}", f"next{i}").attr["N"].i = 2
        _node(graph.node, f"s{i}", "Switch", f"m{i}", "test")
        _node(graph.node, f"exit{i}", "Exit", f"s{i}")
        _node(graph.node, f"neg{i}", "Neg", f"s{i}:1")
        _node(graph.node, f"next{i}", "NextIteration", f"neg{i}")
        _node(graph.node, f"y{i}", "Neg", f"exit{i}")
    _constant(graph.node, "limit")
    _node(graph.node, "limits", "Enter", "limit").attr["frame_name"].s = b"loop"
    graph.node[-1].attr["is_constant"].b = True
    _node(graph.node, "less", "Less", "m0", "limits")
    axes = graph.node.add(name="axes", op="Const")
    axes.attr["dtype"].type = pb.DT_INT32
    axes.attr["value"].tensor.dtype = pb.DT_INT32
    axes.attr["value"].tensor.int_val.append(0)
    _node(graph.node, "axis", "Enter", "axes", T=pb.DT_INT32).attr["frame_name"].s = b"loop"
    graph.node[-1].attr["is_constant"].b = True
    graph.node.add(name="all", op="All", input=["less", "axis"]).attr["Tidx"].type = pb.DT_INT32
    graph.node.add(name="test", op="LoopCond", input=["all"])
    return _imported(graph)


def _function(graph: pb.GraphDef, name: str, size: int) -> None:
    made = graph.library.function.add()
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=pb.DT_FLOAT)
    made.signature.output_arg.add(name="y", type=pb.DT_FLOAT)
    last = "x"
    for i in range(size):
        _node(made.node_def, f"n{i}", "Neg", last)
        last = f"n{i}:y:0"
    made.ret["y"] = last


def _call(graph: pb.GraphDef, name: str, function: str, *inputs: str) -> None:
    node = graph.node.add(name=name, op="PartitionedCall", input=inputs)
    node.attr["Tin"].list.type.append(pb.DT_FLOAT)
    node.attr["Tout"].list.type.append(pb.DT_FLOAT)
    node.attr["f"].func.name = function


def tf_functions(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    _placeholder(graph, "x0")
    for i in range(size):
        _function(graph, f"f{i}", 1)
        _call(graph, f"x{i + 1}", f"f{i}", f"x{i}")
    return _imported(graph)


def tf_long_function(folder: Path, size: int) -> Work:
    graph = pb.GraphDef()
    _placeholder(graph, "x")
    _function(graph, "f", size)
    _call(graph, "y", "f", "x")
    return _imported(graph)


def tf_graph_def(folder: Path, size: int) -> Work:
    """tf.import_graph_def, which builds all nodes."""
    graph = pb.GraphDef()
    _placeholder(graph, "n0")
    for i in range(size):
        _node(graph.node, f"n{i + 1}", "Neg", f"n{i}")
    data = graph.SerializeToString()

    def work() -> object:
        with tf.Graph().as_default():
            message = tf.GraphDef()
            message.ParseFromString(data)
            return tf.import_graph_def(message, name="")

    return work


def tf_variables(folder: Path, size: int) -> Work:
    """Variables of TensorFlow 1 with their first values, by tf.import_graph_def."""
    graph = pb.GraphDef()
    for i in range(size):
        variable = graph.node.add(name=f"v{i}", op="VariableV2")
        variable.attr["dtype"].type = pb.DT_FLOAT
        variable.attr["shape"].shape.dim.add(size=1)
        _constant(graph.node, f"v{i}/first")
        _node(graph.node, f"v{i}/Assign", "Assign", f"v{i}", f"v{i}/first")
        _node(graph.node, f"v{i}/read", "Identity", f"v{i}")

    def work() -> object:
        with tf.Graph().as_default():
            return tf.import_graph_def(graph, name="")

    return work


def tf_cases(folder: Path, size: int) -> Work:
    """One Case of many functions."""
    graph = pb.GraphDef()
    _placeholder(graph, "x")
    index = graph.node.add(name="index", op="Placeholder")
    index.attr["dtype"].type = pb.DT_INT32
    index.attr["shape"].shape.SetInParent()
    case = graph.node.add(name="y", op="StatelessCase", input=["index", "x"])
    case.attr["Tin"].list.type.append(pb.DT_FLOAT)
    case.attr["Tout"].list.type.append(pb.DT_FLOAT)
    for i in range(size // 8):
        _function(graph, f"f{i}", 1)
        case.attr["branches"].list.func.add(name=f"f{i}")
    return _imported(graph)


def tf_while(folder: Path, size: int) -> Work:
    """A While of TensorFlow 2 with many variables."""
    graph = pb.GraphDef()
    _test(graph)
    test, body = graph.library.function.add(), graph.library.function.add()
    test.signature.name, body.signature.name = "test", "body"
    node = graph.node.add(name="y", op="StatelessWhile")
    node.attr["cond"].func.name, node.attr["body"].func.name = "test", "body"
    for function in (test, body):
        function.signature.input_arg.add(name="b", type=pb.DT_BOOL)
    node.input.append("test")
    for i in range(size):
        _placeholder(graph, f"p{i}")
        node.input.append(f"p{i}")
        for function in (test, body):
            function.signature.input_arg.add(name=f"x{i}", type=pb.DT_FLOAT)
        _node(body.node_def, f"n{i}", "Neg", f"x{i}")
    test.signature.output_arg.add(name="go", type=pb.DT_BOOL)
    test.ret["go"] = "b"
    body.signature.output_arg.add(name="b2", type=pb.DT_BOOL)
    body.node_def.add(name="not", op="LogicalNot", input=["b"])
    body.ret["b2"] = "not:y:0"
    for i in range(size):
        body.signature.output_arg.add(name=f"y{i}", type=pb.DT_FLOAT)
        body.ret[f"y{i}"] = f"n{i}:y:0"
    types = [pb.DT_BOOL] + [pb.DT_FLOAT] * size
    node.attr["T"].list.type.extend(types)
    for i in range(size):
        _node(graph.node, f"out{i}", "Neg", f"y:{i + 1}")
    return _imported(graph)


def tf_saved_model(folder: Path, size: int) -> Work:
    """A folder with many variables and signatures, and the values in a checkpoint."""
    names = [f"v{i:06}" for i in range(size)]
    (folder / "variables").mkdir()
    tf_checkpoint_files(folder / "variables" / "variables", names)
    saved = pb.SavedModel(saved_model_schema_version=1)
    meta = saved.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    graph = meta.graph_def
    for name in names:
        variable = graph.node.add(name=name, op="VariableV2")
        variable.attr["dtype"].type = pb.DT_FLOAT
        variable.attr["shape"].shape.dim.add(size=1)
        _node(graph.node, f"{name}/read", "Identity", name)
        signature = meta.signature_def[f"s{name}"]
        signature.outputs["y"].name = f"{name}/read:0"
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())

    def work() -> object:
        with tf.Graph().as_default():
            return tensorflow_files.import_model(folder)

    return work


def tf_checkpoint_files(prefix: Path, names: list[str]) -> None:
    """A checkpoint of TensorFlow's of one float32 each."""
    rows = [(b"", b"\x08\1")]
    rows += [(n.encode(), entry(1, (1,), 4 * i, ONE.tobytes())) for i, n in enumerate(names)]
    prefix.with_name(f"{prefix.name}.index").write_bytes(table_of(rows))
    data = prefix.with_name(f"{prefix.name}.data-00000-of-00001")
    data.write_bytes(ONE.tobytes() * len(names))


def tf_checkpoint(folder: Path, size: int) -> Work:
    tf_checkpoint_files(folder / "m", [f"v{i:06}" for i in range(size)])
    return _read(folder / "m")


def tf_partitions(folder: Path, size: int) -> Work:
    """A variable in many parts."""
    whole = tuple(field(1, field(1, i) + field(2, 1)) for i in range(size))
    rows = [
        (table.slice_key("p", [(i, 1)]), entry(1, (1,), 4 * i, ONE.tobytes())) for i in range(size)
    ]
    rows = [(b"", b"\x08\1"), *sorted(rows), (b"p", entry(1, (size,), 0, b"", slices=whole))]
    (folder / "m.index").write_bytes(table_of(rows))
    (folder / "m.data-00000-of-00001").write_bytes(ONE.tobytes() * size)
    return _read(folder / "m")


def tf_strings(folder: Path, size: int) -> Work:
    """A tensor of many strings."""
    sizes, strings = number(1) * size, b"x" * size
    widths = np.ones(size, "<u4").tobytes()
    data = sizes + masked(widths) + strings
    row = entry(7, (size,), 0, widths + masked(widths) + strings, size=len(data))
    (folder / "m.index").write_bytes(table_of([(b"", b"\x08\1"), (b"t", row)]))
    (folder / "m.data-00000-of-00001").write_bytes(data)
    return _read(folder / "m")


# ---- ONNX ----


def _value(name: str, shape: tuple[int, ...] = (1,)) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(nodes: list[Any], inputs: list[str], outputs: list[str], **more: Any) -> Any:
    functions = more.pop("functions", [])
    domains = [helper.make_opsetid("", 20), helper.make_opsetid("ai.onnx.ml", 3)]
    domains += [helper.make_opsetid("own", 1)] if functions else []
    graph = helper.make_graph(
        nodes, "g", [_value(n) for n in inputs], [_value(n) for n in outputs], **more
    )
    return helper.make_model(graph, opset_imports=domains, functions=functions, ir_version=10)


def _onnx(model: Any) -> Work:
    data = model.SerializeToString()

    def work() -> object:
        with tf.Graph().as_default():
            return tf.onnx.import_model(data)

    return work


def onnx_wide_node(folder: Path, size: int) -> Work:
    names = [f"x{i}" for i in range(size)]
    return _onnx(_model([helper.make_node("Sum", names, ["y"])], names, ["y"]))


def onnx_wide_concat(folder: Path, size: int) -> Work:
    node = helper.make_node("Concat", ["x"] * size, ["y"], axis=0)
    model = _model([node], ["x"], [])
    model.graph.output.add().CopyFrom(_value("y", (size,)))
    return _onnx(model)


def onnx_wide_split(folder: Path, size: int) -> Work:
    names = [f"y{i}" for i in range(size)]
    model = _model([helper.make_node("Split", ["x"], names, num_outputs=size)], [], names)
    model.graph.input.add().CopyFrom(_value("x", (size,)))
    return _onnx(model)


def onnx_long_chain(folder: Path, size: int) -> Work:
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(size)]
    return _onnx(_model(nodes, ["x0"], [f"x{size}"]))


def onnx_backward_chain(folder: Path, size: int) -> Work:
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(size)]
    return _onnx(_model(nodes[::-1], ["x0"], [f"x{size}"]))


def onnx_initializers(folder: Path, size: int) -> Work:
    nodes = [helper.make_node("Add", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(size)]
    weights = [numpy_helper.from_array(ONE, f"w{i}") for i in range(size)]
    return _onnx(_model(nodes, ["x0"], [f"x{size}"], initializer=weights))


def onnx_trainable(folder: Path, size: int) -> Work:
    nodes = [helper.make_node("Mul", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(size)]
    weights = [numpy_helper.from_array(ONE, f"w{i}") for i in range(size)]
    data = _model(nodes, ["x0"], [f"x{size}"], initializer=weights).SerializeToString()

    def work() -> object:
        with tf.Graph().as_default():
            return tf.onnx.import_model(data, trainable=True)

    return work


def onnx_external_data(folder: Path, size: int) -> Work:
    nodes = [helper.make_node("Add", [f"x{i}", f"w{i}"], [f"x{i + 1}"]) for i in range(size)]
    weights = [numpy_helper.from_array(ONE, f"w{i}") for i in range(size)]
    model = _model(nodes, ["x0"], [f"x{size}"], initializer=weights)
    path = folder / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, size_threshold=0)

    def work() -> object:
        with tf.Graph().as_default():
            return tf.onnx.import_model(path)

    return work


def onnx_value_infos(folder: Path, size: int) -> Work:
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"x{i + 1}"]) for i in range(size)]
    infos = [_value(f"x{i}") for i in range(1, size)]
    return _onnx(_model(nodes, ["x0"], [f"x{size}"], value_info=infos))


def _own(name: str, *nodes: Any) -> Any:
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["a"], ["b"], nodes, opsets)


def onnx_functions(folder: Path, size: int) -> Work:
    functions = [_own(f"F{i}", helper.make_node("Neg", ["a"], ["b"])) for i in range(size)]
    nodes = [helper.make_node(f"F{i}", [f"x{i}"], [f"x{i + 1}"], domain="own") for i in range(size)]
    return _onnx(_model(nodes, ["x0"], [f"x{size}"], functions=functions))


def onnx_long_function(folder: Path, size: int) -> Work:
    inside = [helper.make_node("Neg", ["a"], ["t0"])]
    inside += [helper.make_node("Neg", [f"t{i}"], [f"t{i + 1}"]) for i in range(size)]
    inside += [helper.make_node("Identity", [f"t{size}"], ["b"])]
    call = helper.make_node("F", ["x"], ["y"], domain="own")
    return _onnx(_model([call], ["x"], ["y"], functions=[_own("F", *inside)]))


def _branch(name: str, nodes: list[Any], output: str) -> Any:
    return helper.make_graph(nodes, name, [], [_value(output)])


def _if(test: str, output: str, read: str) -> Any:
    then, other = (
        _branch(b, [helper.make_node(op, [read], [f"{b}_{output}"])], f"{b}_{output}")
        for b, op in (("yes", "Neg"), ("no", "Abs"))
    )
    return helper.make_node("If", [test], [output], then_branch=then, else_branch=other)


def _tested(model: Any) -> Any:
    model.graph.input.append(helper.make_tensor_value_info("test", TensorProto.BOOL, ()))
    return model


def onnx_branches(folder: Path, size: int) -> Work:
    nodes = [_if("test", f"x{i + 1}", f"x{i}") for i in range(size)]
    return _onnx(_tested(_model(nodes, ["x0"], [f"x{size}"])))


def onnx_branches_of_one(folder: Path, size: int) -> Work:
    """Many values outside, and many branches that see them."""
    nodes = [_if("test", f"x{i}", "x0") for i in range(1, size + 1)]
    nodes.append(helper.make_node("Sum", [f"x{i}" for i in range(size + 1)], ["y"]))
    return _onnx(_tested(_model(nodes, ["x0"], ["y"])))


def onnx_long_body(folder: Path, size: int) -> Work:
    inside = [helper.make_node("Neg", ["x"], ["t0"])]
    inside += [helper.make_node("Neg", [f"t{i}"], [f"t{i + 1}"]) for i in range(size)]
    other = _branch("no", [helper.make_node("Abs", ["x"], ["u"])], "u")
    node = helper.make_node(
        "If", ["test"], ["y"], then_branch=_branch("yes", inside, f"t{size}"), else_branch=other
    )
    return _onnx(_tested(_model([node], ["x"], ["y"])))


def onnx_long_attribute(folder: Path, size: int) -> Work:
    node = helper.make_node("Constant", [], ["y"], value_floats=[1.0] * size)
    model = _model([node], [], [])
    model.graph.output.add().CopyFrom(_value("y", (size,)))
    return _onnx(model)


def onnx_strings(folder: Path, size: int) -> Work:
    node = helper.make_node("Constant", [], ["y"], value_strings=[f"s{i}" for i in range(size)])
    model = _model([node], [], [])
    text = helper.make_tensor_value_info("y", TensorProto.STRING, (size,))
    model.graph.output.add().CopyFrom(text)
    return _onnx(model)


def onnx_label_maps(folder: Path, size: int) -> Work:
    node = helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml",
        keys_floats=[float(i) for i in range(size)], values_floats=[1.0] * size,
    )  # fmt: skip
    return _onnx(_model([node], ["x"], ["y"]))


def _trees(count: int, depth: int) -> Any:
    """Trees that are chains: each node goes on at its right side."""
    rows: list[tuple[int, int, str, int, int]] = []
    leaves: list[tuple[int, int]] = []
    for tree in range(count):
        for i in range(depth):
            rows.append((tree, 2 * i, "BRANCH_LEQ", 2 * i + 1, 2 * i + 2))
            rows.append((tree, 2 * i + 1, "LEAF", 0, 0))
            leaves.append((tree, 2 * i + 1))
        rows.append((tree, 2 * depth, "LEAF", 0, 0))
        leaves.append((tree, 2 * depth))
    trees, nodes, modes, yes, no = (list(column) for column in zip(*rows, strict=True))
    return helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=trees, nodes_nodeids=nodes, nodes_modes=modes, nodes_truenodeids=yes,
        nodes_falsenodeids=no, nodes_featureids=[0] * len(rows), nodes_values=[0.5] * len(rows),
        target_treeids=[t for t, _ in leaves], target_nodeids=[n for _, n in leaves],
        target_ids=[0] * len(leaves), target_weights=[1.0] * len(leaves),
    )  # fmt: skip


def _tree_model(node: Any) -> Work:
    model = _model([node], [], [])
    model.graph.input.add().CopyFrom(_value("x", (1, 1)))
    model.graph.output.add().CopyFrom(_value("y", (1, 1)))
    return _onnx(model)


def onnx_many_trees(folder: Path, size: int) -> Work:
    return _tree_model(_trees(size // 4, 2))


def onnx_tall_tree(folder: Path, size: int) -> Work:
    return _tree_model(_trees(1, size))


def onnx_loop_variables(folder: Path, size: int) -> Work:
    names = [f"v{i}" for i in range(size)]
    nodes = [helper.make_node("Neg", [n], [f"out_{n}"]) for n in names]
    nodes.append(helper.make_node("Identity", ["go"], ["on"]))
    test = [
        helper.make_tensor_value_info("i", TensorProto.INT64, ()),
        helper.make_tensor_value_info("go", TensorProto.BOOL, ()),
    ]
    going = helper.make_tensor_value_info("on", TensorProto.BOOL, ())
    body = helper.make_graph(
        nodes, "body", [*test, *map(_value, names)], [going, *(_value(f"out_{n}") for n in names)]
    )
    ends = [f"y{i}" for i in range(size)]
    loop = helper.make_node("Loop", ["", "test", *["x"] * size], ends, body=body)
    return _onnx(_tested(_model([loop], ["x"], ends)))


def onnx_outputs(folder: Path, size: int) -> Work:
    names = [f"y{i}" for i in range(size)]
    return _onnx(_model([helper.make_node("Neg", ["x"], [n]) for n in names], ["x"], names))


def onnx_nested_branches(folder: Path, size: int) -> Work:
    """Many branches, each of which has branches inside."""
    nodes = []
    for i in range(size // 4):
        inner = _if("test", f"in{i}", f"x{i}")
        yes = _branch(f"a{i}", [inner], f"in{i}")
        no = _branch(f"b{i}", [helper.make_node("Abs", [f"x{i}"], [f"u{i}"])], f"u{i}")
        nodes.append(
            helper.make_node("If", ["test"], [f"x{i + 1}"], then_branch=yes, else_branch=no)
        )
    return _onnx(_tested(_model(nodes, ["x0"], [f"x{size // 4}"])))


def onnx_metadata(folder: Path, size: int) -> Work:
    model = _model([helper.make_node("Neg", ["x"], ["y"])], ["x"], ["y"])
    helper.set_model_props(model, {f"key{i}": "value" for i in range(size)})
    return _onnx(model)


def onnx_old_opset(folder: Path, size: int) -> Work:
    """Nodes that are brought to the newest opset."""
    nodes = [helper.make_node("Dropout", [f"x{i}"], [f"x{i + 1}"], ratio=0.5) for i in range(size)]
    model = _model(nodes, ["x0"], [f"x{size}"])
    model.opset_import[0].version = 7
    return _onnx(model)


# ---- ours ----


def _saved(folder: Path, build: Callable[[], Any]) -> Path:
    return _rewritten(folder / "m.gio", build, "none")


def _rewritten(path: Path, build: Callable[[], Any], optimize: str = "exact") -> Path:
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs = build()
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(path, session, {"f": (inputs, outputs)}, optimize=optimize)
    return path


def _chain(size: int) -> Any:
    x = y = tf.placeholder(tf.float32, [1])
    for _ in range(size):
        y = tf.negative(y)
    return {"x": x}, {"y": y}


def _variables(size: int) -> Any:
    x = tf.placeholder(tf.float32, [1])
    return {"x": x}, {"y": tf.add_n([x, *(tf.Variable(ONE) for _ in range(size))])}


def _conds(size: int) -> Any:
    x = y = tf.placeholder(tf.float32, [1])
    test = tf.placeholder(tf.bool, [])
    for _ in range(size // 4):
        y = tf.cond(test, lambda y=y: -y, lambda y=y: tf.abs(y))
    return {"x": x, "test": test}, {"y": y}


def gio_chain(folder: Path, size: int) -> Work:
    path = _saved(folder, lambda: _chain(size))
    return lambda: tf.saved_model.load(path)


def gio_variables(folder: Path, size: int) -> Work:
    path = _saved(folder, lambda: _variables(size))
    return lambda: tf.saved_model.load(path)


def gio_branches(folder: Path, size: int) -> Work:
    path = _saved(folder, lambda: _conds(size))
    return lambda: tf.saved_model.load(path)


def gio_signatures(folder: Path, size: int) -> Work:
    path = folder / "m.gio"
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [1])
        signatures = {f"s{i}": ({"x": x}, {"y": -x}) for i in range(size)}
        tf.saved_model.save(path, session, signatures, optimize="none")
    return lambda: tf.saved_model.load(path)


def gio_written(folder: Path, size: int) -> Work:
    """Rewritten and saved."""
    return lambda: _rewritten(folder / "m.gio", lambda: _chain(size))


def gio_written_with_variables(folder: Path, size: int) -> Work:
    return lambda: _rewritten(folder / "m.gio", lambda: _variables(size))


def gio_written_with_branches(folder: Path, size: int) -> Work:
    return lambda: _rewritten(folder / "m.gio", lambda: _conds(size))


def gio_as_onnx(folder: Path, size: int) -> Work:
    path = _saved(folder, lambda: _chain(size))
    return lambda: tf.onnx.from_model(path)


def gio_meta_graph(folder: Path, size: int) -> Work:
    """Branches, which see all values around them, into a graph again."""
    with tf.Graph().as_default():
        _conds(size)
        message = tf.train.export_meta_graph()

    def work() -> object:
        with tf.Graph().as_default():
            return tf.train.import_meta_graph(message)

    return work


# ---- values ----


def _arrays(size: int) -> dict[str, Any]:
    return {f"name{i}": ONE for i in range(size)}


def _read(path: Path) -> Work:
    def work() -> None:
        source = open_source(path)
        for name in source.entries():
            source.array(name)

    return work


def checkpoint(folder: Path, size: int) -> Work:
    with tf.Graph().as_default(), tf.Session() as session:
        for i in range(size):
            tf.Variable(ONE, name=f"v{i}")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, folder / "m")
    return _read(Path(path))


def npz(folder: Path, size: int) -> Work:
    np.savez(folder / "m.npz", **_arrays(size))
    return _read(folder / "m.npz")


def packed_npz(folder: Path, size: int) -> Work:
    np.savez_compressed(folder / "m.npz", **_arrays(size))
    return _read(folder / "m.npz")


def npz_with_other_entries(folder: Path, size: int) -> Work:
    np.savez(folder / "m.npz", a=np.zeros(1, np.float32))
    with zipfile.ZipFile(folder / "m.npz", "a") as archive:
        for i in range(size):
            archive.writestr(f"other{i}", b"")
    return _read(folder / "m.npz")


def _safetensors(path: Path, names: list[str]) -> Path:
    rows = {
        name: {"dtype": "F32", "shape": [1], "data_offsets": [4 * i, 4 * i + 4]}
        for i, name in enumerate(names)
    }
    header = json.dumps(rows).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4 * len(names)))
    return path


def safetensors(folder: Path, size: int) -> Work:
    return _read(_safetensors(folder / "m.safetensors", list(_arrays(size))))


def _index(folder: Path, placed: dict[str, str]) -> Path:
    for file in set(placed.values()):
        _safetensors(folder / file, [name for name, where in placed.items() if where == file])
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": placed}))
    return path


def many_files(folder: Path, size: int) -> Work:
    """An index of Hugging Face's, and a file for each tensor."""
    return _read(_index(folder, {name: f"{name}.safetensors" for name in _arrays(size)}))


def many_tensors_in_files(folder: Path, size: int) -> Work:
    return _read(_index(folder, dict.fromkeys(_arrays(size), "one.safetensors")))


def torch_pickle(rows: list[tuple[str, int]], lengths: list[int]) -> bytes:
    """The pickle of torch.save of float32 tensors of one element: their names and storages."""
    pickle = [b"\x80\x02}("]
    for name, storage in rows:
        pickle += [_text(name), b"ctorch._utils\n_rebuild_tensor_v2\n((", _text("storage")]
        pickle += [b"ctorch\nFloatStorage\n", _text(str(storage)), _text("cpu")]
        pickle += [b"J" + struct.pack("<i", lengths[storage]), b"tQK\x00K\x01\x85K\x01\x85"]
        pickle += [b"\x89ccollections\nOrderedDict\n)RtR"]
    return b"".join([*pickle, b"u."])


def _text(text: str) -> bytes:
    data = text.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def _torch(folder: Path, rows: list[tuple[str, int]], lengths: list[int]) -> Work:
    storages = {str(i): bytes(4 * length) for i, length in enumerate(lengths)}
    return _read(torch_file(folder / "m.pt", torch_pickle(rows, lengths), storages))


def torch_state(folder: Path, size: int) -> Work:
    return _torch(folder, [(name, i) for i, name in enumerate(_arrays(size))], [1] * size)


def torch_shared_storage(folder: Path, size: int) -> Work:
    return _torch(folder, [(name, 0) for name in _arrays(size)], [size])


def _packed(size: int) -> bytes:
    """A block of snappy's of literals of one byte."""
    head, count = bytearray(), size
    while count > 127:
        head.append(count & 127 | 128)
        count >>= 7
    return bytes(head) + bytes([count]) + b"\0x" * size


def snappy_block(folder: Path, size: int) -> Work:
    return lambda: snappy.unpack(_packed(size), "a block")


def families() -> Iterator[tuple[str, Family]]:
    """All of them by name: functions of this module from a folder and a size."""
    for name, made in globals().items():
        words = getattr(made, "__annotations__", {})
        if list(words) == ["folder", "size", "return"] and not name.startswith("_"):
            yield name, made
