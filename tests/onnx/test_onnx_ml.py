"""Operators of ai.onnx.ml but the trees: ONNX Runtime, the standard's reference and numpy are the
oracles; and models that contradict themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from engines import BOTH, NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import graphio as tf
from graphio.support import errors

KINDS = {
    np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.int16): TensorProto.INT16, np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64, np.dtype(object): TensorProto.STRING,
}  # fmt: skip
INTS = (np.int32, np.int64)
FLOATS = (np.float32, np.float64)
X = np.array([[1.0, -2.0, 3.5], [0.0, 4.0, -1.0], [2.0, 2.0, 0.0], [-3.0, 1.5, 1.0]])


def strings(*values: str) -> np.ndarray:
    return np.array([v.encode() for v in values], object)


def model_of(
    op: str, inputs: list[np.ndarray], attrs: dict[str, Any], outputs: int = 1, version: int = 3,
    result: int = TensorProto.FLOAT,
) -> onnx.ModelProto:  # fmt: skip
    names = [f"x{i}" for i in range(len(inputs))]
    made = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, made, domain="ai.onnx.ml", **attrs)
    label = TensorProto.STRING if "classlabels_strings" in attrs else TensorProto.INT64
    kinds = [label, TensorProto.FLOAT] if outputs == 2 else [result]
    graph = helper.make_graph(
        [node],
        op,
        [helper.make_tensor_value_info(n, KINDS[x.dtype], [None] * x.ndim)
         for n, x in zip(names, inputs, strict=True)],
        [helper.make_tensor_value_info(n, k, None) for n, k in zip(made, kinds, strict=True)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def ours(model: onnx.ModelProto, inputs: list[np.ndarray], engine: str) -> list[Any]:
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    feeds = dict(zip(imported.inputs.values(), inputs, strict=True))
    with tf.Session(engine) as session:
        return session.run(list(imported.outputs.values()), feeds)


def reference(model: onnx.ModelProto, inputs: list[np.ndarray]) -> list[Any]:
    feeds = {f"x{i}": _as_str(x) for i, x in enumerate(inputs)}
    return [_as_bytes(y) for y in ReferenceEvaluator(model).run(None, feeds)]


def theirs(model: onnx.ModelProto, inputs: list[np.ndarray]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    feeds = {f"x{i}": _as_str(x) for i, x in enumerate(inputs)}
    return [_as_bytes(y) for y in session.run(None, feeds)]


def _as_str(x: np.ndarray) -> np.ndarray:
    if x.dtype != object:
        return x
    made = np.array([v.decode() for v in x.ravel().tolist()], np.str_)
    return made.reshape(x.shape)


def _as_bytes(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind not in "OU":
        return y
    made = np.empty(y.shape, object)
    made.reshape(-1)[:] = [str(v).encode() for v in y.ravel().tolist()]
    return made


def same(found: Any, expected: Any, rtol: float = 1e-5) -> None:
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


# ---- features ----

SCALED = {"offset": [1.0, 2.0, 0.5], "scale": [0.5, 2.0, 3.0]}


@pytest.mark.parametrize("dtype", (*INTS, *FLOATS))
@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        ("Scaler", SCALED),
        ("Scaler", {"offset": [1.5], "scale": [0.25]}),
        ("Normalizer", {"norm": "L1"}),
        ("Normalizer", {"norm": "L2"}),
        ("LinearRegressor", {"coefficients": [1.0, -2.0, 0.5], "intercepts": [0.25]}),
        (
            "LinearRegressor",
            {"coefficients": [1.0, -2.0, 0.5, 0.0, 1.0, 2.0], "intercepts": [0.25, -1.0],
             "targets": 2},
        ),
    ],
)  # fmt: skip
def test_numbers_of_every_type_become_float32(op: str, attrs: dict[str, Any], dtype: Any) -> None:
    x = X.astype(dtype)
    model = model_of(op, [x], attrs)
    (expected,) = reference(model_of(op, [X], attrs), [X])
    for engine in NAMES:
        same(ours(model, [x], engine)[0], _of(op, attrs, x, expected).astype(np.float32))


def _of(op: str, attrs: dict[str, Any], x: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Whole numbers were cut."""
    if x.dtype.kind == "f":
        return expected
    wide = x.astype(np.float64)
    return reference(model_of(op, [wide], attrs), [wide])[0]


@BOTH
def test_a_row_by_its_largest_number_and_rows_of_zeros(engine: str) -> None:
    x = np.array([[-4.0, 2.0], [0.0, 0.0], [1.0, 0.5]], np.float32)
    for norm, first in (
        ("MAX", [-1.0, 0.5]),
        ("L1", [-2 / 3, 1 / 3]),
        ("L2", [-2, 1] / np.sqrt(5)),
    ):
        (found,) = ours(model_of("Normalizer", [x], {"norm": norm}), [x], engine)
        np.testing.assert_allclose(found[0], first, rtol=1e-6)
        assert found[1].tolist() == [0, 0]


@pytest.mark.parametrize("dtype", (*INTS, *FLOATS))
@BOTH
def test_a_binarizer_keeps_the_type(dtype: Any, engine: str) -> None:
    x = np.array([[-1.5, 0.0, 0.5], [1.0, 2.0, 1e9]]).astype(dtype)
    (found,) = ours(model_of("Binarizer", [x], {"threshold": 0.5}), [x], engine)
    assert found.dtype == x.dtype and found.tolist() == (x > 0.5).astype(int).tolist()


@BOTH
def test_gaps_and_marks_are_filled_by_column_or_all_alike(engine: str) -> None:
    nan = float("nan")
    for dtype in FLOATS:
        x = np.array([[1, nan], [nan, 5]], dtype)
        gaps = {"imputed_value_floats": [7.0, 8.0], "replaced_value_float": nan}
        (found,) = ours(model_of("Imputer", [x], gaps), [x], engine)
        assert found.dtype == dtype and found.tolist() == [[1, 8], [7, 5]]
    for integer in INTS:
        x = np.array([[1, -1], [-1, 5]], integer)
        marks = {"imputed_value_int64s": [9], "replaced_value_int64": -1}
        (found,) = ours(model_of("Imputer", [x], marks), [x], engine)
        assert found.dtype == integer and found.tolist() == [[1, 9], [9, 5]]


@pytest.mark.parametrize("kind", [*INTS, *FLOATS, object])
@BOTH
def test_columns_are_taken_out_by_number(kind: Any, engine: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(kind)
    if kind is object:
        x = strings(*"abcdef").reshape(2, 3)
    at = np.array([[2, 0, 2, 1]])
    model = model_of("ArrayFeatureExtractor", [x, at], {}, result=KINDS[x.dtype])
    same(ours(model, [x, at], engine)[0], x[:, at[0]])
    line = x[0]
    model = model_of("ArrayFeatureExtractor", [line, at], {}, result=KINDS[x.dtype])
    same(ours(model, [line, at], engine)[0], line[at])


@BOTH
def test_vectors_and_matrices_go_side_by_side_cut_or_filled_with_zeros(engine: str) -> None:
    inputs = [np.array([1, 2]), np.array([[1.5, 2, 3], [4, 5, 6]]), np.array([[7], [8]], np.int32)]
    for widths, second in (([1, 2, 3], [2, 4, 5, 8, 0, 0]), ([2, 3, 1], [2, 0, 4, 5, 6, 8])):
        model = model_of("FeatureVectorizer", inputs, {"inputdimensions": widths})
        (found,) = ours(model, inputs, engine)
        assert found.dtype == np.float32 and found[1].tolist() == second
    (found,) = ours(model_of("FeatureVectorizer", inputs, {}), inputs, engine)
    assert found.tolist() == [[1, 1.5, 2, 3, 7], [2, 4, 5, 6, 8]]


# ---- keys ----

LISTS = {"strings": ["a", "ä", "", "b"], "int64s": [7, -3, 0, 1 << 40], "floats": [0.5, -0.0, 2, 9]}
ARRAYS = {"strings": object, "int64s": np.int64, "floats": np.float32}


def typed(kind: str, values: list[Any]) -> np.ndarray:
    return strings(*values) if kind == "strings" else np.array(values, ARRAYS[kind])


@pytest.mark.parametrize("values", LISTS)
@pytest.mark.parametrize("keys", LISTS)
def test_a_label_encoder_maps_every_type_to_every_other(keys: str, values: str) -> None:
    x = typed(keys, [*LISTS[keys][::-1], "c" if keys == "strings" else 5]).reshape(1, 5)
    attrs = {
        f"keys_{keys}": LISTS[keys], f"values_{values}": LISTS[values][::-1],
        "default_string": "none", "default_int64": 42, "default_float": -1.5,
    }  # fmt: skip
    default = {"strings": "none", "int64s": 42, "floats": -1.5}[values]
    expected = typed(values, [*LISTS[values], default]).reshape(1, 5)
    model = model_of("LabelEncoder", [x], attrs, version=2, result=KINDS[expected.dtype])
    for engine in NAMES:
        same(ours(model, [x], engine)[0], expected)
    same(theirs(model, [x])[0], expected)


@pytest.mark.parametrize("keys", [np.int16, np.int32, np.float64, object])
@pytest.mark.parametrize("values", [np.int16, np.int32, np.float64, object])
@BOTH
def test_a_label_encoder_of_tensors_knows_its_default(keys: Any, values: Any, engine: str) -> None:
    known = strings("x", "y") if keys is object else np.array([3, 1], keys)
    given = strings("p", "q") if values is object else np.array([30, 10], values)
    other = strings("z") if values is object else np.array([-7], values)
    x = strings("y", "?", "x") if keys is object else np.array([1, 9, 3], keys)
    for default in (other, None):
        attrs = {
            f"{name}_tensor": helper.make_tensor(name, KINDS[v.dtype], v.shape, v)
            for name, v in (("keys", known), ("values", given), ("default", default))
            if v is not None
        }
        model = model_of("LabelEncoder", [x], attrs, version=4, result=KINDS[given.dtype])
        plain = {"O": b"_Unused", "f": -0.0}.get(given.dtype.kind, -1)
        expected_values = plain if default is None else default[0]
        found = ours(model, [x], engine)[0]
        assert found.dtype == given.dtype and found.tolist() == [
            given[1],
            expected_values,
            given[0],
        ]


@BOTH
def test_a_key_that_is_nan_is_found(engine: str) -> None:
    nan = float("nan")
    attrs = {"keys_floats": [1.0, nan], "values_strings": ["one", "gap"], "default_string": "no"}
    x = np.array([nan, 2.0, 1.0], np.float32)
    model = model_of("LabelEncoder", [x], attrs, version=2, result=TensorProto.STRING)
    assert ours(model, [x], engine)[0].tolist() == [b"gap", b"no", b"one"]


@BOTH
def test_the_oldest_label_encoder_and_category_mappers_go_both_ways(engine: str) -> None:
    words, positions = strings("b", "?", "a"), np.array([1, 7, 0])
    old = {"classes_strings": ["a", "b"], "default_string": "none", "default_int64": -9}
    new = {"cats_strings": ["a", "b"], "cats_int64s": [0, 1], **old}
    del new["classes_strings"]
    for op, attrs in (("LabelEncoder", old), ("CategoryMapper", new)):
        model = model_of(op, [words], attrs, version=1, result=TensorProto.INT64)
        assert ours(model, [words], engine)[0].tolist() == [1, -9, 0]
        model = model_of(op, [positions], attrs, version=1, result=TensorProto.STRING)
        assert ours(model, [positions], engine)[0].tolist() == [b"b", b"none", b"a"]


@settings(max_examples=30, deadline=None)
@given(
    keys=st.lists(st.text(max_size=3), min_size=1, max_size=40, unique=True),
    requested=st.lists(st.text(max_size=3), max_size=20),
    rank=st.integers(1, 3),
)
def test_any_words_are_found(keys: list[str], requested: list[str], rank: int) -> None:
    x = strings(*requested, *keys[::2]).reshape([1] * (rank - 1) + [-1])
    attrs = {"keys_strings": keys, "values_int64s": list(range(len(keys))), "default_int64": -1}
    model = model_of("LabelEncoder", [x], attrs, version=2, result=TensorProto.INT64)
    known = {k.encode(): i for i, k in enumerate(keys)}
    expected = [known.get(t, -1) for t in x.ravel().tolist()]
    for engine in NAMES:
        assert ours(model, [x], engine)[0].ravel().tolist() == expected


@pytest.mark.parametrize("kind", [*INTS, *FLOATS, object])
def test_one_hot_vectors_of_every_type(kind: Any) -> None:
    x = np.array([[1, 3], [7, 0]]).astype(kind)
    attrs: dict[str, Any] = {"cats_int64s": [3, 0, 1]}
    if kind is object:
        x = strings("a", "c", "?", "ä").reshape(2, 2)
        attrs = {"cats_strings": ["c", "ä", "a"]}
    model = model_of("OneHotEncoder", [x], attrs)
    for engine in NAMES:
        (found,) = ours(model, [x], engine)
        same(found, np.array([[[0, 0, 1], [1, 0, 0]], [[0, 0, 0], [0, 1, 0]]], np.float32))
    if kind is not np.int32:  # ONNX Runtime has none
        same(found, theirs(model, [x])[0])


@BOTH
def test_a_category_that_is_not_there_is_an_error_where_zeros_are_not_allowed(engine: str) -> None:
    x = np.array([1, 2])
    model = model_of("OneHotEncoder", [x], {"cats_int64s": [1], "zeros": 0})
    with pytest.raises(errors.InvalidArgumentError):
        ours(model, [x], engine)
    assert ours(model, [x[:1]], engine)[0].tolist() == [[1]]


# ---- maps ----


def map_model(op: str, key: int, value: int, attrs: dict[str, Any]) -> onnx.ModelProto:
    node = helper.make_node(op, ["m"], ["y"], domain="ai.onnx.ml", **attrs)
    kind = helper.make_map_type_proto(key, helper.make_tensor_type_proto(value, None))
    output = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], op, [helper.make_value_info("m", kind)], [output])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def of_map(model: onnx.ModelProto, keys: np.ndarray, values: np.ndarray, engine: str) -> Any:
    tf.reset_default_graph()
    imported = tf.onnx.import_model(model)
    assert list(imported.inputs) == ["m.keys", "m.values"]
    return ours(model, [keys, values], engine)[0]


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (TensorProto.STRING, np.int64), (TensorProto.STRING, np.float32),
        (TensorProto.STRING, np.float64), (TensorProto.INT64, np.float32),
        (TensorProto.INT64, np.float64), (TensorProto.INT64, object),
    ],
)  # fmt: skip
@BOTH
def test_a_map_becomes_one_row_by_its_vocabulary(keys: int, value: Any, engine: str) -> None:
    named = keys == TensorProto.STRING
    words = {"string_vocabulary": ["b", "x", "a"]} if named else {"int64_vocabulary": [2, 9, 1]}
    given = strings("a", "b", "c") if named else np.array([1, 2, 3])
    values = strings("one", "two", "three") if value is object else np.array([1, 2, 3], value)
    model = map_model("DictVectorizer", keys, KINDS[np.dtype(value)], words)
    found = of_map(model, given, values, engine)
    assert found.tolist() == [[values[1], b"" if value is object else 0, values[0]]]
    assert found.dtype == values.dtype


@BOTH
def test_the_values_of_a_map_by_ascending_key_or_by_key_as_index(engine: str) -> None:
    keys, values = np.array([4, 1, 2]), np.array([0.5, 1.5, 2.5], np.float32)
    number, word = TensorProto.FLOAT, TensorProto.STRING
    dense = map_model("CastMap", TensorProto.INT64, number, {"cast_to": "TO_FLOAT"})
    assert of_map(dense, keys, values, engine).tolist() == [[1.5, 2.5, 0.5]]
    sparse = {"map_form": "SPARSE", "max_map": 6, "cast_to": "TO_INT64"}
    found = of_map(map_model("CastMap", TensorProto.INT64, number, sparse), keys, values, engine)
    assert found.dtype == np.int64 and found.tolist() == [[0, 1, 2, 0, 0, 0]]
    from_text = map_model("CastMap", TensorProto.INT64, word, {"cast_to": "TO_FLOAT"})
    assert of_map(from_text, keys, strings("3", "1.5", "-2"), engine).tolist() == [[1.5, -2, 3]]
    to_text = map_model("CastMap", TensorProto.INT64, number, {"cast_to": "TO_STRING"})
    found = of_map(to_text, keys, values, engine)
    assert found.tolist() == [[b"1.500000", b"2.500000", b"0.500000"]]
    as_text = map_model("CastMap", TensorProto.INT64, word, {**sparse, "cast_to": "TO_STRING"})
    found = of_map(as_text, keys, strings("four", "one", "two"), engine)
    assert found.tolist() == [[b"", b"one", b"two", b"", b"four", b""]]
    with pytest.raises(errors.InvalidArgumentError):
        of_map(as_text, np.array([6, 1, 2]), strings("a", "b", "c"), engine)


# ---- linear models and support vectors ----


@pytest.mark.parametrize("how", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_a_linear_classifier_weighs_as_onnxruntime(classes: int, how: str) -> None:
    random = np.random.RandomState(classes)
    x = X.astype(np.float32)
    rows = 1 if classes == 2 else classes
    attrs = {
        "coefficients": random.randn(3 * rows).tolist(), "intercepts": random.randn(rows).tolist(),
        "classlabels_strings": ["no", "yes", "perhaps"][:classes], "post_transform": how,
    }  # fmt: skip
    if classes == 1:
        attrs["classlabels_ints"] = [1]
        del attrs["classlabels_strings"]
    model = model_of("LinearClassifier", [x], attrs, 2)
    labels, scores = reference(model, [x])
    for engine in NAMES:
        found = ours(model, [x], engine)
        assert found[0].tolist() == labels.tolist()
        same(found[1], scores.astype(np.float32))
    if classes == 3:
        same(found[1], theirs(model, [x])[1])


def machine(kind: str, classes: int, probable: bool, seed: int) -> dict[str, Any]:
    random = np.random.RandomState(seed)
    counts = random.randint(1, 5, classes)
    total, pairs = int(counts.sum()), classes * (classes - 1) // 2
    attrs = {
        "kernel_type": kind, "kernel_params": [0.3, 0.5, 2.0],
        "coefficients": random.randn(total * (classes - 1)).tolist(),
        "support_vectors": random.randn(total * 3).tolist(),
        "vectors_per_class": counts.tolist(), "rho": random.randn(pairs).tolist(),
        "classlabels_ints": list(range(10, 10 + classes)),
    }  # fmt: skip
    if probable:
        attrs["prob_a"] = (-1 - random.rand(pairs)).tolist()
        attrs["prob_b"] = random.randn(pairs).tolist()
    return attrs


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["LINEAR", "POLY", "RBF", "SIGMOID"]),
    classes=st.integers(2, 5),
    probable=st.booleans(),
    seed=st.integers(0, 2**31 - 1),
)
def test_support_vectors_decide_as_in_onnxruntime(
    kind: str, classes: int, probable: bool, seed: int
) -> None:
    x = np.random.RandomState(seed).randn(9, 3).astype(np.float32)
    model = model_of("SVMClassifier", [x], machine(kind, classes, probable, seed), 2)
    labels, scores = theirs(model, [x])
    for engine in NAMES:
        found = ours(model, [x], engine)
        assert found[0].tolist() == labels.tolist()
        np.testing.assert_allclose(found[1], scores, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("dtype", (*INTS, *FLOATS))
def test_support_vector_regression_of_every_type(kind: str, dtype: Any) -> None:
    random = np.random.RandomState(4)
    attrs = {
        "kernel_type": kind, "kernel_params": [0.2, 0.1, 3.0], "n_supports": 6, "rho": [0.5],
        "coefficients": random.randn(6).tolist(), "support_vectors": random.randn(18).tolist(),
    }  # fmt: skip
    x = X.astype(dtype)
    wide = x.astype(np.float64)
    expected = reference(model_of("SVMRegressor", [wide], attrs), [wide])[0]
    for engine in NAMES:
        same(ours(model_of("SVMRegressor", [x], attrs), [x], engine)[0], expected.astype("f4"))
        sides = ours(model_of("SVMRegressor", [x], {**attrs, "one_class": 1}), [x], engine)[0]
        assert sides.tolist() == np.where(expected > 0, 1, -1).tolist()


@BOTH
def test_machines_without_support_vectors_are_linear(engine: str) -> None:
    x = X.astype(np.float32)
    given = {"coefficients": [1.0, 0.0, -1.0], "rho": [0.5]}
    (found,) = ours(model_of("SVMRegressor", [x], given), [x], engine)
    np.testing.assert_allclose(found[:, 0], x[:, 0] - x[:, 2] + 0.5)
    given |= {"coefficients": [1.0, 0, -1, 0, 1, 0], "classlabels_ints": [3, 8]}
    labels, scores = ours(model_of("SVMClassifier", [x], given, 2), [x], engine)
    expected = np.stack([x[:, 0] - x[:, 2], x[:, 1]], 1) + 0.5
    np.testing.assert_allclose(scores, expected)
    assert labels.tolist() == [[3, 8][i] for i in expected.argmax(1)]


# ---- contradictions ----

NOT_TEXT = b"\xff\xfe"
SVC = machine("RBF", 3, True, 1)


@pytest.mark.parametrize(
    ("op", "attrs", "words"),
    [
        ("Scaler", {"offset": [1.0, 2.0]}, "offset has 2 entries, expected 1 or 3"),
        ("Scaler", {"offset": [1]}, "'offset' is of kind ints, expected floats"),
        ("Scaler", {"shift": [1.0]}, "has no attribute 'shift'; the operator's are: offset, scale"),
        ("Normalizer", {"norm": "L3"}, "norm is 'L3', expected MAX, L1 or L2"),
        ("Imputer", {}, "neither imputed_value_floats nor imputed_value_int64s"),
        ("Imputer", {"imputed_value_floats": [1.0, 2.0]}, "has 2 entries, expected 1 or 3"),
        ("FeatureVectorizer", {"inputdimensions": [3, 3]}, "has 2 entries, expected 1"),
        ("FeatureVectorizer", {"inputdimensions": [-1]}, "inputdimensions has -1"),
        ("LabelEncoder", {"keys_floats": [1.0]}, "found none"),
        ("LabelEncoder", {"keys_floats": [1.0], "values_floats": [1.0, 2.0]}, "values_floats 2"),
        ("LabelEncoder", {"keys_strings": ["a"], "values_floats": [1.0]}, "X is float32"),
        (
            "LabelEncoder",
            {"keys_floats": [1.0, 1.0], "values_floats": [1.0, 2.0]},
            "keys_floats has 1.0 twice",
        ),
        (
            "LabelEncoder",
            {"keys_floats": [1.0], "values_strings": [NOT_TEXT]},
            "'values_strings': b'\\xff\\xfe' is not UTF-8",
        ),
        ("OneHotEncoder", {"cats_int64s": [1, 1]}, "cats_int64s has 1 twice"),
        ("OneHotEncoder", {}, "expected one of cats_int64s, cats_strings, found none"),
        ("CategoryMapper", {"cats_strings": ["a"]}, "1 cats_strings and 0 cats_int64s"),
        (
            "DictVectorizer",
            {"string_vocabulary": ["a"]},
            "X is not an input of the model that is a map",
        ),
        ("ZipMap", {"classlabels_int64s": [1, 2]}, "X has 3 columns, and there are 2"),
        ("LinearRegressor", {"coefficients": [1.0, 2.0]}, "X has 3 columns, and the"),
        ("LinearRegressor", {"coefficients": [1.0], "targets": 0}, "targets is 0"),
        ("LinearRegressor", {"coefficients": [1.0] * 3, "post_transform": "EXP"}, "'EXP'"),
        ("LinearClassifier", {}, "attribute 'coefficients' is missing"),
        (
            "LinearClassifier",
            {"coefficients": [1.0] * 9, "classlabels_ints": [1, 2]},
            "2 class labels for 3 scores",
        ),
        (
            "LinearClassifier",
            {"coefficients": [1.0] * 3, "classlabels_strings": ["a", NOT_TEXT]},
            "is not UTF-8",
        ),
        ("SVMRegressor", {}, "has no coefficients"),
        ("SVMRegressor", {"n_supports": 2, "support_vectors": [1.0] * 6}, "0 entries, expected 2"),
        ("SVMRegressor", {"n_supports": -1}, "n_supports is -1"),
        ("SVMClassifier", {**SVC, "kernel_type": "CUBE"}, "kernel_type is 'CUBE'"),
        ("SVMClassifier", {**SVC, "kernel_params": [1.0]}, "has 1 entries, expected 3"),
        ("SVMClassifier", {**SVC, "rho": [1.0]}, "rho has 1 entries, expected 3"),
        ("SVMClassifier", {**SVC, "prob_b": [1.0]}, "prob_b has 1 entries, expected 3"),
        ("SVMClassifier", {**SVC, "coefficients": [1.0]}, "coefficients has 1 entries, expected"),
        ("SVMClassifier", {**SVC, "support_vectors": [1.0]}, "support_vectors has 1 entries"),
        ("SVMClassifier", {**SVC, "vectors_per_class": [3, -1, 1]}, "expected 0 or more"),
        ("SVMClassifier", {**SVC, "classlabels_ints": [1, 2]}, "2 class labels"),
        ("SVMClassifier", {**SVC, "classlabels_ints": [1, 2, 1]}, "1 is there twice"),
    ],
)
def test_attributes_that_contradict_themselves_are_refused_at_import(
    op: str, attrs: dict[str, Any], words: str
) -> None:
    x = X.astype(np.float32)
    model = model_of(op, [x], attrs, 2 if op.endswith("Classifier") else 1)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3
    with pytest.raises(errors.InvalidArgumentError) as caught:
        tf.onnx.import_model(model)
    assert words in str(caught.value)


def test_a_few_bytes_never_ask_for_much() -> None:
    """Counts of a million classes or indices are refused before anything is made for them."""
    x = X.astype(np.float32)
    many = {**SVC, "vectors_per_class": [1] * 10**5}
    del many["classlabels_ints"]
    with pytest.raises(errors.InvalidArgumentError, match="coefficients has"):
        tf.onnx.import_model(model_of("SVMClassifier", [x], many, 2))
    wide = {"map_form": "SPARSE", "max_map": 1 << 40}
    model = map_model("CastMap", TensorProto.INT64, TensorProto.FLOAT, wide)
    with pytest.raises(errors.InvalidArgumentError, match="max_map is"):
        tf.onnx.import_model(model)


def test_strings_where_numbers_are_expected_are_refused() -> None:
    x = strings("a", "b").reshape(1, 2)
    for op, attrs in (("Scaler", {"scale": [1.0]}), ("SVMRegressor", {"coefficients": [1.0, 2.0]})):
        with pytest.raises(errors.InvalidArgumentError, match="X is string, expected numbers"):
            tf.onnx.import_model(model_of(op, [x], attrs))
