"""Strings: operators that only move elements accept them; tf.strings; both engines."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.ops.strings import patterns
from graphio.runtime import regex

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
X = np.array([[b"a", b"bb", b""], [b"d\0e", "ä".encode(), b"f"]], object)


def run(target: str, build: Callable[..., Any], *given: Any) -> Any:
    """Runs build(*placeholders) with the strings fed."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        holders = [tf.placeholder(tf.string, [None] * np.ndim(g)) for g in given]
        return session.run(build(*holders), dict(zip(holders, given, strict=True)))


def string_values(values: Any) -> Any:
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
    (lambda x: tf.boolean_mask(x, [True, False, True], axis=1), X[:, [0, 2]]),
    (lambda x: tf.boolean_mask(x[None], tf.equal(x, ""), axis=1), [[b""]]),
    (lambda x: x + "!", X + b"!"),
    (lambda x: "<" + x, b"<" + X),
    (lambda x: tf.add(x, x), X + X),
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
def test_operators_that_move_elements_take_strings(
    target: str, build: Callable[[Any], Any], expected: Any
) -> None:
    assert string_values(run(target, build, X)) == string_values(np.asarray(expected))


@TARGETS
def test_strings_of_python_are_bytes_inside(target: str) -> None:
    as_str = np.array([["a", "bb", ""], ["d\0e", "ä", "f"]], object)
    for value in (as_str, as_str.tolist(), as_str.astype("U")):
        found = run(target, lambda x: [tf.identity(x), tf.equal(x, "ä")], value)
        assert string_values(found[0]) == string_values(X)
        assert string_values(found[1]) == [[False] * 3, [False, True, False]]


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
    (lambda x: tf.regex_replace(x, ".", "x"), ["é", "a\n"], [b"x", b"x\n"]),
    (lambda x: tf.regex_replace(x, "$", "!"), ["a\n"], [b"a\n!"]),
    (lambda x: tf.regex_replace(x, "b*", "-"), ["abb"], [b"-a-"]),
    (lambda x: tf.regex_replace(x, r"\p{Lu}|\d", "_"), ["Aé4É"], ["_é__".encode()]),
    (lambda x: tf.regex_replace(x, "a", r"\7"), ["a"], [b"a"]),
    (lambda x: tf.strings.regex_full_match(x, r"\w+"), ["a_1", "é"], [True, False]),
    (lambda x: tf.strings.regex_full_match(x, "a(?i)b|c"), ["aB", "C", "Ab"], [True, True, False]),
    (
        lambda x: tf.strings.unsorted_segment_join(x, [1, 0, 1], 3, "-"),
        ["a", "b", "c"],
        [b"b", b"a-c", b""],
    ),
    (
        lambda x: tf.strings.unsorted_segment_join(x, [[1], [1]], 2),
        [["a"], ["b"]],
        [b"", b"ab"],
    ),
    (
        lambda x: tf.strings.unsorted_segment_join(x, [1, 1], 2, ","),
        [["a", "b"], ["c", "d"]],
        [[b"", b""], [b"a,c", b"b,d"]],
    ),
    (
        lambda x: tf.strings.unicode_transcode(x, "UTF-16", "UTF-8"),
        [b"\0a", b"\xff\xfea\0", b"\xfe\xff\0a"],
        [b"a", b"a", b"a"],
    ),
    (
        lambda x: tf.strings.unicode_transcode(x, "UTF-16-BE", "UTF-32-BE"),
        [b"\xd8\x01\xdc\x37"],
        [b"\0\x01\x04\x37"],
    ),
    (
        lambda x: tf.strings.unicode_transcode(x, "UTF-8", "UTF-8", replacement_char=ord("?")),
        [b"a\xff\x01", b"\xf0"],
        [b"a?\x01", b"?"],
    ),
    (
        lambda x: tf.strings.unicode_transcode(
            x, "UTF-8", "UTF-8", errors="ignore", replace_control_characters=True
        ),
        [b"a\xff\x01"],
        [b"a"],
    ),
    (lambda x: tf.as_string(x, width=4), ["ab", "abcde"], [b"  ab", b"abcde"]),
    (lambda x: tf.as_string(x, width=4, fill="-"), ["ab"], [b"ab  "]),
    (tf.string_to_number, ["1.5", "-2e3"], [1.5, -2000.0]),
    (tf.string_to_number, ["0xF", "-0x1.8P+3", "0x.8"], [15.0, -12.0, 0.5]),
    (tf.string_to_number, ["0x1p99999"], [np.inf]),
    (lambda x: tf.strings.to_number(x, tf.int64), ["12", " -7 "], [12, -7]),
    (lambda x: tf.decode_raw(x, tf.uint8), ["ab"], [[97, 98]]),
    (lambda x: tf.decode_raw(x, tf.int16, little_endian=False), [b"\0\1\1\0"], [[1, 256]]),
    (lambda x: tf.decode_raw(x, tf.uint8, fixed_length=2), ["a", "bcd"], [[97, 0], [98, 99]]),
    (
        lambda x: tf.decode_raw(x, tf.int32, little_endian=False, fixed_length=8),
        [b"\1\2"],
        [[0x1020000, 0]],
    ),
    (lambda x: tf.decode_base64(x), ["YQ==", "YWI="], [b"a", b"ab"]),
    (lambda x: tf.decode_base64(x), ["YWI_", "YQ"], [b"ab?", b"a"]),
    (lambda x: tf.encode_base64(x, pad=True), ["ab?", "a"], [b"YWI_", b"YQ=="]),
]


@TARGETS
@pytest.mark.parametrize(("build", "given", "expected"), CASES)
def test_functions_of_strings(
    target: str, build: Callable[[Any], Any], given: list[Any], expected: Any
) -> None:
    assert string_values(run(target, build, given)) == expected


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
def test_numbers_become_strings(value: Any, options: dict[str, Any], expected: Any) -> None:
    assert string_values(run("", lambda: tf.as_string(value, **options))) == expected


@TARGETS
def test_strings_are_split_into_a_sparse_tensor(target: str) -> None:
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
        assert tf.substr(x, [0, 1, 2], [1, 1, 1]).shape.as_list() == [None, 3]
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
        (lambda x: tf.string_to_number(tf.strings.join(["0x", x])), "convert string: 0xone"),
        (lambda x: tf.string_to_number(tf.fill([1], "0x"), tf.int32), "convert string: 0x"),
        (lambda x: tf.decode_base64(tf.strings.join([x, "!"])), "base64"),
        (lambda x: tf.decode_base64(tf.fill([1], "YQ=")), "base64"),
        (lambda x: tf.decode_base64(tf.fill([1], "YWJj====")), "base64"),
        (lambda x: tf.regex_replace(x, "(", ""), "Invalid pattern: '\\('"),
        (lambda x: tf.strings.regex_full_match(x, r"(?=a)"), "not of RE2's syntax"),
        (lambda x: tf.strings.regex_full_match(x, r"(a)\1"), "not of RE2's syntax"),
        (lambda x: tf.regex_replace(x, x, ""), "Pattern must be scalar"),
        (lambda x: tf.regex_replace(x, "a", x), "Rewrite must be scalar"),
        (lambda x: tf.string_split(x, x).values, "delimiter must be scalar"),
        (lambda x: tf.strings.unicode_transcode(x, "UTF-9", "UTF-8"), "encoding: UTF-9"),
        (lambda x: tf.strings.unicode_transcode(x, "base64", "UTF-8"), "encoding: base64"),
        (
            lambda x: tf.strings.unicode_transcode(x + b"\xff", "UTF-8", "UTF-8", "strict"),
            "Invalid formatting",
        ),
        (lambda x: tf.strings.unsorted_segment_join(x, [1], 1), r"1 is not in \[0, 1\)"),
        (lambda x: tf.strings.unsorted_segment_join(x, [-1], 1), r"-1 is not in \[0, 1\)"),
    ],
)
def test_strings_that_do_not_fit_are_refused_by_the_run(
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
        (lambda: tf.string_join([["a"], ["b", "c"]]), ValueError, "equal"),
        (lambda: tf.reduce_join(["a"], 1), ValueError, "ReduceJoin"),
        (lambda: tf.string_split("a"), ValueError, "rank 1"),
        (lambda: tf.strings.split(["a"], result_type="RaggedTensor"), ValueError, "result_type"),
        (lambda: tf.string_split(["a"], ["b"]), ValueError, "one string"),
        (
            lambda: tf.strings.unicode_transcode("a", "UTF-8", "UTF-16"),
            ValueError,
            "passed string 'UTF-16'",
        ),
        (lambda: tf.strings.unsorted_segment_join(["a"], [0, 1], 2), ValueError, "SegmentJoin"),
        (lambda: tf.strings.unsorted_segment_join(["a"], [[0]], 2), ValueError, "first sizes"),
        (lambda: tf.strings.join(["a"], separator=tf.constant("-")), TypeError, "Python text"),
        (lambda: tf.regex_replace(["a"], 1, ""), TypeError, "Python text"),
        (lambda: tf.decode_raw(["a"], tf.int32, fixed_length=7), ValueError, "multiple of 4"),
        (lambda: tf.as_string(["a"], precision=2), tf.errors.InvalidArgumentError, "string"),
        (lambda: tf.string_to_number(["1"], tf.bool), TypeError, "out_type"),
        (lambda: tf.as_string([1.0], scientific=True, shortest=True), ValueError, "both"),
        (lambda: tf.as_string([1], precision=2), ValueError, "precision"),
        (lambda: tf.substr(["a"], 0.5, 1), TypeError, "integer"),
    ],
)
def test_what_cannot_be_built_is_refused(build: Any, error: type[Exception], words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(error, match=words):
        build()


@TARGETS
def test_marks_and_patterns_may_be_tensors(target: str) -> None:
    words = np.array(["a.b,c"], object)

    def build(x: Any, mark: Any) -> Any:
        mark = tf.reshape(mark, [])
        split = tf.string_split(x, mark), tf.strings.split(x, mark)
        return [s.values for s in split], tf.regex_replace(x, mark, mark), tf.shape(split[0])

    (letters, whole), replaced, shape = run(target, build, words, np.array([".,"], object))
    assert string_values(letters) == [b"a", b"b", b"c"]
    assert string_values(whole) == [b"a.b,c"]
    assert string_values(replaced) == [b"a..,c"]
    assert shape.tolist() == [1, 3]


PIECES = st.sampled_from(
    ["a", "b", "é", ".", "\\d", "\\W", "[^a]", "[a-c]", "[[:alpha:]]", "[]a]", "^", "$", "(a|b)",
     "x*", "(?:a)", "(?i)", "\\x{e9}", "\\z", "{", "a{1,2}", "|", "(b(?i)a)", "[a&&b]"]
)  # fmt: skip


@given(pattern=st.lists(PIECES, max_size=5).map("".join), text=st.text("abBé\n1x{", max_size=5))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_patterns_match_what_the_runtime_s_engine_matches(pattern: str, text: str) -> None:
    try:
        expected = regex.compile(pattern).full_match(text)
    except tf.errors.InvalidArgumentError:
        return
    assert patterns.full_match(pattern.encode(), text.encode()) is expected


OF_CLASSES = st.sampled_from(
    ["a", "z", "-", "_", "+", ".", "[", ":", "A", " ", "\\d", "\\w", "\\s", "\\W", "[:alpha:]",
     "[:^digit:]", "\\-", "\\]", "\\x2d", "\\x{2d}"]
)  # fmt: skip


@given(negated=st.sampled_from(["", "^"]), parts=st.lists(OF_CLASSES, min_size=1, max_size=5))
@settings(max_examples=300, deadline=None, derandomize=True)
@pytest.mark.filterwarnings("error::FutureWarning")
def test_classes_have_the_characters_of_the_runtime_s_engine(
    negated: str, parts: list[str]
) -> None:
    pattern = f"[{negated}{''.join(parts)}]"
    try:
        expected = regex.compile(pattern)
    except tf.errors.InvalidArgumentError:
        with pytest.raises(tf.errors.InvalidArgumentError):
            patterns.compiled(pattern.encode())
        return
    for letter in "az-_+.[]^:A0 `b~é\n":
        matches = patterns.full_match(pattern.encode(), letter.encode())
        assert matches is expected.full_match(letter)


@pytest.mark.parametrize("pattern", ["a++", "a*+", "a?+", "a{2}+", "a{1001}", "[+-\\d]"])
def test_repetitions_and_ranges_that_re2_does_not_have_are_refused(pattern: str) -> None:
    for compiled in (regex.compile, lambda p: patterns.compiled(p.encode())):
        with pytest.raises(tf.errors.InvalidArgumentError):
            compiled(pattern)


def test_a_class_of_re_does_not_run_on_in_a_range() -> None:
    assert patterns.full_match(rb"[\w-.]+@[\w-]+", b"a-b.c@d-e")
    assert not patterns.full_match(rb"[\s-_]", b"A")


def test_all_categories_are_found_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns._categories.cache_clear()
    looked: list[str] = []
    category = unicodedata.category
    monkeypatch.setattr(unicodedata, "category", lambda c: looked.append(c) or category(c))
    for name in ("L", "Lu", "Nd", "Z", "Any", "Greek", "Foo"):
        with contextlib.suppress(tf.errors.InvalidArgumentError):
            patterns.full_match(rf"\p{{{name}}}".encode(), b"a")
    assert len(looked) == sys.maxunicode + 1


def test_a_script_is_refused_by_its_name() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="names no general category"):
        patterns.compiled(rb"\p{Greek}")


# ---- strings that a run made, in state and in loops ----


@TARGETS
def test_strings_that_were_made_live_on_in_variables_and_loops(target: str) -> None:
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
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["", "a", "bc"])), max_size=6))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_strings_scattered_to_one_position_are_joined(
    target: str, rows: list[tuple[int, str]]
) -> None:
    positions = np.array([[position] for position, _ in rows], np.int64).reshape(-1, 1)
    words = np.array([*(word for _, word in rows), None], object)[:-1]
    expected = [
        "".join(word for position, word in rows if position == i).encode() for i in range(3)
    ]

    def build(x: Any) -> Any:
        start = tf.constant(["<", "", ">"])
        return tf.scatter_nd(positions, x, [3]), tf.tensor_scatter_nd_add(start, positions, x)

    alone, added = run(target, build, words)
    assert string_values(alone) == expected
    assert string_values(added) == [b"<" + expected[0], expected[1], b">" + expected[2]]


@TARGETS
def test_strings_of_constants_are_made_in_every_run(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        joined = tf.scatter_nd([[1], [1]], tf.constant(["a", "b"]), [2])
        for _ in range(3):
            assert string_values(session.run(tf.identity(joined))) == [b"", b"ab"]
        made = tf.strings.strip(tf.string_join([tf.constant([" a", "b "]), tf.constant("c ")]))
        for _ in range(3):
            assert string_values(session.run(made)) == [b"ac", b"b c"]


LETTERS = st.lists(st.sampled_from([b"a", b"b", b",", b" ", b"\n", "ä".encode()]), max_size=9)
LINES = st.lists(LETTERS.map(b"".join), max_size=4)


@TARGETS
@given(
    lines=LINES,
    mark=st.sampled_from(["", ",", " ,", ",,"]),
    skips=st.booleans(),
    limit=st.integers(-1, 3),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_any_strings_are_split_as_python_splits_them(
    target: str, lines: list[bytes], mark: str, skips: bool, limit: int
) -> None:
    def build(x: Any) -> Any:
        return tf.string_split(x, mark, skips), tf.strings.split(x, mark, limit)

    between = mark.encode()
    letters = []
    for line in lines:
        for byte in between[1:]:
            line = line.replace(bytes([byte]), between[:1])
        parts = line.split(between[:1]) if mark else [line[i : i + 1] for i in range(len(line))]
        letters.append([part for part in parts if part or not skips])
    whole = [line.split(between or None, limit) for line in lines]
    given_strings = np.array([*lines, None], object)[:-1]
    for found, rows in zip(run(target, build, given_strings), (letters, whole), strict=True):
        positions = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
        assert found.indices.tolist() == positions
        assert found.values.tolist() == [part for row in rows for part in row]
        assert found.dense_shape.tolist() == [len(rows), max(map(len, rows), default=0)]


@TARGETS
def test_a_template_is_filled_with_tensors(target: str) -> None:
    build = lambda x: [  # noqa: E731
        tf.strings.format("x is {} and {}", [x, tf.constant(2.5)]),
        tf.strings.format("<%>", tf.range(9), placeholder="%", summarize=2),
    ]
    found = run(target, build, ["a", "b"])
    assert found == [b'x is ["a" "b"] and 2.5', b"<[0 1 ... 7 8]>"]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=r"1 placeholder.* 2 tensor"):
        tf.strings.format("{}", [1, 2])


@TARGETS
def test_numbers_have_a_point_whatever_the_programs_language(target: str, tmp_path: Path) -> None:
    if shutil.which("localedef") is None:
        pytest.skip("there is no localedef to make another language's rules")
    made = subprocess.run(
        ["localedef", "-i", "de_DE", "-f", "UTF-8", str(tmp_path / "de_DE.UTF-8")],
        capture_output=True, check=False,
    )  # fmt: skip
    if not (tmp_path / "de_DE.UTF-8").exists():
        pytest.skip(f"localedef makes no rules here: {made.stderr!r}")
    program = (
        "import locale, graphio as tf\n"
        "locale.setlocale(locale.LC_ALL, 'de_DE.UTF-8')\n"
        "x, y = tf.placeholder(tf.string, []), tf.placeholder(tf.float64, [])\n"
        f"with tf.Session('{target}') as session:\n"
        "    found = tf.string_to_number(x), tf.as_string(y, precision=2)\n"
        "    print(*session.run(found, {x: '1.5', y: 2.25}))\n"
    )
    environment = {**os.environ, "LOCPATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, env=environment
    )
    assert ran.stdout.split() == [b"1.5", b"b'2.25'"]


# ---- CSV ----

NEEDED = np.empty(0, np.int64)  # a column without a default
LINES = ['1,2.5,a,"x, y",7', " 3 ,,b,,8", '-4,1e3,"say ""no""",ä,9']
DEFAULTS = [[0], [0.5], "none", ["?"], NEEDED]


def columns(target: str, lines: Any, defaults: Any, **options: Any) -> list[Any]:
    """The columns of lines as lists."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.string, [None])
        found = tf.decode_csv(x, defaults, **options)
        assert all(column.shape.as_list() == [None] for column in found)
        return [column.tolist() for column in session.run(found, {x: lines})]


@TARGETS
def test_lines_of_csv_become_columns(target: str) -> None:
    assert columns(target, LINES, DEFAULTS) == [
        [1, 3, -4],
        [2.5, 0.5, 1000.0],
        [b"a", b"b", b'say "no"'],
        [b"x, y", b"?", "ä".encode()],
        [7, 8, 9],
    ]
    assert columns(target, ["1;NA;3"], [[0], [2.0]], field_delim=";", na_value="NA",
                   select_cols=[0, 1]) == [[1], [2.0]]  # fmt: skip
    assert columns(target, ['"a,b'], [["x"], ["y"]], use_quote_delim=False) == [[b'"a'], [b"b"]]
    assert columns(target, [], [[0]]) == [[]]


@TARGETS
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1", "Expect 2 fields but have 1 in record 0"),
        ("1,2,3", "Expect 2 fields but have 3 in record 0"),
        ("one,2", "Field 0 in record 0 is not a valid int32: one"),
        ("1_0,2", "Field 0 in record 0 is not a valid int32: 1_0"),
        ("9" * 200_000, "Record 0 is not valid CSV: field larger than field limit"),
        ("1,", "Field 1 is required but missing in record 0!"),
    ],
)
def test_lines_that_do_not_fit_are_refused(target: str, line: str, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        columns(target, [line], [[0], NEEDED])


def test_columns_have_types_of_fields() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="is bool, expected one of float32"):
            tf.decode_csv(["1"], [[True]])
        with pytest.raises(ValueError, match="differ in length"):
            tf.decode_csv(["1"], [[1]], select_cols=[0, 1])
        with pytest.raises(ValueError, match="at most one element"):
            tf.decode_csv(["1"], [[1, 2]])


# ---- files ----


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
def test_a_file_needs_no_function_for_strings(engine: str) -> None:
    from graphio.model.export import SignatureSpec, build_model
    from graphio.schema import container

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.string, [None], name="x")
        number = tf.string_to_number(tf.strings.strip(tf.substr(x, 2, 9)))
        y = tf.strings.upper(tf.string_join(["is ", tf.as_string(number * 2.0, 2)]))
        outputs = [("y", tf.reduce_join(y, separator="; ")), ("z", y)]
        spec = SignatureSpec("run", [("x", x)], outputs)
        data = container.pack(*build_model(graph, [spec]))
        assert not graph.host_functions
    model = engines.module(engine).load(data).signature()
    for _ in range(2):
        joined, parts = model.run([np.array([b"a 1.5 ", b"b -3"], object)])
        assert joined.item() == b"IS 3.00; IS -6.00" and parts.tolist() == [b"IS 3.00", b"IS -6.00"]


@TARGETS
def test_strings_are_carried_by_loops(target: str) -> None:
    def build(x: Any) -> Any:
        grown = lambda i, text: [i + 1, tf.string_join([text, tf.as_string(i)], ",")]  # noqa: E731
        return tf.while_loop(lambda i, _: i < 4, grown, [0, x])[1]

    assert run(target, build, np.array("n", object)) == b"n,0,1,2,3"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(width=32), min_size=1, max_size=4), st.integers(-1, 20), st.booleans())
def test_both_engines_write_and_read_the_same_numbers(
    numbers: list[float], precision: int, scientific: bool
) -> None:
    engines.module("cinfer")
    x = np.array(numbers, np.float32)

    def build() -> Any:
        words = tf.as_string(tf.constant(x), precision, scientific, width=7, fill=" ")
        return [words, tf.string_to_number(words), tf.string_to_number(words, tf.float64)]

    one, two = (run(target, build) for target in ("runtime", "cinfer"))
    assert one[0].tolist() == two[0].tolist()
    for a, b in zip(one[1:], two[1:], strict=True):
        np.testing.assert_array_equal(a, b)
    if scientific and precision >= 9:
        np.testing.assert_array_equal(one[1], x)


@pytest.mark.parametrize(
    ("pos", "count"), [([1, 2, 3], [1, 2, 1]), ([[[1], [2]]], [[[1], [1]]]), ([[1, 2]], 1)]
)
@pytest.mark.parametrize("rank", [3, 10])
def test_positions_broadcast_to_matrices_at_most(pos: Any, count: Any, rank: int) -> None:
    words = np.reshape(np.array([b"abcdef"], object), [1] * rank)
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.UnimplementedError, match=f"not implemented for {rank} dim"):
            tf.substr(words, np.array(pos), np.full(np.shape(pos), count))
        assert tf.substr(words, 1, 2).shape.as_list() == [1] * rank
        positions = np.ones([1] * rank, int)
        same = tf.substr(tf.placeholder(tf.string, [None] * rank), positions, positions)
        assert same.shape.ndims == rank


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.binary(max_size=6), min_size=1, max_size=3),
    st.integers(-7, 7),
    st.integers(-1, 8),
    st.sampled_from(["BYTE", "UTF8_CHAR"]),
)
def test_both_engines_take_the_same_parts(
    given_strings: list[bytes], pos: int, count: int, unit: str
) -> None:
    engines.module("cinfer")

    def outcome(target: str) -> Any:
        build = lambda x: [  # noqa: E731
            tf.substr(x, pos, count, unit=unit), tf.strings.length(x, unit=unit),
            tf.strings.strip(x), tf.strings.lower(x), tf.reduce_join(x, separator="|"),
        ]  # fmt: skip
        try:
            return [
                string_values(part) for part in run(target, build, np.array(given_strings, object))
            ]
        except tf.errors.InvalidArgumentError as error:
            return str(error).split(" (")[0]

    one, two = outcome("runtime"), outcome("cinfer")
    assert [*map(str, one)] == [*map(str, two)]


@TARGETS
def test_plus_joins_strings_of_one_shape_or_with_a_scalar(target: str) -> None:
    joined = run(
        target,
        lambda x: [x + "!", "<" + x, tf.add(x, x), tf.constant("a") + "b"],
        np.array(["k", "é"]),
    )
    assert [string_values(part) for part in joined] == [
        [b"k!", "é!".encode()], [b"<k", "<é".encode()], [b"kk", "éé".encode()], b"ab",
    ]  # fmt: skip


def test_strings_of_other_shapes_and_numbers_are_not_joined() -> None:
    with pytest.raises(ValueError, match="must be equal, but are 2 and 3"):
        tf.constant(["a", "b"]) + tf.constant(["a", "b", "c"])
    with pytest.raises(TypeError, match="Expected string"):
        tf.constant("a") + 1
