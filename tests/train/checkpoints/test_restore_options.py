"""tf.train.Saver.restore: renames, casts, parts, what it says, and that it is all or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.model import casting
from graphio.schema import dtypes, small_types, tensors
from graphio.storage import files
from graphio.train.checkpoints import restoring

TARGETS = ["runtime", "cinfer"]
BOTH = pytest.mark.parametrize("target", TARGETS)


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def saved(folder: Path, /, **values: Any) -> str:
    """The prefix of a checkpoint; "__" in a name stands for "/"."""
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.Variable(value, name=name.replace("__", "/"))
        session.run(tf.global_variables_initializer())
        return str(tf.train.Saver().save(session, str(folder / "m")))


def started(target: str = "") -> tf.Session:
    if target == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return session


def zeros(*names: str, size: int = 1) -> list[tf.Variable]:
    return [tf.Variable(np.zeros(size, np.float32), name=name) for name in names]


def line(text: str) -> str:
    return f"(?m)^ *{re.escape(text)}$"


# ---- names ----

RENAMES: dict[str, Any] = {
    "names": {"old/a": "new/x/w", "old/b": "new/b", "c": "c"},
    "a scope, and a name in it": {"old/": "new/", "old/a": "new/x/w"},
    "scopes, the longest first": {"old/": "new/", "old/a": "new/x/w", "/": "/"},
    "regular expressions in turn": [("^old/", "new/"), (re.compile("/a$"), "/x/w")],
    "groups": [(r"^old/(?=b)", "new/"), (r"^old/(a)$", r"new/x/w")],
    "a function": lambda name: name.replace("old", "new").replace("/a", "/x/w"),
}


@BOTH
@pytest.mark.parametrize("how", RENAMES)
def test_values_find_the_variables_that_are_called_otherwise(
    how: str, target: str, tmp_path: Path
) -> None:
    a, b, c = zeros("new/x/w", "new/b", "c")
    prefix = saved(tmp_path, old__a=[1.0], old__b=[2.0], c=[3.0])
    session = started(target)
    tf.train.Saver().restore(session, prefix, assignment_map=RENAMES[how])
    assert [v.tolist() for v in session.run([a, b, c])] == [[1], [2], [3]]


def test_the_root_is_a_scope_on_either_side(tmp_path: Path) -> None:
    prefix = saved(tmp_path, model__w=[1.0], model__b=[2.0])
    w, b = zeros("w", "b")
    tf.train.Saver().restore(session := started(), prefix, assignment_map={"model/": "/"})
    assert [v.tolist() for v in session.run([w, b])] == [[1], [2]]
    with tf.Graph().as_default():
        (deep,) = zeros("outer/model/w")
        tf.train.Saver().restore(session := started(), prefix, assignment_map={"/": "outer/"})
        assert session.run(deep).tolist() == [1]


def test_what_is_renamed_goes_before_what_keeps_its_name(tmp_path: Path) -> None:
    prefix = saved(tmp_path, w=[1.0], ema__w=[2.0], v=[3.0], u=[4.0])
    w, v, u = zeros("w", "v", "u")
    session = started()
    renames = {"ema/": "/", "v": "u", "u": "v"}
    tf.train.Saver().restore(session, prefix, assignment_map=renames)
    assert [x.tolist() for x in session.run([w, v, u])] == [[2], [4], [3]]


def test_the_names_are_those_that_the_saver_uses(tmp_path: Path) -> None:
    prefix = saved(tmp_path, stored=[1.0])
    (w,) = zeros("w")
    session = started()
    tf.train.Saver({"key": w}).restore(session, prefix, assignment_map={"stored": "key"})
    assert session.run(w).tolist() == [1]


@pytest.mark.parametrize(
    ("how", "announced"),
    [
        ({"a/v": "x/w"}, "assignment_map 'a/v': 'x/w': the checkpoint has nothing called a/v "
         "(near: a/w)"),
        ({"b/": "x/"}, "assignment_map 'b/': 'x/': the checkpoint has nothing in the scope b/"),
        ({"a/w": "x/v"}, "assignment_map 'a/w': 'x/v': there is no variable called x/v "
         "(near: x/w)"),
        ({"a/": "xx/"}, "assignment_map 'a/': 'xx/': there is no variable in the scope xx/ "
         "(near: x/)"),
        ({"a/": "x/w"}, "assignment_map 'a/': 'x/w': a scope goes to a scope; both end with '/', "
         "or none"),
        ([("b", "x")], "assignment_map: 'b' is found in no name of the checkpoint"),
        ({"a/w": "x/w", "c/w": "x/w"}, "assignment_map: a/w and c/w are both for x/w"),
        ([("^[ac]/", "x/")], "assignment_map: a/w and c/w are both for x/w"),
        (lambda name: "x/w", "assignment_map: a/w and c/w are both for x/w"),
    ],
)  # fmt: skip
def test_an_entry_that_is_for_nothing_is_an_error(how: Any, announced: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, a__w=[1.0], c__w=[2.0])
    (w,) = zeros("x/w")
    session = started()
    with pytest.raises((tf.errors.NotFoundError, tf.errors.InvalidArgumentError)) as error:
        tf.train.Saver().restore(session, prefix, assignment_map=how)
    assert re.search(line(announced), str(error.value)), error.value
    assert session.run(w).tolist() == [0]


@pytest.mark.parametrize(
    ("options", "kind", "announced"),
    [
        ({"assignment_map": 3}, TypeError, "a dict of names, a list of .* or a function, not 3"),
        ({"assignment_map": "w"}, TypeError, "not 'w'"),
        ({"assignment_map": {"w": 3}}, TypeError, "maps names to names, not 'w' to 3"),
        ({"assignment_map": ["w"]}, TypeError, r"\(regular expression, replacement\), not 'w'"),
        ({"assignment_map": [("(", "")]}, ValueError, r"'\(' is not a regular expression: missing"),
        ({"assignment_map": [("w", r"\1")]}, ValueError, r"the replacement '\\\\1': invalid group"),
        ({"assignment_map": lambda name: 1}, TypeError, "gave 1 for 'w'; give a name, or None"),
        ({"ignore": "["}, ValueError, r"ignore: '\[' is not a regular expression"),
        ({"ignore": [3]}, TypeError, "ignore: 3 is not a regular expression"),
        ({"verify": "some"}, ValueError, "verify is one of full, lazy, meta"),
    ],
)
def test_options_that_are_none_are_refused_with_words(
    options: dict[str, Any], kind: type[Exception], announced: str, tmp_path: Path
) -> None:
    zeros("w")
    with pytest.raises(kind, match=announced):
        tf.train.Saver().restore(started(), saved(tmp_path, w=[1.0]), **options)


# ---- parts ----


def test_ignored_variables_streams_and_iterators_stay_as_they_are(tmp_path: Path) -> None:
    w, head = zeros("body/w", "head/w", size=2)
    noise = tf.random_uniform([3], seed=1, name="noise")
    numbers = tf.data.Dataset.range(9).make_one_shot_iterator().get_next()
    saver, session = tf.train.Saver(), started()
    session.run([noise, numbers])
    prefix = saver.save(session, str(tmp_path / "m"))
    session.run([noise, numbers, w.assign([1, 1]), head.assign([2, 2])])
    with tf.Session() as other:
        expected = [other.run([noise, numbers]) for _ in range(3)][2]
    saver.restore(session, prefix, ignore=["head/", re.compile("noise"), "OneShot|Iterator"])
    assert [v.tolist() for v in session.run([w, head])] == [[0, 0], [2, 2]]
    drawn, number = session.run([noise, numbers])
    np.testing.assert_array_equal(drawn, expected[0])
    assert number == expected[1]
    for useless in ("hed", "w", "ead"):  # from the beginning of a name
        announced = f"ignore: '{useless}' matches no variable"
        with pytest.raises(tf.errors.InvalidArgumentError, match=announced):
            saver.restore(session, prefix, ignore=["head", useless])


@BOTH
def test_what_is_there_is_restored_when_not_strict(target: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=[1.0], other=[2.0])
    v, new, newer = zeros("v", "new", "newer")
    session = started(target)
    saver = tf.train.Saver()
    announced = r"2 of 3 variables .*m' and stay as they are: new, newer"
    with pytest.warns(UserWarning, match=announced) as reported:
        saver.restore(session, prefix, strict=False)
    assert reported[0].filename == __file__
    assert [x.tolist() for x in session.run([v, new, newer])] == [[1], [0], [0]]
    with pytest.warns(UserWarning, match="2 of 3"), tf.Session(target) as empty:
        saver.restore(empty, prefix, strict=False)
        names = tf.report_uninitialized_variables()
        assert empty.run(names).tolist() == [b"new", b"newer"]


def test_a_restore_that_would_restore_nothing_is_an_error_even_if_not_strict(
    tmp_path: Path,
) -> None:
    zeros("v")
    with pytest.raises(tf.errors.NotFoundError, match="Key v not found"):
        tf.train.Saver().restore(started(), saved(tmp_path, w=[1.0]), strict=False)


def test_what_does_not_fit_is_an_error_even_if_not_strict(tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=[1.0, 2.0], w=[1.0])
    v, _, _ = zeros("v", "w", "x")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"v: Assign requires shapes"):
        tf.train.Saver().restore(session := started(), prefix, strict=False)
    with pytest.warns(UserWarning, match="1 of 2"):
        tf.train.Saver().restore(session, prefix, strict=False, ignore="v")
    assert session.run(v).tolist() == [0]


# ---- dtypes and shapes ----

KINDS: dict[str, Any] = {
    "bool": [True, False], "int8": [-128, 127], "uint16": [0, 65535], "int64": [-3, 1 << 40],
    "float16": [0.5, -2.0], "float32": [1e-3, np.inf], "float64": [1 / 3, np.nan],
    "complex64": [1 + 2j, -1j], "string": [b"a", b"bc"],
}  # fmt: skip
ORDER = ["bool", "int", "float", "complex"]


def rank(name: str) -> int:
    return next((i for i, kind in enumerate(ORDER) if kind in name), -1)


@pytest.mark.parametrize("expected_values", KINDS)
@pytest.mark.parametrize("stored", KINDS)
def test_a_cast_goes_upwards_only(stored: str, expected_values: str) -> None:
    one, other = dtypes.BY_NAME[stored], dtypes.BY_NAME[expected_values]
    upwards = rank(stored) >= 0 and rank(expected_values) >= rank(stored)
    assert casting.castable(one.number, other.number) == (upwards or stored == expected_values)
    if not upwards:
        return
    array = np.array([0, 1], one.numpy)
    made = casting.cast(array, other.number)
    assert made.dtype == other.numpy and made.tolist() == [0, 1]


@BOTH
@pytest.mark.parametrize(
    ("stored", "expected_values"),
    [
        (np.float64([1 / 3, -2.5]), np.float32([1 / 3, -2.5])),
        (np.int64([-5, 1 << 30]), np.float32([-5, 1 << 30])),
        (np.int64([7, -8]), np.int8([7, -8])),
        (np.array([True, False]), np.float16([1, 0])),
        (np.float64([2, 3]), np.complex64([2, 3])),
        (np.float32([np.nan, np.inf]), np.float16([np.nan, np.inf])),
    ],
    ids=lambda array: str(array.dtype),
)
def test_a_cast_restores_values_of_another_type(
    stored: Any, expected_values: Any, target: str, tmp_path: Path
) -> None:
    prefix = saved(tmp_path, v=stored)
    v = tf.Variable(np.zeros_like(expected_values), name="v")
    session = started(target)
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.train.Saver().restore(session, prefix)
    assert (
        f"v: the variable has dtype {expected_values.dtype}, the checkpoint {stored.dtype}"
        in str(error.value)
    )
    assert "cast=True" in str(error.value)
    tf.train.Saver().restore(session, prefix, cast=True)
    found = session.run(v)
    assert found.dtype == expected_values.dtype
    np.testing.assert_array_equal(found, expected_values)


@pytest.mark.parametrize(
    ("stored", "expected_values", "announced"),
    [
        ([300, 1], np.int8, "300 is beyond the range of int8, -128 to 127"),
        ([-1], np.uint64, "-1 is beyond the range of uint64"),
        ([(1 << 24) + 1], np.float32, "float32 does not hold 16777217 exactly"),
        ([1e300], np.float32, "1e+300 is beyond the range of float32"),
        (np.float32([7e4]), np.float16, "70000.0 is beyond the range of float16"),
        ([1e39j], np.complex64, "1e+39 is beyond the range of float32"),
    ],
)
def test_a_cast_that_would_lose_a_value_is_refused(
    stored: Any, expected_values: Any, announced: str, tmp_path: Path
) -> None:
    prefix = saved(tmp_path, v=np.asarray(stored), w=np.int64(1 << 62))
    v = tf.Variable(np.zeros(len(stored), expected_values), name="v")
    w = tf.Variable(np.int16(5), name="w")
    session = started()
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        tf.train.Saver().restore(session, prefix, cast=True)
    assert f"v: cast: {announced}" in str(error.value)
    assert "w: cast: 4611686018427387904 is beyond the range of int16" in str(error.value)
    assert not session.run(v).any() and session.run(w) == 5


def of_type(name: str, values: list[Any]) -> Any:
    return np.array(values).astype(small_types.numpy_dtype(dtypes.BY_NAME[name]))


@pytest.mark.parametrize(
    ("stored", "values", "expected_values", "expected"),
    [
        ("float64", [1.5, 3.0], "bfloat16", [1.5, 3.0]),
        ("bfloat16", [1.5, np.nan], "float32", [1.5, np.nan]),
        ("float32", [448.0, np.nan], "float8e4m3fn", [448.0, np.nan]),
        ("float8e4m3fn", [448.0, -0.5], "float16", [448.0, -0.5]),
        ("int4", [7, -8], "int32", [7, -8]),
        ("int4", [7, -8], "float8e5m2", [7, -8]),
        ("int64", [-8, 7], "int4", [-8, 7]),
        ("bool", [True, False], "uint2", [1, 0]),
        ("complex128", [1 + 2j], "complex64", [1 + 2j]),
        ("int32", [5], "complex64", [5]),
        ("int8", [], "float32", []),
        ("float64", [1.0, 449.0], "float8e4m3fn", "449.0 is beyond the range of float8e4m3fn, 448"),
        ("float32", [1.0, np.inf], "float8e4m3fn", "inf cannot be represented in float8e4m3fn"),
        ("float32", [np.nan], "float4e2m1", "nan cannot be represented in float4e2m1"),
        ("float64", [7.0], "float4e2m1", "7.0 is beyond the range of float4e2m1, 6"),
        ("int32", [257], "bfloat16", "bfloat16 does not hold 257 exactly"),
        ("int8", [8], "int4", "8 is beyond the range of int4, -8 to 7"),
        ("int4", [-1], "uint4", "-1 is beyond the range of uint4, 0 to 15"),
        ("int64", [-(1 << 63)], "float16", "float16 does not hold -9223372036854775808 exactly"),
        ("complex128", [1e300j], "complex64", "1e+300 is beyond the range of float32"),
    ],
)
def test_small_types_are_cast_by_the_same_rules(
    stored: str, values: list[Any], expected_values: str, expected: Any
) -> None:
    array, number = of_type(stored, values), dtypes.BY_NAME[expected_values].number
    assert casting.castable(dtypes.BY_NAME[stored].number, number)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=re.escape(expected)):
            casting.cast(array, number)
        return
    made = casting.cast(array, number)
    assert made.dtype == small_types.numpy_dtype(dtypes.BY_NAME[expected_values])
    np.testing.assert_array_equal(made.astype(complex), np.array(expected, complex))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("expected_values", ["int8", "float16", "float64", "complex64"])
@pytest.mark.parametrize("stored", ["bool", "uint8", "int64", "float16"])
def test_scalars_are_cast_without_a_word(stored: str, expected_values: str) -> None:
    one, other = dtypes.BY_NAME[stored], dtypes.BY_NAME[expected_values]
    if casting.castable(one.number, other.number):
        for value in (0, 1):
            made = casting.cast(np.array(value, one.numpy), other.number)
            assert made.shape == () and made == value


@pytest.mark.parametrize(
    ("stored", "expected_values"),
    [
        ("float32", "float8e8m0"),
        ("string", "float32"),
        ("float32", "string"),
        ("complex64", "int8"),
    ],
)
def test_some_types_are_never_cast(stored: str, expected_values: str) -> None:
    assert not casting.castable(
        dtypes.BY_NAME[stored].number, dtypes.BY_NAME[expected_values].number
    )
    assert not casting.castable(0, dtypes.BY_NAME[expected_values].number)


@pytest.mark.parametrize(("stored", "expected_values"), [([1.5], np.int32), ([2], np.bool_)])
def test_a_cast_never_goes_downwards(stored: Any, expected_values: Any, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=stored)
    tf.Variable(np.zeros(1, expected_values), name="v")
    with pytest.raises(tf.errors.InvalidArgumentError, match="v: the variable has dtype") as error:
        tf.train.Saver().restore(started(), prefix, cast=True)
    assert "cast=True" not in str(error.value)


@BOTH
def test_another_shape_of_as_many_elements_is_taken_when_requested(
    target: str, tmp_path: Path
) -> None:
    prefix = saved(tmp_path, v=[1.0, 2.0], w=3.0)
    v = tf.Variable([[0.0], [0.0]], name="v")
    w = tf.Variable([[0.0]], name="w")
    session = started(target)
    with pytest.raises(tf.errors.InvalidArgumentError, match="reshape=True accepts") as error:
        tf.train.Saver().restore(session, prefix)
    assert "strict=False" not in str(error.value) and "cast=True" not in str(error.value)
    tf.train.Saver().restore(session, prefix, reshape=True)
    assert session.run(v).tolist() == [[1], [2]] and session.run(w).tolist() == [[3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Assign requires"):
        tf.train.Saver(reshape=True).restore(session, prefix, reshape=False)
    tf.train.Saver(reshape=True).restore(session, prefix)


# ---- messages ----


def test_all_that_is_wrong_is_reported_at_once(tmp_path: Path) -> None:
    prefix = saved(tmp_path, weights=[1.0], v=[1.0, 2.0], step=np.int64(3), more=[1.0])
    made = zeros("weight", "v", "step", "far_away")
    session = started()
    before = session.run(made)
    with pytest.raises(tf.errors.NotFoundError) as error:
        tf.train.Saver().restore(session, prefix, ignore=["none"], assignment_map={"u": "v"})
    text = str(error.value)
    assert text.startswith(
        "Restoring from checkpoint failed. This is most likely due to a Variable"
    )
    for announced in [
        "Key weight not found in checkpoint (it has weights)",
        "Key far_away not found in checkpoint",
        "step: the variable has dtype float32, the checkpoint int64",
        "v: Assign requires shapes of both tensors to match. lhs shape= [1] rhs shape= [2]",
        "step: Assign requires shapes of both tensors to match. lhs shape= [1] rhs shape= []",
        "ignore: 'none' matches no variable",
        "assignment_map 'u': 'v': the checkpoint has nothing called u",
        "not restored of the checkpoint: more, weights",
        "strict=False restores what is there and leaves the rest as it is",
        "cast=True converts values of another dtype",
        "reshape=True accepts another shape of as many elements",
        "ignore=['step', ...] leaves variables as they are",
    ]:
        assert re.search(line(announced), text), (announced, text)
    for one, other in zip(session.run(made), before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("stored", "expected_values", "announced"),
    [
        (["model__a__w", "model__b"], ["a/w", "b"], "assignment_map={'model/': '/'} finds 2 of"),
        (["a__w", "b"], ["net/a/w", "net/b"], "assignment_map={'/': 'net/'} finds 2 of the 2"),
        (["old__a", "old__b", "c"], ["new/a", "new/b", "c"],
         "assignment_map={'old/': 'new/'} finds 2 of the 2"),
    ],
)  # fmt: skip
def test_the_scope_that_was_meant_is_named_and_helps(
    stored: list[str], expected_values: list[str], announced: str, tmp_path: Path
) -> None:
    prefix = saved(tmp_path, **{name: [1.0] for name in stored})
    made = zeros(*expected_values)
    with pytest.raises(tf.errors.NotFoundError) as error:
        tf.train.Saver().restore(session := started(), prefix)
    assert announced in str(error.value)
    found = re.search(r"assignment_map=(\{.*\}) finds", str(error.value))
    assert found is not None
    old, new = re.findall("'([^']*)'", found[1])
    tf.train.Saver().restore(session, prefix, assignment_map={old: new})
    assert np.array(session.run(made)).tolist() == [[1]] * len(expected_values)


def test_the_scope_that_finds_most_is_named(tmp_path: Path) -> None:
    names = ["a__x", "a__y", "b__z", "b__u", "a__v"]
    prefix = saved(tmp_path, **{name: [1.0] for name in names})
    zeros("c/z", "x", "y", "v", "d/u")
    with pytest.raises(tf.errors.NotFoundError) as error:
        tf.train.Saver().restore(started(), prefix)
    assert "assignment_map={'a/': '/'} finds 3 of the 5 that are missing" in str(error.value)


def test_names_with_dots_are_recognised() -> None:
    made = zeros("layer/0/w", "layer/1/w")
    stored = {"layer.0.w": np.float32([1]), "layer.1.w": np.float32([2])}
    with pytest.raises(tf.errors.NotFoundError, match=r"\[\(r'\\.', '/'\)\] finds 2 of the 2"):
        tf.train.Saver().restore(session := started(), stored)
    tf.train.Saver().restore(session, stored, assignment_map=[(r"\.", "/")])
    assert [v.tolist() for v in session.run(made)] == [[1], [2]]


# ---- all or nothing ----


class Counter:
    """State of a program: it refuses what ends with a mark."""

    def __init__(self, state: bytes = b"") -> None:
        self.state = state

    def get_state(self) -> bytes:
        return self.state

    def set_state(self, state: bytes) -> None:
        self.state = state
        if state.endswith(b"!"):
            raise RuntimeError("refused")


@BOTH
def test_everything_is_put_back_when_the_last_part_fails(target: str, tmp_path: Path) -> None:
    (v,) = zeros("v")
    noise = tf.random_uniform([3], seed=1)
    iterators = [tf.data.Dataset.range(9).make_one_shot_iterator() for _ in range(2)]
    numbers = [iterator.get_next() for iterator in iterators]
    good, bad = Counter(b"one"), Counter(b"two!")
    saver = tf.train.Saver(objects={"good": good, "strict": bad})
    session = started(target)
    session.run([v.assign([1]), noise, numbers[1]])
    prefix = saver.save(session, str(tmp_path / "m"))
    good.state, bad.state = b"later", b"too"
    session.run([v.assign([2]), noise, *numbers])
    expected = [3.0, 1, 2]
    with pytest.raises(RuntimeError, match="refused"):
        saver.restore(session, prefix)
    assert (good.state, bad.state) == (b"later", b"too")
    found = session.run([v + 1, *numbers])
    assert [float(np.squeeze(x)) for x in found] == expected


@BOTH
def test_all_is_put_back_when_assigning_fails(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (v,) = zeros("v")
    number = tf.data.Dataset.range(9).make_one_shot_iterator().get_next()
    fresh = tf.data.Dataset.range(5).make_one_shot_iterator().get_next()
    mine = Counter(b"saved")
    saver = tf.train.Saver(objects={"mine": mine})
    earlier = started(target)
    earlier.run([number, fresh])
    prefix = saver.save(earlier, str(tmp_path / "m"))
    session = started(target)
    for _ in range(3):
        session.run(number)
    mine.state = b"now"

    def no_memory(*_: Any, **__: Any) -> None:
        raise tf.errors.ResourceExhaustedError(message="no memory")

    monkeypatch.setattr(type(session.state), "assign", no_memory)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        saver.restore(session, prefix)
    assert mine.state == b"now"
    assert session.run(number) == 3 and session.run(fresh) == 0
    assert session.run(v).tolist() == [0]


@BOTH
def test_many_values_are_assigned_together_or_not_at_all(target: str) -> None:
    v, w = zeros("v", "w")
    noise = tf.random_uniform([2], seed=3)
    session = started(target)
    session.run(noise)
    (name,) = session.state.generators()
    positions = session.state.generators()
    for values, kind in [
        ({"v": np.float32([1]), "w": np.float32([1, 2])}, tf.errors.InvalidArgumentError),
        ({"v": np.float32([1]), "w": np.float64([1])}, tf.errors.InvalidArgumentError),
        ({"v": np.float32([1]), "none": np.float32([1])}, tf.errors.NotFoundError),
    ]:
        with pytest.raises(kind):
            session.state.assign(values, {name: (1, 2)})
        assert session.run(v).tolist() == [0] and session.run(w).tolist() == [0]
        assert session.state.generators() == positions
    session.state.assign(
        {"v": np.float32([1]), "w": np.float32([2])}, {name: (1, 2), "new": (3, 4)}
    )
    assert session.run(v).tolist() == [1] and session.run(w).tolist() == [2]
    assert session.state.generators() == {name: (1, 2), "new": (3, 4)}


def damage(folder: Path, value: np.ndarray[Any, Any]) -> None:
    """Turns a bit of a value in the only data file there."""
    (shard,) = folder.glob("*.safetensors")
    data = bytearray(shard.read_bytes())
    data[data.index(value.tobytes()) + value.nbytes - 1] ^= 1
    shard.write_bytes(data)


@BOTH
def test_lazy_checks_what_is_restored_and_full_checks_all(target: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=np.full(100, 3, np.float32), w=np.full(100, 4, np.float32))
    (v,) = zeros("v", size=100)
    damage(tmp_path, np.full(100, 4, np.float32))
    session = started(target)
    with pytest.raises(tf.errors.DataLossError, match="variable 'w'"):
        tf.train.Saver().restore(session, prefix)
    assert not session.run(v).any()
    tf.train.Saver().restore(session, prefix, verify="lazy")
    assert session.run(v).all()
    damage(tmp_path, np.full(100, 3, np.float32))
    tf.train.Saver().restore(session, prefix, verify="lazy")
    with pytest.raises(tf.errors.DataLossError, match="variable 'v'"):  # when it is first used
        session.run(v)


@BOTH
def test_damage_is_found_before_a_number_of_it_is_used(target: str, tmp_path: Path) -> None:
    values = {name: np.arange(i, i + 64, dtype=np.float32) for i, name in enumerate(["v", "w"])}
    prefix = saved(tmp_path, **values)
    v, w = zeros("v", "w", size=64)
    later = tf.identity(w)
    change = v.assign_add(w)
    damage(tmp_path, values["w"])
    session = started(target)
    saver = tf.train.Saver()
    saver.restore(session, prefix, verify="lazy")
    announced = f"the checksum of variable 'w' in checkpoint '{prefix}' does not match"
    uses: list[Callable[[], Any]] = [
        lambda: session.run(later),
        lambda: session.run(change),
        lambda: session.state.get("w"),
        lambda: session.state.views(["w"]),
        lambda: saver.save(session, str(tmp_path / "other")),
    ]
    for use in uses:
        with pytest.raises(tf.errors.DataLossError, match=re.escape(announced)):
            use()
        assert session.run(v).tolist() == values["v"].tolist()
    assert not list(tmp_path.glob("other*"))
    w.load(np.ones(64, np.float32), session)
    session.run(change)
    assert session.run(v).tolist() == (values["v"] + 1).tolist()
    saver.restore(tf.Session(target), saver.save(session, str(tmp_path / "other")))


@BOTH
def test_damage_is_found_in_a_branch_and_in_a_loop(target: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=np.full(64, 2, np.float32))
    (v,) = zeros("v", size=64)
    yes = tf.placeholder(tf.bool, [])
    branch = tf.cond(yes, lambda: v * 2.0, lambda: v + 1.0)
    loop = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x + v), [0, tf.zeros([64])])[1]
    session = started(target)
    tf.train.Saver().restore(session, prefix, verify="lazy")
    assert session.run([branch, loop], {yes: True})[1].tolist() == [4] * 64
    damage(tmp_path, np.full(64, 2, np.float32))
    tf.train.Saver().restore(session, prefix, verify="lazy")
    for value in (branch, loop):
        with pytest.raises(tf.errors.DataLossError, match="variable 'v'"):
            session.run(value, {yes: True})


@BOTH
def test_lazy_copies_nothing(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [np.float32, np.float64, np.int64, np.uint8, np.bool_, np.float16]
    values: dict[str, Any] = {np.dtype(kind).name: np.arange(70).astype(kind) for kind in kinds}
    with tf.Graph().as_default(), tf.Session() as before:
        for name, value in values.items():
            tf.Variable(value, name=name)
        before.run(tf.global_variables_initializer())
        prefix = tf.train.Saver(shard_bytes=1).save(before, str(tmp_path / "m"))
    variables = [tf.Variable(np.zeros_like(value), name=name) for name, value in values.items()]
    session = started(target)

    def never(*_: Any) -> Any:
        raise AssertionError("the bytes were read")

    with monkeypatch.context() as patched:
        patched.setattr(tensors.Stored, "array", never)
        patched.setattr(files.OpenFile, "read_into", _only_headers(files.OpenFile.read_into))
        tf.train.Saver().restore(session, prefix, verify="lazy")
    for file in tmp_path.glob("m*"):
        file.unlink()
    found = session.run(variables)
    assert [x.tolist() for x in found] == [x.tolist() for x in values.values()]
    session.run(tf.global_variables_initializer())
    assert not any(x.any() for x in session.run(variables))


def _only_headers(read_into: Callable[..., None]) -> Callable[..., None]:
    def read(self: Any, offset: int, target: memoryview) -> None:
        assert offset == 0, "a value was read"
        read_into(self, offset, target)

    return read


@BOTH
def test_a_value_may_be_restored_lazily_into_two_variables(target: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=np.full(16, 2, np.float32))
    v, w = zeros("v", "w", size=16)
    session = started(target)
    both = tf.train.Saver({"v": v}), tf.train.Saver({"v": w})
    for saver in both:
        saver.restore(session, prefix, verify="lazy")
    for _ in range(3):
        session.run(v.assign_add(np.ones(16, np.float32)))
    assert session.run(v).tolist() == [5] * 16 and session.run(w).tolist() == [2] * 16


@BOTH
def test_training_goes_on_from_mapped_files(target: str, tmp_path: Path) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.Variable(np.ones((3, 2), np.float32), name="w")
    loss = tf.reduce_sum(tf.square(tf.matmul(x, w) - 1.0))
    step = tf.train.AdamOptimizer(0.1).minimize(loss)
    saver, feed = tf.train.Saver(), {x: np.float32([[1, 2, 3], [4, 5, 6]])}
    session = started(target)
    for _ in range(2):
        session.run(step, feed)
    prefix = saver.save(session, str(tmp_path / "m"))
    ends = []
    for verify in ("full", "lazy"):
        other = started(target)
        saver.restore(other, prefix, verify=verify)
        for _ in range(3):
            other.run(step, feed)
        ends.append(other.run(tf.global_variables()))
    for full, lazy in zip(*ends, strict=True):
        assert full.tobytes() == lazy.tobytes()


@BOTH
def test_full_checks_the_graph_file_and_lazy_leaves_it_alone(target: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=[1.0])
    (v,) = zeros("v")
    (tmp_path / "m.meta").write_bytes(b"damaged")
    session = started(target)
    with pytest.raises(tf.errors.DataLossError, match="graph file"):
        tf.train.Saver().restore(session, prefix)
    assert session.run(v).tolist() == [0]
    tf.train.Saver().restore(session, prefix, verify="lazy")
    assert session.run(v).tolist() == [1]


@BOTH
def test_meta_trusts_the_values(target: str, tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=np.float32([1, 2]), w=np.float64([3]))
    v, w = tf.Variable(np.zeros(2, np.float32), name="v"), zeros("w")[0]
    (shard,) = tmp_path.glob("*.safetensors")
    data = bytearray(shard.read_bytes())
    data[data.index(np.float32([1, 2]).tobytes())] ^= 1
    shard.write_bytes(data)
    session = started(target)
    tf.train.Saver().restore(session, prefix, verify="meta", cast=True)
    assert session.run(v)[0] == np.nextafter(np.float32(1), np.float32(2))
    assert session.run(w).tolist() == [3]
    tf.train.Saver([v]).restore(session, prefix, verify="meta")
    assert session.run(v)[1] == 2
    data[20] ^= 1  # of the header
    shard.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError, match="header"):
        tf.train.Saver([v]).restore(session, prefix, verify="meta")


def test_objects_that_a_checkpoint_lacks_are_named_or_stay_as_they_are(tmp_path: Path) -> None:
    (v,) = zeros("v")
    prefix = saved(tmp_path, v=[1.0])
    mine = Counter(b"mine")
    saver = tf.train.Saver(objects={"mine": mine})
    session = started()
    with pytest.raises(tf.errors.NotFoundError, match="no state of the objects mine"):
        saver.restore(session, prefix)
    assert session.run(v).tolist() == [0]
    with pytest.warns(UserWarning, match="stay as they are: mine"):
        saver.restore(session, prefix, strict=False)
    assert session.run(v).tolist() == [1] and mine.state == b"mine"
    saver.restore(session, prefix, ignore="mine")


def test_a_save_that_comes_in_between_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (v,) = zeros("v")
    saver, session = tf.train.Saver(), started()
    prefix = saver.save(session, str(tmp_path / "m"))
    opened, calls = restoring.open_source, []

    def overtaken(*given: Any, **options: Any) -> Any:
        source = opened(*given, **options)
        if not calls:
            session.run(v.assign([5]))
            saver.save(session, prefix)
            (shard,) = tmp_path.glob("*.safetensors")
            assert shard.name != source.checkpoint.index.shard[0].file
            source.checkpoint.read = lost
        calls.append(1)
        return source

    def lost(*_: Any) -> None:
        raise tf.errors.DataLossError(message="the file was replaced")

    monkeypatch.setattr(restoring, "open_source", overtaken)
    saver.restore(session, prefix)
    assert session.run(v).tolist() == [5] and len(calls) == 2


def test_iterators_of_other_pipelines_are_reported(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        (v,) = zeros("v")
        number = tf.data.Dataset.range(9).make_one_shot_iterator().get_next()
        session.run([v.initializer, number])
        prefix = tf.train.Saver().save(session, str(tmp_path / "m"))
    zeros("v")
    number = tf.data.Dataset.range(9).map(lambda n: n + 1).make_one_shot_iterator().get_next()
    session = started()
    with pytest.warns(UserWarning, match="the iterators OneShotIterator are not where") as reported:
        tf.train.Saver().restore(session, prefix)
    assert reported[0].filename == __file__
    assert session.run(number) == 1


# ---- other files ----


def arrays_in(folder: Path, kind: str, values: dict[str, Any]) -> Any:
    if kind == "a dict":
        return values
    if kind == "npz":
        np.savez(folder / "x.npz", **values)
        return folder / "x.npz"
    import safetensors.numpy

    safetensors.numpy.save_file(values, str(folder / "x.safetensors"))
    return folder / "x.safetensors"


@BOTH
@pytest.mark.parametrize("kind", ["a dict", "npz", "safetensors"])
def test_files_of_others_are_restored_with_the_same_options(
    kind: str, target: str, tmp_path: Path
) -> None:
    a, b, head = zeros("net/a", "net/b", "head", size=2)
    values = {"a": np.float64([1, 2]), "b": np.float64([[3], [4]])}
    source = arrays_in(tmp_path, kind, values)
    session = started(target)
    saver = tf.train.Saver()
    options: dict[str, Any] = {"assignment_map": {"/": "net/"}, "cast": True, "reshape": True}
    saver.restore(session, source, ignore="head", **options)
    assert [v.tolist() for v in session.run([a, b, head])] == [[1, 2], [3, 4], [0, 0]]
    with pytest.raises(tf.errors.NotFoundError, match="Key head not found"):
        saver.restore(session, source, **options)


def test_initial_values_come_from_files_of_others_too(tmp_path: Path) -> None:
    path = arrays_in(tmp_path, "safetensors", {"a": np.float64([1, 2]), "n": np.float64([3])})
    with tf.variable_scope("net"):
        a = tf.get_variable("a", [2])
    n = tf.get_variable("n", [1], tf.int32)
    tf.train.init_from_checkpoint(path, {"a": "net/a"})
    assert started().run(a).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"Dtype of variable n:0 \(int32\) cannot hold .*float64"):
        tf.train.init_from_checkpoint(path, {"n": n})
    tf.train.warm_start(path, "net/a", var_name_to_prev_var_name={"net/a": "a"})
    assert started().run(a).tolist() == [1, 2]
    assert tf.train.list_variables(path) == [("a", [2]), ("n", [1])]
    assert tf.train.load_variable(path, "n").tolist() == [3]


def test_initial_values_that_do_not_fit_are_all_named() -> None:
    values = {"a/w": np.float32([1, 2]), "a/n": np.float32([3]), "a/form": np.float32([0, 0, 0])}
    with tf.variable_scope("net"):
        wide, *_ = [tf.get_variable(name, [1], tf.int32) for name in ("wide", "n", "form", "new")]
    with pytest.raises(ValueError) as error:
        tf.train.init_from_checkpoint(values, {"a/": "net/", "a/w": wide})
    shape = "Shape of variable net/{}:0 ((1,)) doesn't match with shape of tensor a/{} ([{}])"
    kind = "Dtype of variable net/{}:0 (int32) cannot hold that of tensor a/{} (float32)"
    found = str(error.value).splitlines()
    assert [text.removesuffix(" from checkpoint reader.") for text in found[:-1]] == [
        shape.format("wide", "w", 2),
        kind.format("wide", "w"),
        kind.format("n", "n"),
        shape.format("form", "form", 3),
        kind.format("form", "form"),
    ]
    assert found[-1].startswith("Tensor a/new is not found in the given arrays checkpoint")
    assert "for net/new:0 (near: a/w, a/n)" in found[-1]


def test_loaded_values_are_initial_values(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", w=np.float32([[1, 2, 3]]))
    w = tf.get_variable("w", [1, 3])
    tf.train.init_from_checkpoint(tf.train.load_values(tmp_path / "x.npz"), {"w": w})
    assert started().run(w).tolist() == [[1, 2, 3]]


def rename_by_function(name: str) -> str | None:
    return None if name == "old" else name


def test_a_function_leaves_values_out(tmp_path: Path) -> None:
    prefix = saved(tmp_path, old=[1.0], v=[2.0])
    v, old = zeros("v", "old")
    function: Callable[[str], str | None] = rename_by_function
    with pytest.warns(UserWarning, match="1 of 2"):
        tf.train.Saver().restore(session := started(), prefix, strict=False,
                                 assignment_map=function)  # fmt: skip
    assert [x.tolist() for x in session.run([v, old])] == [[2], [0]]


def test_advice_is_none_that_was_taken_already(tmp_path: Path) -> None:
    prefix = saved(tmp_path, v=np.float32([1.5]))
    w, v = tf.Variable([0.0], name="w"), tf.Variable([0], name="v")
    session = started("")
    with pytest.raises(tf.errors.NotFoundError, match="of these variables there is none") as error:
        tf.train.Saver([w]).restore(session, prefix, strict=False)
    assert "strict=False restores what is there" not in str(error.value)
    with pytest.raises(tf.errors.InvalidArgumentError, match="no float to int"):
        tf.train.Saver([v]).restore(session, prefix, cast=True)
