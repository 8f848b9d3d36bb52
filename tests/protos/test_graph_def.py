"""Graphs as messages: as_graph_def, GraphDef, import_graph_def."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from google.protobuf import text_format
from google.protobuf.message import DecodeError

import graphio as tf
from graphio.schema import model_pb2, tensorflow_pb2

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    graph = tf.Graph()
    with graph.as_default():
        yield graph


def session(target: str) -> tf.Session:
    engines.module(target)
    return tf.Session(target)


def small() -> tf.GraphDef:
    """x -> y = x * 2 -> z = y + 1."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        y = tf.multiply(x, 2.0, name="y")
        tf.add(y, 1.0, name="z")
    return graph.as_graph_def()


def node(graph_def: tf.GraphDef, name: str) -> Any:
    return next(n for n in graph_def.node if n.name == name)


# ---- reading ----


def test_attributes_of_an_operation_are_tensorflows(graph: tf.Graph) -> None:
    c = tf.constant([1.0, 2.0], name="c")
    assert c.op.get_attr("dtype") is tf.float32
    assert tf.make_ndarray(c.op.get_attr("value")).tolist() == [1, 2]
    x = tf.placeholder(tf.int32, [None, 2])
    assert [d.size for d in x.op.get_attr("shape").dim] == [-1, 2]
    assert (c + c).op.get_attr("T") is tf.float32
    assert tf.cast(c, tf.int64).op.get_attr("DstT") is tf.int64
    with pytest.raises(ValueError, match="'c' has no attr named 'q'"):
        c.op.get_attr("q")
    assert graph.graph_def_versions.producer > 0


def test_nodes_have_tensorflows_types_inputs_and_attributes(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    v = tf.Variable([[1.0, 2.0]], name="v")
    with tf.device("/cpu:0"), tf.control_dependencies([v.initializer]):
        tf.split(x, 2, axis=1, name="s")
    tf.negative(graph.get_tensor_by_name("s:1"), name="n")
    made = graph.as_graph_def()
    assert [(n.name, n.op) for n in made.node][:5] == [
        ("x", "Placeholder"),
        ("v/initial_value", "Const"),
        ("v", "VariableV2"),
        ("v/Assign", "Assign"),
        ("v/read", "Identity"),
    ]
    assert node(made, "v/Assign").input == ["v", "v/initial_value"]
    assert "^v/Assign" in node(made, "s").input and node(made, "s").device == "/device:CPU:0"
    assert node(made, "n").input == ["s:1"]
    attr = node(made, "x").attr
    assert attr["dtype"].type == tf.float32.as_datatype_enum
    assert [d.size for d in attr["shape"].shape.dim] == [-1, 2]
    value = node(made, "v/initial_value").attr["value"].tensor
    np.testing.assert_array_equal(tf.make_ndarray(value), np.float32([[1, 2]]))
    assert value.dtype == 1 and [d.size for d in value.tensor_shape.dim] == [1, 2]
    assert value.tensor_content == np.float32([1, 2]).tobytes()
    assert node(made, "v/read").attr["T"].type == 1
    assert "_output_shapes" not in attr
    shapes = node(graph.as_graph_def(add_shapes=True), "x").attr["_output_shapes"].list.shape
    assert [[d.size for d in shape.dim] for shape in shapes] == [[-1, 2]]


def test_one_number_lies_in_a_field_of_its_type() -> None:
    assert tf.make_tensor_proto(2.5).float_val == [2.5]
    assert tf.make_tensor_proto(7).int_val == [7]
    assert tf.make_tensor_proto(["a", "b"]).string_val == [b"a", b"b"]
    assert tf.make_tensor_proto([1.0, 2.0]).float_val == []


def test_bytes_and_text_give_the_same_message(graph: tf.Graph, tmp_path: Path) -> None:
    made = small()
    assert made.ByteSize() == len(made.SerializeToString()) > 0
    parsed, copied, from_text = tf.GraphDef(), tf.GraphDef(), tf.GraphDef()
    parsed.ParseFromString(made.SerializeToString())
    copied.CopyFrom(made)
    text_format.Merge(text_format.MessageToString(made), from_text)
    assert parsed == made and copied == made and from_text == made
    assert tf.GraphDef.FromString(made.SerializeToString()) == made
    copied.node[0].name = "other"
    assert copied != made and made.node[0].name == "x"
    assert made.versions.producer > 0 and not made.library.function
    assert isinstance(made._message, model_pb2.Model)


def test_bytes_of_another_format_are_refused() -> None:
    node = b"\x0a\x01x\x12\x0bPlaceholder"  # TensorFlow's node { name: "x" op: "Placeholder" }
    with pytest.raises(DecodeError, match="TensorFlow's own"):
        tf.MetaGraphDef().ParseFromString(bytes([0x0A, len(node)]) + node)
    made = tf.GraphDef()
    with pytest.raises(DecodeError):
        made.ParseFromString(b"nothing of the sort")
    assert len(made.node) == 0


@pytest.mark.parametrize("as_text", [True, False])
def test_write_graph_writes_a_file_that_can_be_read(as_text: bool, tmp_path: Path) -> None:
    made = small()
    path = tf.train.write_graph(made, str(tmp_path / "new"), "g.pb", as_text=as_text)
    assert path == str(tmp_path / "new" / "g.pb")
    found = tf.GraphDef()
    if as_text:
        text_format.Parse(Path(path).read_text(), found)
    else:
        found.ParseFromString(Path(path).read_bytes())
    assert found == made
    with pytest.raises(TypeError, match="GraphDef"):
        tf.train.write_graph(3, str(tmp_path), "g.pb")


def test_nodes_can_be_changed_added_and_deleted(graph: tf.Graph) -> None:
    made = small()
    made.node[0].device = "/device:CPU:0"
    made.node[0].attr["_note"].s = b"mine"
    made.node[0].attr["_kind"].CopyFrom(tf.AttrValue(type=3))
    assert made.node[0].attr["_kind"].type == 3
    del made.node[0].attr["_kind"]
    assert "_note" in made.node[0].attr and "_kind" not in made.node[0].attr
    extra = tf.NodeDef(name="w", op="Neg", input=["z", "^y"])
    made.node.extend([extra])
    assert made.node[-1].input == ["z", "^y"]
    made.node[-1].input[0] = "y:0"
    assert made.node[-1].input == ["y", "^y"]
    made.node[-1].input.remove("^y")
    assert list(made.node[-1].input) == ["y"]
    assert made.node.pop().name == "w" and made.node[-1].name == "z"
    made.node.add(name="q", op="NoOp")
    made.node.remove(made.node[-1])
    assert [n.name for n in made.node[-1:]] == ["z"]
    (x,) = tf.import_graph_def(made, return_elements=["x"])
    assert x.device == "/device:CPU:0"


def test_another_type_for_a_node_is_another_operation(graph: tf.Graph) -> None:
    made = small()
    node(made, "z").op = "Sub"
    (z,) = tf.import_graph_def(made, return_elements=["z:0"], name="")
    with tf.Session() as sess:
        assert sess.run(z, {"x:0": [[1, 2]]}).tolist() == [[1, 3]]


# ---- importing ----


def test_the_prefix_is_import_and_unique(graph: tf.Graph) -> None:
    made = small()
    assert tf.import_graph_def(made) is None
    tf.import_graph_def(made)
    tf.import_graph_def(made, name="mine")
    with tf.name_scope("outer"):
        tf.import_graph_def(made, name="mine")
    names = [op.name for op in graph.get_operations() if op.name.endswith("z")]
    assert names == ["import/z", "import_1/z", "mine/z", "outer/mine/z"]


def test_without_a_prefix_taken_names_get_a_suffix(graph: tf.Graph) -> None:
    made = small()
    tf.import_graph_def(made, name="")
    z, y = tf.import_graph_def(made, name="", return_elements=["z:0", "y"])
    assert graph.get_tensor_by_name("z:0").op.name == "z"
    assert z.name == "z_1:0" and isinstance(y, tf.Operation) and y.name == "y_1"


@TARGETS
def test_other_tensors_are_read_in_the_place_of_values(graph: tf.Graph, target: str) -> None:
    made = small()
    a = tf.constant([[1.0, 2.0]])
    b = tf.constant([[5.0, 5.0]])
    z, y = tf.import_graph_def(made, {"x:0": a}, ["z:0", "y:0"])
    (w,) = tf.import_graph_def(made, {"y": b}, ["z:0"])
    (given,) = tf.import_graph_def(made, {"x": np.float32([[3, 3]])}, ["z:0"])
    with session(target) as sess:
        assert sess.run([z, y, w, given])[0].tolist() == [[3, 5]]
        assert sess.run(w).tolist() == [[6, 6]]
        assert sess.run(given).tolist() == [[7, 7]]
    assert a.consumers() == [y.op] and z.shape.as_list() == [1, 2]


def test_a_replacement_of_another_shape_loosens_what_is_known(graph: tf.Graph) -> None:
    zeros = tf.zeros([4, 5])
    z, x = tf.import_graph_def(small(), {"x": zeros}, ["z:0", "x:0"])
    assert x is zeros and z.shape.ndims is None
    with tf.Session() as sess:
        assert sess.run(z).shape == (4, 5)


@TARGETS
def test_loops_branches_variables_and_generators_come_along(target: str) -> None:
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(5)
        x = tf.placeholder(tf.float32, [], name="x")
        v = tf.Variable(3.0, name="v")
        noise = tf.random_normal([2], name="noise")
        total = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * v + x), [0, x])[1]
        result = tf.cond(x > 0.0, lambda: total + v.read_value(), lambda: x, name="c")
        tf.identity(result, name="result")
        tf.identity(tf.gradients(result, [x])[0], name="slope")
        tf.group(v.assign_add(1.0), name="step")
        tf.global_variables_initializer()
        with session(target) as sess:
            sess.run("init")
            sess.run("step")
            want = sess.run(["result:0", "slope:0", noise], {x: 1.5})
    data = graph.as_graph_def().SerializeToString()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(tf.GraphDef.FromString(data), name="g")
        assert tf.global_variables() == []
        assert other.get_operation_by_name("g/x").source.file == "test_graph_def.py"
        slope = tf.gradients(
            other.get_tensor_by_name("g/result:0"), other.get_tensor_by_name("g/x:0")
        )[0]
        with session(target) as sess:
            sess.run("g/init")
            sess.run("g/step")
            names = ["g/result:0", "g/slope:0", "g/noise:0"]
            got = sess.run([*names, slope], {"g/x:0": 1.5})
    for a, b in zip(got, [*want, want[1]], strict=True):
        np.testing.assert_array_equal(a, b)


def test_nodes_may_stand_in_any_order(graph: tf.Graph) -> None:
    made = small()
    backwards = tf.GraphDef()
    backwards.node.extend(reversed(made.node))
    (z,) = tf.import_graph_def(backwards, return_elements=["z:0"])
    with tf.Session() as sess:
        assert sess.run(z, {"import/x:0": [[1, 2]]}).tolist() == [[3, 5]]


def test_control_dependencies_and_devices_around_an_import_hold(graph: tf.Graph) -> None:
    v = tf.Variable(1.0, name="v")
    with tf.control_dependencies([v.assign(5.0)]), tf.device("/cpu:0"):
        (x, z) = tf.import_graph_def(small(), return_elements=["x", "z"])
    assert [c.name for c in x.control_inputs] == ["Assign"] and z.device == "/device:CPU:0"


@TARGETS
def test_functions_of_the_program_stay_with_a_message_but_not_with_its_bytes(target: str) -> None:
    with tf.Graph().as_default() as first:
        y = tf.py_func(lambda a: a * 2, [tf.constant([1.0, 2.0])], tf.float32, name="call")
        tf.identity(y, name="y")
    made = tf.graph_util.extract_sub_graph(first.as_graph_def(), ["y"])
    with tf.Graph().as_default(), session(target) as sess:
        tf.import_graph_def(made, name="")
        assert sess.run("y:0").tolist() == [2, 4]
    with tf.Graph().as_default(), session(target) as sess:
        tf.import_graph_def(tf.GraphDef.FromString(made.SerializeToString()), name="")
        with pytest.raises(tf.errors.FailedPreconditionError, match="bind_host_function"):
            sess.run("y:0")


def by_hand() -> tf.GraphDef:
    """z = x c' + x c', waiting for c."""
    made = tf.GraphDef()
    x = made.node.add()
    x.name, x.op = "x", "Placeholder"
    x.attr["dtype"].type = tf.float32.as_datatype_enum
    c = made.node.add(name="c", op="Const")
    c.attr["value"].tensor.CopyFrom(tf.make_tensor_proto([[1.0, 2.0], [3.0, 4.0]]))
    multiplied = made.node.add(name="m", op="MatMul", input=["x", "c"])
    multiplied.attr["transpose_b"].b = True
    made.node.add(name="z", op="Add", input=["m", "m:0", "^c"])
    return made


@TARGETS
def test_nodes_written_by_hand_are_built(graph: tf.Graph, target: str) -> None:
    (z,) = tf.import_graph_def(by_hand(), return_elements=["z:0"])
    assert z.op.name == "import/z" and [c.name for c in z.op.control_inputs] == ["import/c"]
    with session(target) as sess:
        assert sess.run(z, {"import/x:0": [[1, 1]]}).tolist() == [[6, 14]]


# ---- refusing ----


def without(made: tf.GraphDef, name: str) -> tf.GraphDef:
    del made.node[[n.name for n in made.node].index(name)]
    return made


def with_op(made: tf.GraphDef, op: str) -> tf.GraphDef:
    made.node[-1].op = op
    return made


def circle() -> tf.GraphDef:
    made = small()
    node(made, "y").input[0] = "z"
    return made


def from_second_output() -> tf.GraphDef:
    made = small()
    node(made, "z").input[0] = "y:3"
    return made


def with_node(**fields: Any) -> tf.GraphDef:
    made = by_hand()
    made.node.add(**fields)
    return made


REFUSALS: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (lambda: 3, {}, TypeError, "graph_def must be a GraphDef"),
    (lambda: "z", {}, TypeError, "graph_def must be a GraphDef"),
    (small, {"input_map": [1]}, TypeError, "input_map"),
    (small, {"input_map": {1: 1}}, TypeError, "input_map"),
    (small, {"return_elements": "z"}, TypeError, "return_elements"),
    (small, {"return_elements": [1]}, TypeError, "return_elements"),
    (small, {"return_elements": ["no"]}, ValueError, "'no' not found in graph_def"),
    (small, {"return_elements": ["z:1"]}, ValueError, "'z:1' not found in graph_def"),
    (small, {"input_map": {"no:0": np.float32(1)}}, ValueError, "not found in graph_def: .no:0"),
    (small, {"input_map": {"x": np.int32(1)}}, ValueError, "incompatible with expected float"),
    (small, {"input_map": {"x": 1.0}, "name": ""}, ValueError, "non-empty `name`"),
    (small, {"name": "a b"}, ValueError, "not a valid scope name"),
    (lambda: without(small(), "x"), {}, ValueError, "Node 'y': Unknown input node 'x'"),
    (lambda: with_op(small(), "Blur"), {}, ValueError, "not registered 'Blur'"),
    (lambda: with_op(small(), "Blur"), {}, tf.errors.NotFoundError, "node 'z'"),
    (circle, {}, ValueError, "circle"),
    (from_second_output, {}, ValueError, "invalid output 3 of source node y"),
    (lambda: with_node(name="q", op="Neg"), {}, ValueError, "Neg 'q'.* has 0 inputs"),
    (lambda: with_node(name="q", op="Neg", input=["m:1"]), {}, ValueError, "invalid output 1"),
    (lambda: with_node(name="q", op="Placeholder"), {}, ValueError, "no attr 'dtype'"),
    (lambda: with_node(name="q", op="Blur"), {}, tf.errors.NotFoundError, "'Blur'"),
    (lambda: with_node(name="x", op="NoOp"), {}, ValueError, "'x' is not unique"),
]


@pytest.mark.parametrize(("make", "options", "error", "words"), REFUSALS)
def test_a_refused_import_leaves_the_graph_as_it_was(
    graph: tf.Graph, make: Any, options: Any, error: type[Exception], words: str
) -> None:
    a = tf.constant(1.0, name="a")
    before = graph.as_graph_def()
    with pytest.raises(error, match=words):
        tf.import_graph_def(make(), **options)
    assert graph.as_graph_def() == before and a.consumers() == []
    assert graph.unique_name("import") == "import"


def rich() -> tf.GraphDef:
    """Variables, a loop with a branch in it, random numbers, gradients."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        v = tf.Variable([[1.0, 2.0]], name="v")
        y = tf.matmul(x, v, transpose_b=True) + tf.random_normal([1])
        z = tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.cond(i > 1, lambda: a * tf.reduce_sum(v), lambda: a)),
            [0, y],
        )[1]
        tf.gradients(z, x)
    return graph.as_graph_def()


DAMAGES: dict[str, Any] = {
    "no operator": lambda n: n.ClearField("op"),
    "no inputs": lambda n: n.ClearField("input"),
    "no attributes": lambda n: n.ClearField("attr"),
    "no outputs": lambda n: n.ClearField("output_type"),
    "no version": lambda n: n.ClearField("version"),
    "another name": lambda n: setattr(n, "name", "other"),
    "an empty name": lambda n: setattr(n, "name", ""),
    "one more input": lambda n: n.input.append("x"),
    "an input that is not there": lambda n: n.input.append("gone:7"),
    "a malformed input": lambda n: n.input.append(":"),
    "a circle": lambda n: n.control_input.append(n.name),
    "attributes without values": lambda n: [a.ClearField("value") for a in n.attr],
    "attributes of another kind": lambda n: [setattr(a.value, "tensor", 9) for a in n.attr],
    "an output of unknown type": lambda n: n.output_type.add(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_messages_are_refused_whole_or_imported(graph: tf.Graph, damage: str) -> None:
    tf.constant(1.0, name="a")
    before, refused = graph.as_graph_def(), 0
    given = rich()
    for i in range(len(given.node)):
        broken = tf.GraphDef()
        broken.CopyFrom(given)
        DAMAGES[damage](broken._message.graph.node[i])
        try:
            with tf.Graph().as_default():
                tf.import_graph_def(broken)
        except (ValueError, TypeError, tf.errors.OpError):
            refused += 1
            with pytest.raises((ValueError, TypeError, tf.errors.OpError)):
                tf.import_graph_def(broken)
            assert graph.as_graph_def() == before
    assert refused or damage in ("no version", "an output of unknown type")


def test_the_text_of_a_node_is_that_of_tensorflows_message() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        with tf.device("/cpu:0"):
            y = tf.square(x, name="y")
        text = str(y.op.node_def)
        constant = tf.constant([1, 2], tf.int64, name="c").op.node_def
    assert text.startswith('name: "y"\nop: "Square"\ninput: "x"\ndevice: "/device:CPU:0"\n')
    parsed = text_format.Parse(str(constant), tensorflow_pb2.NodeDef())
    assert parsed.attr["dtype"].type == tensorflow_pb2.DT_INT64
    assert np.frombuffer(parsed.attr["value"].tensor.tensor_content, np.int64).tolist() == [1, 2]


def test_the_text_of_a_graph_has_its_bodies_as_functions_and_its_version() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.cond(x > 0, lambda: x + 1, lambda: -x, name="choice")
        parsed = text_format.Parse(str(graph.as_graph_def()), tensorflow_pb2.GraphDef())
    named = {f.signature.name: [n.op for n in f.node_def] for f in parsed.library.function}
    assert parsed.versions.producer > 0 and len(named) == 2
    called = {a.func.name for n in parsed.node for a in n.attr.values() if a.func.name}
    assert called == set(named)
    assert str(tf.GraphDef()) == ""


ELEMENTS = [True, 3, 2.5, "text", np.float16(1.5), np.uint8(7), np.complex64(1 + 2j)]


@pytest.mark.parametrize("element", ELEMENTS, ids=[repr(e) for e in ELEMENTS])
def test_constants_of_every_kind_have_a_text(element: Any) -> None:
    with tf.Graph().as_default() as graph:
        tf.constant(element, name="c")
        parsed = text_format.Parse(str(graph.as_graph_def()), tensorflow_pb2.GraphDef())
        found = tf.import_graph_def(parsed, return_elements=["c:0"], name="")[0]
    with tf.Session(graph=graph) as session:
        assert session.run(found) == session.run("c:0")


def test_a_node_that_a_program_holds_is_found_again_in_its_message() -> None:
    message = tf.GraphDef()
    held = message.node.add(name="a", op="NoOp")
    message.node.add(name="b", op="NoOp")
    assert message.node[0] is held and [n for n in message.node if n is held] == [held]
    assert message.node[1] is not held


@TARGETS
def test_what_is_known_of_a_replacement_is_known_of_what_reads_it(target: str) -> None:
    with tf.Graph().as_default() as given:
        x = tf.placeholder(tf.float32, [None, 3], name="x")
        w = tf.placeholder(tf.float32, [3, 2], name="w")
        y = tf.nn.relu(tf.matmul(x, w) + tf.constant([1.0, 2.0]), name="y")
        tf.reduce_sum(y, 1, name="sums")
    with tf.Graph().as_default():
        names = ["y:0", "sums:0"]
        rows = tf.ones([4, 3])
        y, sums = tf.import_graph_def(given.as_graph_def(), {"x:0": rows}, names)
        assert y.shape.as_list() == [4, 2] and sums.shape.as_list() == [None]
        plain = tf.import_graph_def(given.as_graph_def(), return_elements=["y:0"])[0]
        assert plain.shape.as_list() == [None, 2]
        with session(target) as sess:
            assert sess.run(y, {"import/w:0": np.ones((3, 2))}).tolist() == [[4.0, 5.0]] * 4


def test_replacements_whose_shapes_do_not_fit_each_other_are_refused() -> None:
    with tf.Graph().as_default() as given:
        x, y = (tf.placeholder(tf.float32, [None], name=name) for name in "xy")
        tf.add(x, y, name="sum")
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Node 'sum'"):
        tf.import_graph_def(given.as_graph_def(), {"x:0": tf.ones([3]), "y:0": tf.ones([4])})
