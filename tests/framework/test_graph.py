"""Graph, Operation, Tensor: making nodes, looking them up, bodies, shapes, printing."""

from __future__ import annotations

import contextlib
import operator
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.framework import refusals


@pytest.fixture
def graph() -> tf.Graph:
    with tf.Graph().as_default() as g:
        yield g


def test_importing_the_package_loads_neither_builder_nor_protobuf_nor_onnx() -> None:
    program = (
        "import sys, graphio\n"
        "names = ('graphio.framework.graph', 'google.protobuf', 'onnx', 'numpy')\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_every_public_name_is_there_and_listed_by_its_module() -> None:
    import importlib
    import inspect

    for module, names in tf._EXPORTS.items():
        listed = getattr(importlib.import_module(module), "__all__", names)
        for name in names:
            found = getattr(importlib.import_module(module), name)
            assert inspect.unwrap(getattr(tf, name)) is inspect.unwrap(found)
            assert name in listed or module == "graphio.engine.interface", f"{module}.{name}"
    assert {"gradients", "Variable", "nn"} <= set(dir(tf))


def test_a_submodule_does_not_hide_the_function_of_its_name() -> None:
    program = "import graphio.gradients, graphio; print(callable(graphio.gradients))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "True", done.stderr


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        tf.nonsense  # noqa: B018


def test_tensors_refuse_to_be_python_values(graph: tf.Graph) -> None:
    t = tf.constant([1.0, 2.0])
    for use in (bool, list, len, float, int):
        with pytest.raises(TypeError, match="Const"):
            use(t)
    with pytest.raises(NotImplementedError):
        np.array(t)
    assert t != tf.constant([1.0, 2.0]) and len({t, t}) == 1


def test_an_operation_knows_the_users_line(graph: tf.Graph) -> None:
    op = tf.constant(1.0).op
    assert op.source.file == "test_graph.py"
    assert op.source.function == "test_an_operation_knows_the_users_line"
    assert op.where.startswith(" (test_graph.py:")
    assert [(file, text) for file, _, _, text in op.traceback] == [("test_graph.py", "")]
    assert op.colocation_groups() == [b"loc:@Const"]


def test_a_refused_operation_leaves_the_graph_as_it_was(graph: tf.Graph) -> None:
    a, b = tf.ones([2, 3]), tf.ones([2, 3])
    before = [op.name for op in graph.get_operations()]
    with pytest.raises(ValueError, match="MatMul"):
        tf.matmul(a, b)
    assert [op.name for op in graph.get_operations()] == before
    assert a.consumers() == []


def test_tensors_of_two_graphs_do_not_mix(graph: tf.Graph) -> None:
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(2.0)
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.add(b, a)
        with pytest.raises(ValueError, match=r"with tensor\.graph\.as_default\(\):"):
            _ = a + b


TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
def test_operations_go_to_the_graph_of_their_inputs(graph: tf.Graph, target: str) -> None:
    other = tf.Graph()
    with other.as_default():
        x = tf.placeholder(tf.float32, [2])
        v = tf.Variable([1.0, 2.0])
    y = (1.0 - x) * v
    values = [
        y,
        -x[::-1],
        tf.concat([y, tf.nn.relu(x)], 0),
        tf.cond(x[0] > 0, lambda: x * 2.0, lambda: tf.constant([5.0, 5.0])),
        tf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * x), [x[0] * 0, x])[1],
        *tf.gradients(y, [x, v]),
    ]
    assert all(value.graph is other for value in values)
    assert graph.get_operations() == []
    with tf.Session(target, graph=other) as session:
        session.run(v.initializer)
        found = session.run(values, {x: [3.0, -1.0]})
    expected = [[-2, 4], [1, -3], [-2, 4, 3, 0], [6, -2], [27, -1], [-1, -2], [-2, 2]]
    for value, right in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value, right)


def test_a_refused_operation_leaves_the_graph_of_its_inputs_as_it_was(graph: tf.Graph) -> None:
    with tf.Graph().as_default() as other:
        a = tf.ones([2, 3])
    before = other.get_operations()
    with pytest.raises(ValueError, match="MatMul"):
        tf.matmul(a, a)
    assert other.get_operations() == before and graph.get_operations() == []


def test_a_tensor_of_a_branch_of_another_graph_is_not_for_the_outside(graph: tf.Graph) -> None:
    kept: list[tf.Tensor] = []
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        tf.cond(x > 0, lambda: kept.append(x * 2.0) or x, lambda: x)
    with pytest.raises(ValueError, match="must be from the same graph"):
        _ = kept[0] + 1.0


def test_a_finalized_graph_refuses_operations(graph: tf.Graph) -> None:
    graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1.0)


def test_the_default_graph_is_one_a_thread() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(tf.get_default_graph()))
    with tf.Graph().as_default() as g:
        thread.start()
        thread.join()
        assert found[0] is not g


def test_reset_default_graph_is_refused_inside_as_default(graph: tf.Graph) -> None:
    with pytest.raises(AssertionError):
        tf.reset_default_graph()


def test_collections(graph: tf.Graph) -> None:
    v = tf.Variable(1.0, name="v")
    assert tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES) == [v]
    tf.add_to_collection("mine", 3)
    tf.add_to_collections(["mine", "yours"], v)
    assert graph.get_collection("mine") == [3, v]
    assert graph.get_collection("mine", scope="v") == [v]
    assert graph.get_collection("nothing") == []
    assert {"mine", "yours", "variables"} <= set(graph.get_all_collection_keys())
    tf.get_collection_ref("mine").clear()
    assert tf.get_collection("mine") == []


def test_control_dependencies_order_what_is_made_inside(graph: tf.Graph) -> None:
    v = tf.Variable(1.0)
    step = v.assign_add(1.0)
    with tf.control_dependencies([step]):
        inside = tf.constant(2.0)
        with tf.control_dependencies(None):
            free = tf.constant(3.0)
    assert inside.op.control_inputs == [step.op] and free.op.control_inputs == []
    with pytest.raises(TypeError, match="control input"):
        tf.control_dependencies([3]).__enter__()


def test_what_a_branch_waits_for_outside_its_if_waits_for(graph: tf.Graph) -> None:
    v = tf.Variable(1.0)
    step = v.assign_add(1.0)

    def branch() -> tf.Tensor:
        with tf.control_dependencies([step]):
            return tf.constant(5.0)

    y = tf.cond(tf.placeholder(tf.bool, []), branch, lambda: tf.constant(6.0))
    assert step.op in y.op.control_inputs


def test_nothing_outside_waits_for_a_tensor_inside_a_branch(graph: tf.Graph) -> None:
    inner = []
    tf.cond(tf.placeholder(tf.bool, []), lambda: inner.append(tf.constant(1.0)) or inner[0] * 2.0,
            lambda: tf.constant(2.0))  # fmt: skip
    assert tf.Session().run(tf.identity(inner[0])) == 1  # a constant is there in any run
    with pytest.raises(ValueError, match="inside a loop or branch"):
        tf.control_dependencies([inner[0]]).__enter__()


def test_a_body_that_fails_leaves_the_outer_graph_the_default(graph: tf.Graph) -> None:
    def broken() -> tf.Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.cond(tf.placeholder(tf.bool, []), broken, lambda: tf.constant(1.0))
    assert tf.get_default_graph() is graph
    assert tf.constant(1.0).op.graph is graph


def test_print_shows_a_line_a_node(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    y = tf.cond(tf.placeholder(tf.bool, [], name="p"), lambda: x * 2.0, lambda: x)
    text = str(graph).splitlines()
    assert text[0].startswith("x = Placeholder(): float32[?,3]  # test_graph.py:")
    assert any(line.startswith("cond/If = If(p): float32[?,3]") for line in text)
    assert any(line.startswith("    cond/true/mul = Mul(x, cond/true/mul/y)") for line in text)
    assert y.op.name == "cond/If"


# ---- shapes ----


def test_dimension_arithmetic() -> None:
    d, unknown = tf.Dimension(6), tf.Dimension(None)
    assert (d + 1, d - 2, d * 2, d // 4, d % 4, 7 - d, 2 * d) == (7, 4, 12, 1, 2, 1, 12)
    assert (unknown + 1).value is None and (unknown == 1) is None
    assert int(d) == 6 and str(unknown) == "?" and repr(d) == "Dimension(6)"
    with pytest.raises(ValueError, match="-1"):
        tf.Dimension(-1)


def test_tensor_shape_knows_what_is_unknown() -> None:
    s, anything = tf.TensorShape([2, None]), tf.TensorShape(None)
    assert (s.ndims, s.as_list(), str(s), s.num_elements()) == (2, [2, None], "(2, ?)", None)
    assert anything.ndims is None and str(anything) == "<unknown>"
    assert s.merge_with([None, 3]).as_list() == [2, 3]
    assert s.concatenate([4]).as_list() == [2, None, 4]
    assert s.with_rank(2) is s and anything.with_rank(2).as_list() == [None, None]
    assert s == [2, None] and s[0] == 2 and s[1:].as_list() == [None]
    assert (s + [4]).as_list() == [2, None, 4] and ([4] + s).as_list() == [4, 2, None]
    assert s.most_specific_compatible_shape([3, 4]).as_list() == [None, None]
    assert s.most_specific_compatible_shape([2]).ndims is None
    assert [d.size for d in s.as_proto().dim] == [2, -1] and anything.as_proto().unknown_rank
    assert s.with_rank_at_most(2) is s
    with pytest.raises(ValueError, match="rank at most 1"):
        s.with_rank_at_most(1)
    assert anything[1:3].as_list() == [None, None] and anything[1:].ndims is None
    for refused in (lambda: s.merge_with([3, 3]), anything.as_list, s.assert_is_fully_defined,
                    lambda: s.with_rank(3), lambda: len(anything)):  # fmt: skip
        with pytest.raises(ValueError):
            refused()


@pytest.mark.parametrize(
    "shape, text",
    [
        (["batch", 2], "dimension 0 is 'batch', expected an integer or None"),
        ([None, 2.5], "dimension 1 is 2.5, expected"),
    ],
)
def test_a_size_that_is_not_an_integer_is_reported_with_its_dimension(
    shape: list[Any], text: str
) -> None:
    with pytest.raises(TypeError, match=text):
        tf.TensorShape(shape)
    with pytest.raises(TypeError, match=text):
        tf.placeholder(tf.float32, shape)


# ---- constants ----


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(1, "int32"), (2**40, "int64"), (1.0, "float32"), (True, "bool"), ("a", "string"),
     (1j, "complex128"), ([], "float32"), ([1, 2.5], "float32"), (np.zeros(2), "float64"),
     (np.float16(1), "float16"), (np.arange(3), "int64"), (range(3), "int32")],
)  # fmt: skip
def test_the_dtype_of_a_python_value(graph: tf.Graph, value: object, dtype: str) -> None:
    assert tf.constant(value).dtype == dtype


@pytest.mark.parametrize(
    ("value", "options", "error"),
    [(1.5, {"dtype": tf.int32}, TypeError), (2**64, {"dtype": tf.uint8}, TypeError),
     ([[1], [1, 2]], {}, ValueError), (None, {}, ValueError), ([1, None], {}, ValueError),
     ([1, 2, 3], {"shape": [2]}, ValueError), ("a", {"dtype": tf.float32}, TypeError),
     (object(), {}, TypeError)],
)  # fmt: skip
def test_a_constant_that_cannot_be(
    graph: tf.Graph, value: object, options: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        tf.constant(value, **options)
    assert graph.get_operations() == []


@pytest.mark.parametrize(
    ("value", "dtype", "held"),
    [(-1, tf.uint8, 255), (300, tf.uint8, 44), (-129, tf.int8, 127), (2**31, tf.int32, -(2**31)),
     ([3, -1], tf.uint16, [3, 65535]), (2**40, tf.int32, 0), (-1, tf.uint64, 2**64 - 1),
     ([2**63, -1], tf.uint64, [2**63, 2**64 - 1]), ([[np.int64(-1)]], tf.uint8, [[255]])],
)  # fmt: skip
def test_of_an_integer_a_narrow_dtype_takes_the_lowest_bits(
    graph: tf.Graph, value: object, dtype: tf.DType, held: object
) -> None:
    assert tf.constant(value, dtype).op.attrs["value"].tolist() == held


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(2**63, tf.int64), (-(2**63) - 1, tf.int64), (2**63, tf.int8), (2**64, tf.uint64),
     ([1, 2**70], tf.int32)],
)  # fmt: skip
def test_integers_of_more_than_64_bits_are_no_constants(
    graph: tf.Graph, value: object, dtype: tf.DType
) -> None:
    with pytest.raises(TypeError, match="does not fit u?int"):
        tf.constant(value, dtype)


def test_constants_hold_big_endian_and_fortran_arrays_as_they_read(graph: tf.Graph) -> None:
    values = np.arange(6, dtype=">f4").reshape(2, 3)
    c = tf.constant(np.asfortranarray(values))
    assert c.dtype == tf.float32
    assert c.op.attrs["value"].dtype.isnative and c.op.attrs["value"].flags.c_contiguous
    assert (c.op.attrs["value"] == values).all()


def test_converting_a_list_with_tensors_stacks_them(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [])
    t = tf.convert_to_tensor([x, 2.0, tf.Variable(3.0)])
    assert t.shape.as_list() == [3] and t.dtype == tf.float32


def test_shapes_are_folded_through_shape_arithmetic(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert tf.reshape(x, tf.shape(x)).shape.as_list() == [None, 3]
    assert tf.reshape(x, tf.stack([tf.shape(x)[0], 3])).shape.as_list() == [None, 3]
    assert tf.zeros(tf.shape(x)).shape.as_list() == [None, 3]
    y = tf.placeholder(tf.float32, [4, 3])
    assert tf.reshape(y, [tf.shape(y)[0] * tf.shape(y)[1]]).shape.as_list() == [12]


# ---- dtypes ----


def test_dtypes_are_found_by_name_number_and_numpy_type() -> None:
    assert tf.as_dtype("float") is tf.float32 and tf.as_dtype(np.int8) is tf.int8
    assert tf.as_dtype(1) is tf.float32 and tf.float32.as_datatype_enum == 1
    assert tf.as_dtype(np.dtype(">f8")) is tf.float64 and tf.as_dtype(bool) is tf.bool
    assert (
        tf.float32 == np.float32 and tf.float32 != "int32" and tf.float32.base_dtype is tf.float32
    )
    assert (tf.int8.min, tf.int8.max, tf.int32.size) == (-128, 127, 4)
    for odd in ("nonsense", 999, object()):
        with pytest.raises(TypeError, match="DType"):
            tf.as_dtype(odd)


@pytest.mark.parametrize(
    "build",
    [
        lambda: tf.matmul(tf.ones([2, 3]), tf.ones([2, 3])),
        lambda: tf.constant([[1], [1, 2]]),
        lambda: tf.convert_to_tensor(tf.ones([1]), tf.int32),
        lambda: tf.Variable(None),
        lambda: tf.Variable([1.0]).assign([1.0, 2.0]),
        lambda: tf.get_variable("v"),
        lambda: tf.ones([2]) + tf.constant(1),
    ],
)
def test_what_is_refused_while_building_names_the_users_line(
    graph: tf.Graph, build: object
) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        build()  # type: ignore[operator]
    assert str(caught.value).count("(test_graph.py:") == 1


def test_generators_and_functions_of_one_name_are_numbered_in_a_row() -> None:
    graph = tf.Graph()
    kinds = (
        lambda name: graph.add_generator(name, 1),
        lambda name: graph.add_host_function(name, None),
    )
    for add in kinds:
        assert [add("a") for _ in range(70)] == ["a", *(f"a_{i}" for i in range(1, 70))]
        assert add("a_3") == "a_3_1" and add("b") == "b"


def test_a_rank_that_no_file_holds_is_refused_while_building(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [1] * 16, name="x")
    with pytest.raises(ValueError, match="rank 17, at most 16 is possible"):
        tf.placeholder(tf.float32, [1] * 17)
    with pytest.raises(ValueError, match="rank 17"):
        tf.expand_dims(x, 0)
    y = tf.placeholder(tf.float32)
    with pytest.raises(ValueError, match="rank 20"):
        y.set_shape([None] * 20)
    assert [op.name for op in graph.get_operations() if op.type == "Placeholder"] == [
        "x",
        "Placeholder",
    ]


# ---- folding ----


def test_folding_a_long_chain_neither_recurses_nor_takes_long(graph: tf.Graph) -> None:
    size = tf.shape(tf.placeholder(tf.float32, [3, None]))
    for _ in range(2000):
        size = size + size - size
    assert tf.reshape(tf.placeholder(tf.float32), size).shape.as_list() == [3, None]


def test_folding_sees_shapes_that_become_known_later(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [3, None])
    doubled = tf.shape(x) * 2
    assert tf.reshape(tf.placeholder(tf.float32), doubled).shape.as_list() == [6, None]
    x.set_shape([3, 5])
    assert tf.reshape(tf.placeholder(tf.float32), doubled).shape.as_list() == [6, 10]


def test_what_is_documented_as_left_out_is_not_there() -> None:
    there = []
    for name in refusals._LEFT_OUT:
        with contextlib.suppress(AttributeError):
            operator.attrgetter(name)(tf)
            there.append(name)
    assert there == []


def test_a_program_keeps_attributes_with_its_tensors_and_operations() -> None:
    with tf.Graph().as_default() as graph:
        net: Any = tf.nn.relu(tf.constant([1.0]), name="net")
        net.scope, net.op.role = "fc", "activation"
        assert "scope" not in vars(tf.identity(net))
        assert (graph.get_tensor_by_name("net:0").scope, net.op.outputs[0].op.role) == (
            "fc",
            "activation",
        )
        assert net.consumers()[0].inputs[0].scope == "fc"
