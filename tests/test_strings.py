"""Texts: every operator that only moves elements takes them, and tf.strings; both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])
X = np.array([[b"a", b"bb", b""], [b"d\0e", "ä".encode(), b"f"]], object)


def run(target: str, build: Callable[..., Any], *given: Any) -> Any:
    """Runs build(*placeholders) with the texts fed."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        holders = [tf.placeholder(tf.string, [None] * np.ndim(g)) for g in given]
        return session.run(build(*holders), dict(zip(holders, given, strict=True)))


def texts(values: Any) -> Any:
    """Lists of bytes of an array or a scalar."""
    return values.tolist() if isinstance(values, np.ndarray) else values


# ---- movement ----

MOVED: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda x: tf.reshape(x, [3, 2]), X.reshape(3, 2)),
    (tf.transpose, X.T),
    (lambda x: tf.gather(x, [2, 0], axis=1), X[:, [2, 0]]),
    (lambda x: tf.gather_nd(x, [[0, 1]]), X[0, 1:2]),
    (lambda x: tf.concat([x, x], 1), np.concatenate([X, X], 1)),
    (lambda x: tf.stack([x, x]), np.stack([X, X])),
    (lambda x: tf.split(x, [1, 2], 1)[1], X[:, 1:]),
    (lambda x: x[0, ::-1], X[0, ::-1]),
    (lambda x: tf.tile(x, [1, 2]), np.tile(X, [1, 2])),
    (lambda x: tf.broadcast_to(x, [2, 2, 3]), np.broadcast_to(X, [2, 2, 3])),
    (lambda x: tf.equal(x, "bb"), X == b"bb"),
    (lambda x: tf.not_equal(x, "bb"), X != b"bb"),
    (lambda x: tf.where(tf.equal(x, "bb"), tf.fill([2, 3], "z"), x), np.where(X == b"bb", b"z", X)),
    (lambda x: tf.boolean_mask(x, tf.equal(x, "")), [b""]),
    (lambda x: tf.pad(x[0], [[1, 0]]), [b"", *X[0]]),
    (lambda x: tf.pad(x[0], [[1, 0]], constant_values="q"), [b"q", *X[0]]),
    (tf.zeros_like, np.full((2, 3), b"", object)),
    (lambda x: tf.unique(tf.reshape(x, [-1])).y, X.ravel()),
    (lambda x: tf.reverse(x, [1]), X[:, ::-1]),
    (lambda x: tf.cond(tf.size(x) > 3, lambda: x, lambda: x), X),
    (lambda x: tf.map_fn(lambda row: tf.reverse(row, [0]), x), X[:, ::-1]),
    (lambda x: tf.one_hot([1], 2, x[0, 0], "off"), [[b"off", b"a"]]),
    (lambda x: tf.sparse.to_dense(tf.SparseTensor([[1]], x[0, :1], [2])), [b"", b"a"]),
]  # fmt: skip


@TARGETS
@pytest.mark.parametrize(("build", "expected"), MOVED)
def test_operators_that_move_elements_take_texts(
    target: str, build: Callable[[Any], Any], expected: Any
) -> None:
    assert texts(run(target, build, X)) == texts(np.asarray(expected))


@TARGETS
def test_texts_of_python_are_bytes_inside(target: str) -> None:
    as_str = np.array([["a", "bb", ""], ["d\0e", "ä", "f"]], object)
    for given in (as_str, as_str.tolist(), as_str.astype("U")):
        found = run(target, lambda x: [tf.identity(x), tf.equal(x, "ä")], given)
        assert texts(found[0]) == texts(X)
        assert texts(found[1]) == [[False] * 3, [False, True, False]]


# ---- tf.strings ----

CASES: list[tuple[Callable[[Any], Any], list[Any], Any]] = [
    (tf.strings.lower, [b"aBc", "Ä".encode()], [b"abc", "Ä".encode()]),
    (lambda x: tf.strings.lower(x, "utf-8"), ["Ä"], ["ä".encode()]),
    (tf.strings.upper, ["aBc ß"], ["ABC ß".encode()]),
    (tf.strings.strip, [" a b\n", ""], [b"a b", b""]),
    (tf.strings.length, ["", "äb"], [0, 3]),
    (lambda x: tf.strings.length(x, unit="UTF8_CHAR"), ["", "äb"], [0, 2]),
    (lambda x: tf.strings.substr(x, 1, 2), ["abcd", "ab"], [b"bc", b"b"]),
    (lambda x: tf.substr(x, [-2, 0], [1, 9]), ["abcd", "ab"], [b"c", b"ab"]),
    (lambda x: tf.strings.substr(x, 1, 1, unit="UTF8_CHAR"), ["äöü"], ["ö".encode()]),
    (lambda x: tf.strings.join([x, "-", x]), ["a", "b"], [b"a-a", b"b-b"]),
    (lambda x: tf.string_join([x, x], separator=", "), ["a", "b"], [b"a, a", b"b, b"]),
    (lambda x: tf.reduce_join(x, separator="/"), ["a", "b"], b"a/b"),
    (lambda x: tf.reduce_join([x, x], 0), ["a", "b"], [b"aa", b"bb"]),
    (lambda x: tf.reduce_join([x, x]), ["a", "b"], b"abab"),
    (lambda x: tf.reduce_join([x, x], [0, 1]), ["a", "b"], b"aabb"),
    (lambda x: tf.reduce_join([x, x], -1, keepdims=True), ["a", "b"], [[b"ab"], [b"ab"]]),
    (lambda x: tf.regex_replace(x, "(b+)", r"<\1\0>"), ["abba b"], [b"a<bbbb>a <bb>"]),
    (lambda x: tf.strings.regex_replace(x, "b", "", replace_global=False), ["bb"], [b"b"]),
    (lambda x: tf.strings.regex_full_match(x, "a.*"), ["ab", "ba"], [True, False]),
    (tf.string_to_number, ["1.5", "-2e3"], [1.5, -2000.0]),
    (lambda x: tf.strings.to_number(x, tf.int64), ["12", " -7 "], [12, -7]),
    (lambda x: tf.decode_raw(x, tf.uint8), ["ab"], [[97, 98]]),
    (lambda x: tf.decode_raw(x, tf.int16, little_endian=False), [b"\0\1\1\0"], [[1, 256]]),
    (lambda x: tf.decode_base64(x), ["YWI_", "YQ"], [b"ab?", b"a"]),
    (lambda x: tf.encode_base64(x, pad=True), ["ab?", "a"], [b"YWI_", b"YQ=="]),
]


@TARGETS
@pytest.mark.parametrize(("build", "given", "expected"), CASES)
def test_functions_of_texts(
    target: str, build: Callable[[Any], Any], given: list[Any], expected: Any
) -> None:
    assert texts(run(target, build, given)) == expected


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        ([1, -2], {}, [b"1", b"-2"]),
        ([1.5], {}, [b"1.500000"]),
        ([1.5], {"precision": 2, "width": 7, "fill": "0"}, [b"0001.50"]),
        ([1.5], {"scientific": True, "precision": 1}, [b"1.5e+00"]),
        ([1.5], {"shortest": True}, [b"1.5"]),
        ([7], {"width": 3, "fill": " "}, [b"  7"]),
        ([7], {"width": 3, "fill": "-"}, [b"7  "]),
        ([True, False], {}, [b"true", b"false"]),
        (2**40, {}, b"1099511627776"),
    ],
)
def test_numbers_become_texts(value: Any, options: dict[str, Any], expected: Any) -> None:
    assert texts(run("", lambda: tf.as_string(value, **options))) == expected


@TARGETS
def test_texts_are_split_into_a_sparse_tensor(target: str) -> None:
    def build(x: Any) -> Any:
        dense = [
            tf.string_split(x),
            tf.string_split(x, ", ", skip_empty=False),
            tf.string_split(x[:1], ""),
            tf.strings.split(x, ", "),
            tf.strings.split(x, maxsplit=1),
        ]
        return [tf.sparse.to_dense(part, "#") for part in dense]

    found = run(target, build, ["a, b", " c"])
    assert [value.tolist() for value in found] == [
        [[b"a,", b"b"], [b"c", b"#"]],
        [[b"a", b"", b"b"], [b"", b"c", b"#"]],
        [[b"a", b",", b" ", b"b"]],
        [[b"a", b"b"], [b" c", b"#"]],
        [[b"a,", b"b"], [b"c", b"#"]],
    ]


def test_static_shapes_are_known() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.string, [None, 3])
        assert tf.strings.lower(x).shape.as_list() == [None, 3]
        assert tf.string_join([x, "a", tf.fill([2, 3], "b")]).shape.as_list() == [2, 3]
        assert tf.reduce_join(x, 1).shape.as_list() == [None]
        assert tf.decode_raw(x, tf.int8).shape.as_list() == [None, 3, None]
        split = tf.string_split(x[:, 0])
        assert split.indices.shape.as_list() == [None, 2] and split.shape.ndims == 2
        length = tf.strings.length(x)
        assert (length.dtype, length.op.type) == (tf.int32, "StringLength")
        assert tf.substr(x, [0, 1, 2], 1).shape.as_list() == [None, 3]
        assert tf.strings.strip(x).op.type == "StringStrip"


@TARGETS
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda x: tf.string_to_number(x), "could not correctly convert string: one"),
        (lambda x: tf.string_to_number(x, tf.int32), "could not correctly convert string: one"),
        (lambda x: tf.substr(x, 4, 1), "pos 4 out of range for string"),
        (lambda x: tf.substr(x, 0, -1), "len -1 is negative"),
        (lambda x: tf.decode_raw(x, tf.int16), "not a multiple"),
        (lambda x: tf.decode_base64(tf.strings.join([x, "!"])), "base64"),
    ],
)
def test_texts_that_do_not_fit_are_refused_by_the_run(
    target: str, build: Callable[[Any], Any], words: str
) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(target, build, ["one"])


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: tf.strings.lower([1]), TypeError, "string"),
        (lambda: tf.strings.length(["a"], unit="WORD"), ValueError, "unit"),
        (lambda: tf.strings.lower(["a"], "latin-1"), ValueError, "encoding"),
        (lambda: tf.string_join([]), ValueError, "at least one"),
        (lambda: tf.string_join([["a"], ["b", "c"]]), ValueError, "equal"),
        (lambda: tf.reduce_join(["a"], 1), ValueError, "ReduceJoin"),
        (lambda: tf.string_split("a"), ValueError, "rank 1"),
        (lambda: tf.strings.split(["a"], result_type="RaggedTensor"), ValueError, "result_type"),
        (lambda: tf.regex_replace(["a"], "(", ""), ValueError, "regular expression"),
        (lambda: tf.string_to_number(["1"], tf.bool), TypeError, "out_type"),
        (lambda: tf.as_string([1.0], scientific=True, shortest=True), ValueError, "both"),
        (lambda: tf.as_string([1], precision=2), ValueError, "precision"),
        (lambda: tf.substr(["a"], 0.5, 1), TypeError, "integer"),
    ],
)
def test_what_cannot_be_built_is_refused(build: Any, error: type[Exception], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        build()


# ---- texts that a run made, in state and in loops ----


@TARGETS
def test_texts_that_were_made_live_on_in_variables_and_loops(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable("a")
        step = v.assign(tf.string_join([v, tf.strings.upper(v)], "-"))
        grown = tf.while_loop(
            lambda i, s: i < 20, lambda i, s: (i + 1, tf.string_join([s, "xy"])), [0, v]
        )[1]
        session.run(v.initializer)
        kept = session.run(step)
        session.run(step)
        assert kept == b"a-A"
        assert session.run(v) == b"a-A-A-A"
        assert session.run(grown) == b"a-A-A-A" + b"xy" * 20
        assert session.run(tf.strings.substr(grown, -4, 3)) == b"xyx"


@TARGETS
def test_texts_of_constants_are_made_in_every_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        made = tf.strings.strip(tf.string_join([tf.constant([" a", "b "]), tf.constant("c ")]))
        for _ in range(3):
            assert texts(session.run(made)) == [b"ac", b"b c"]
