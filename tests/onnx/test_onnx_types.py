"""Types that the standard allows and no kernel computes with: what an import makes of them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import graphio.onnx as tfonnx

ENGINES = pytest.mark.parametrize("target", ["runtime", "cinfer"])
RNG = np.random.default_rng(7)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def number_of(array: np.ndarray) -> int:
    if array.dtype == object:
        return int(TensorProto.STRING)
    return int(helper.np_dtype_to_tensor_dtype(array.dtype))


def run(op: str, arrays: list[Any], target: str, outputs: int = 1, **attrs: Any) -> list[Any]:
    """The outputs of one node of the standard; an input that is None is absent."""
    given = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    graph = helper.make_graph(
        [helper.make_node(op, names, [f"y{k}" for k in range(outputs)], **attrs)],
        "test",
        [helper.make_tensor_value_info(n, number_of(a), a.shape) for n, a in given.items()],
        [onnx.ValueInfoProto(name=f"y{k}") for k in range(outputs)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)])
    found = tfonnx.load(model, target).signature("predict")(**given)
    return [found[f"y{k}"] for k in range(outputs)]


def strings(values: Any) -> np.ndarray:
    made = np.array([str(v).encode() for v in np.ravel(values)], object)
    return made.reshape(np.shape(values))


# ---- floating types that differ ----


@ENGINES
@pytest.mark.parametrize("kinds", [("f4", "f8", "f8"), ("f8", "f4", "f4"), ("f2", "f4", "f8")])
def test_batch_normalization_computes_in_the_widest_of_its_types(
    target: str, kinds: tuple[str, str, str]
) -> None:
    x = RNG.normal(size=(2, 3, 4)).astype(kinds[0])
    scale, shift = RNG.normal(size=(2, 3)).astype(kinds[1])
    mean, var = RNG.uniform(1, 2, (2, 3)).astype(kinds[2])
    (y,) = run("BatchNormalization", [x, scale, shift, mean, var], target)
    wide = [a.astype(np.float64)[:, None] for a in (scale, shift, mean, var)]
    expected = (x - wide[2]) / np.sqrt(wide[3] + 1e-5) * wide[0] + wide[1]
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, expected, rtol=np.finfo(y.dtype).eps * 8, atol=1e-3 if
                               y.dtype == np.float16 else 1e-6)  # fmt: skip


@ENGINES
def test_what_batch_normalization_keeps_has_the_type_of_the_statistics(target: str) -> None:
    x = RNG.normal(size=(4, 3)).astype(np.float32)
    one, mean = np.ones(3, np.float32), np.full(3, 0.25)
    _, kept, _ = run(
        "BatchNormalization", [x, one, one, mean, mean], target, 3, training_mode=1, momentum=0.5
    )
    assert kept.dtype == np.float64
    np.testing.assert_allclose(kept, 0.125 + x.astype(np.float64).mean(0) / 2, rtol=1e-6)


def attended(q: Any, k: Any, v: Any, mask: Any) -> np.ndarray:
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]) + mask.astype(np.float64)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True) @ v)


@ENGINES
@pytest.mark.parametrize(
    ("keys", "values", "mask"),
    [("f4", "f4", k) for k in (*INTEGERS, "f8", "f2")]
    + [("f8", "f4", "i4"), ("f4", "f8", "f4"), ("f2", "f4", "f4"), ("f8", "f8", "u1")],
)
def test_attention_takes_a_mask_and_values_of_other_types(
    target: str, keys: str, values: str, mask: str
) -> None:
    q, k = RNG.normal(size=(2, 1, 2, 3, 8)).astype(keys)
    v = RNG.normal(size=(1, 2, 3, 8)).astype(values)
    bias = RNG.integers(0, 4, (3, 3)).astype(mask)
    y, _, present = run("Attention", [q, k, v, bias], target, 3)
    assert (y.dtype, present.dtype) == (q.dtype, v.dtype)
    limit = 2e-3 if "f2" in (keys, values) else 2e-6
    np.testing.assert_allclose(y, attended(q, k, v, bias), rtol=limit, atol=limit)
    np.testing.assert_array_equal(present, v)


@ENGINES
@pytest.mark.parametrize(("kind", "scale"), [("f4", "f8"), ("f8", "f4"), ("f2", "f4")])
def test_rms_normalization_has_the_type_of_its_scale(target: str, kind: str, scale: str) -> None:
    x, factor = RNG.normal(size=(2, 5)).astype(kind), RNG.normal(size=5).astype(scale)
    (y,) = run("RMSNormalization", [x, factor], target)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5) * factor
    assert y.dtype == factor.dtype
    np.testing.assert_allclose(y, expected, rtol=2e-6)


# ---- casts ----


@ENGINES
@pytest.mark.parametrize("kind", FLOAT8)
def test_float8_is_checked_for_nan_and_infinity(target: str, kind: str) -> None:
    every = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, kind))
    wide = every.astype(np.float32)
    np.testing.assert_array_equal(run("IsNaN", [every], target)[0], np.isnan(wide))
    np.testing.assert_array_equal(run("IsInf", [every], target)[0], np.isinf(wide))


@ENGINES
def test_center_crop_pad_takes_a_shape_of_int32(target: str) -> None:
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    (y,) = run("CenterCropPad", [x, np.int32([2, 7])], target)
    np.testing.assert_array_equal(y, np.pad(x[1:3], [(0, 0), (1, 1)]))


@ENGINES
@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i1", "i4", "i8", "u2", "bool"])
def test_numbers_are_read_from_strings(target: str, kind: str) -> None:
    given = np.array([b"0", b"1", b"3.5", b" 1e2 ", b"+7"], object)
    if kind[0] in "iu":
        given[2:4] = [b"-0", b" 100"]
    to = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    expected = np.array([0, 1, 0 if kind[0] in "iu" else 3.5, 100, 7]).astype(kind)
    np.testing.assert_array_equal(run("Cast", [given], target, to=to)[0], expected)
    like = np.zeros(1, kind)
    np.testing.assert_array_equal(run("CastLike", [given, like], target)[0], expected)


@ENGINES
def test_strings_of_what_is_no_number_are_read_or_refused(target: str) -> None:
    given = np.array([b"NaN", b"-INF", b"inf"], object)
    found = run("Cast", [given], target, to=TensorProto.FLOAT)[0]
    np.testing.assert_array_equal(found, np.float32([np.nan, -np.inf, np.inf]))
    with pytest.raises(Exception, match="seven"):
        run("Cast", [np.array([b"seven"], object)], target, to=TensorProto.FLOAT)


@ENGINES
def test_integers_in_strings_are_read_exactly(target: str) -> None:
    given = np.array([b"9007199254740993", b"-9223372036854775808"], object)
    found = run("Cast", [given], target, to=TensorProto.INT64)[0]
    np.testing.assert_array_equal(found, [2**53 + 1, -(2**63)])
    with pytest.raises(Exception, match="2.5"):
        run("Cast", [np.array([b"2.5"], object)], target, to=TensorProto.INT32)


@ENGINES
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_floats_are_written_with_as_few_digits_as_tell_them_apart(target: str, kind: str) -> None:
    """Against numpy's shortest strings, which turn to exponents elsewhere."""
    bits = RNG.integers(0, 2**63, 2000).astype(f"i{kind[1]}").view(kind)
    given = np.concatenate([RNG.normal(0, 1e3, 500).astype(kind), bits[np.isfinite(bits)]])
    (found,) = run("Cast", [given], target, to=TensorProto.STRING)

    def digits(word: str) -> str:
        return word.lstrip("-").partition("e")[0].replace(".", "").strip("0")

    words = [t.decode() for t in found]
    np.testing.assert_array_equal(np.array(words, kind), given)
    assert [digits(w) for w in words] == [digits(w) for w in given.astype(str)]
    assert all(("e" in w) != (1e-4 <= abs(v) < 1e16) for w, v in zip(words, given, strict=True))


@ENGINES
@pytest.mark.parametrize(
    ("value", "word"),
    [
        (0, "0.0"), (-0.0, "-0.0"), (1, "1.0"), (-2.5, "-2.5"), (0.1, "0.1"),
        (1.5e15, "1500000000000000.0"),
        (1e16, "1e+16"), (3e-5, "3e-05"), (314.159, "314.159"), (np.nan, "nan"), (-np.inf, "-inf"),
    ],
)  # fmt: skip
def test_floats_are_written_plainly(target: str, value: float, word: str) -> None:
    given = np.full(1, value, np.float32)
    assert run("Cast", [given], target, to=TensorProto.STRING)[0][0].decode() == word


@ENGINES
@pytest.mark.parametrize("kind", ["bool", *INTEGERS, "int4", "uint2", "float16", "bfloat16"])
def test_numbers_are_written_plainly(target: str, kind: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, kind, None) or kind)
    given = np.array([0, 1, 2, 3 if kind[0] == "u" else -2]).astype(dtype)
    (found,) = run("CastLike", [given, strings(np.zeros(1))], target)
    as_python = bool if kind == "bool" else float if "float" in kind else int
    assert [t.decode() for t in found] == [str(as_python(v)) for v in given]


@ENGINES
@pytest.mark.parametrize("kind", FLOAT8)
def test_a_matmul_of_float8_is_rounded_once(target: str, kind: str) -> None:
    small = getattr(ml_dtypes, kind)
    a, b = (RNG.normal(size=s).astype(small) for s in ((2, 3, 4), (4, 5)))
    rows, columns = RNG.uniform(0.5, 2, 3), RNG.uniform(0.5, 2, 5)
    scales = [rows.astype(np.float32), columns.astype(np.float32), np.float32([0.25])]
    zeros = [np.zeros(s.shape, small) for s in scales]
    given = [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]]
    (y,) = run("QLinearMatMul", given, target)
    left = a.astype(np.float64) * scales[0][:, None]
    exact = left @ (b.astype(np.float64) * scales[1]) / 0.25
    step = 2.0 ** -(4 if "e4m3" in kind else 3)
    assert y.dtype == small
    np.testing.assert_allclose(y.astype(np.float64), exact, rtol=step * 1.001, atol=0.01)


# ---- elements that are moved ----


def elements(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    numbers = np.arange(np.prod(shape)).reshape(shape)
    if kind == "text":
        return strings(numbers)
    if kind == "bool":
        return np.asarray(numbers % 3 == 0)
    return (numbers + 2j * numbers).astype(kind) if kind[0] == "c" else numbers.astype(kind)


@ENGINES
@pytest.mark.parametrize("kind", ["bool", "complex64", "complex128", "text"])
def test_resize_takes_the_nearest_of_elements_of_any_type(target: str, kind: str) -> None:
    x = elements(kind, (1, 2, 2, 3))
    (y,) = run("Resize", [x, None, np.float32([1, 1, 2, 2])], target, mode="nearest")
    np.testing.assert_array_equal(y, x.repeat(2, 2).repeat(2, 3))


@ENGINES
@pytest.mark.parametrize("kind", ["bool", "complex64", "complex128", "text", *INTEGERS])
def test_grid_sample_takes_the_nearest_of_elements_of_any_type(target: str, kind: str) -> None:
    x = elements(kind, (1, 2, 3, 3))
    at = np.float32([[-1, -1], [1, -1], [0, 0], [-1, 1], [0.9, 0.1], [5, 5]])[None, None]
    (y,) = run("GridSample", [x, at], target, mode="nearest", align_corners=1)
    outside = b"" if kind == "text" else 0
    want = np.concatenate(
        [x[..., [0, 0, 1, 2, 1], [0, 2, 1, 0, 2]], np.full((1, 2, 1), outside, x.dtype)], -1
    )
    np.testing.assert_array_equal(y, want[:, :, None])


@ENGINES
@pytest.mark.parametrize("kind", INTEGERS)
def test_grid_sample_between_integers_is_cut_to_an_integer(target: str, kind: str) -> None:
    x = np.array([[0, 1], [2, 5]], kind)[None, None]
    at = np.float32([[0, 0], [0, 1], [0.5, 1], [-1, -1]])[None, None]
    (y,) = run("GridSample", [x, at], target, mode="linear", align_corners=1)
    np.testing.assert_array_equal(y.ravel(), np.array([2, 3, 4, 0], kind))


@ENGINES
@pytest.mark.parametrize("kind", ["bool", *INTEGERS])
def test_col2im_adds_integers_as_integers_are_added(target: str, kind: str) -> None:
    """Windows of 2 x 2 over 3 x 3, whose sums wrap around."""
    top = 1 if kind == "bool" else int(np.iinfo(kind).max)
    x = RNG.integers(top // 2, top, (1, 4, 4), dtype=np.uint64, endpoint=True).astype(kind)
    (y,) = run("Col2Im", [x, np.int64([3, 3]), np.int64([2, 2])], target)
    want = np.zeros((3, 3), kind)
    for part in range(4):
        for at in range(4):
            position = np.s_[at // 2 + part // 2, at % 2 + part % 2]
            want[position] = np.add(want[position][None], x[0, part, at])[0]  # arrays wrap silently
    np.testing.assert_array_equal(y[0, 0], want)


def test_numbers_read_from_strings_leave_as_a_cast() -> None:
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)],
        "test",
        [helper.make_tensor_value_info("x", TensorProto.STRING, [2])],
        [onnx.ValueInfoProto(name="y")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    left = tfonnx.from_model(tfonnx.convert(made))
    assert {node.op_type for node in left.graph.node} == {"Cast", "Identity"}
    onnx.checker.check_model(left, full_check=True)


@pytest.mark.parametrize("kind", ["int8", "int64", "uint16", "float32", "float64"])
def test_numbers_written_as_strings_leave_as_a_cast(kind: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    given = np.array([0, 1, 2.5, 100], np.float64).astype(kind)
    graph = helper.make_graph(
        [helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING)],
        "test",
        [helper.make_tensor_value_info("x", number_of(given), [4])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, [4])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    left = tfonnx.from_model(tfonnx.convert(made))
    assert {node.op_type for node in left.graph.node} == {"Cast", "Identity"}
    onnx.checker.check_model(left, full_check=True)
    both = [ort.InferenceSession(m.SerializeToString()).run(None, {"x": given})[0]
            for m in (made, left)]  # fmt: skip
    np.testing.assert_array_equal(*both)
