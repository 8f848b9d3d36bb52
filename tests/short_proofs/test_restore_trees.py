"""Random trees of variables: saved, then restored under other names, shapes and dtypes, in parts.

What must come out is computed here from the rules alone, element by element.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.schema.checkpoint import write_checkpoint

Array = np.ndarray[Any, Any]

TREES = 1000
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # durability is not what is tested
KINDS = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", "complex64"]
SHAPES: list[tuple[int, ...]] = [(), (1,), (6,), (2, 3), (3, 2), (1, 6), (0, 3), (4,)]
NUMBERS = [
    0,
    1,
    -1,
    2,
    127,
    -128,
    255,
    300,
    2049,
    (1 << 24) + 1,
    1 << 40,
    (1 << 62) + 1,
    -(1 << 63),
]
REALS = [0.0, 0.5, -2.25, 1 / 3, 7e4, 1e-9, 1e39, float("inf"), float("-inf"), float("nan")]

parts = st.sampled_from(["a", "b", "w", "w1", "ema"])
names = st.lists(parts, min_size=1, max_size=3).map("/".join)
scopes = st.one_of(
    st.just("/"), st.lists(parts, min_size=1, max_size=2).map(lambda p: "/".join(p) + "/")
)


def values(kind: str, shape: tuple[int, ...]) -> st.SearchStrategy[Array]:
    dtype = np.dtype(kind)
    if dtype.kind == "b":
        elements: st.SearchStrategy[Any] = st.booleans()
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        elements = st.sampled_from([n for n in NUMBERS if info.min <= n <= info.max])
    else:
        limit = float(np.finfo(dtype).max)
        elements = st.sampled_from([x for x in REALS if not np.isfinite(x) or abs(x) <= limit])
        if dtype.kind == "c":
            elements = st.tuples(elements, elements).map(lambda pair: complex(*pair))
    size = int(np.prod(shape))
    lists = st.lists(elements, min_size=size, max_size=size)
    return lists.map(lambda found: np.array(found, dtype).reshape(shape))


arrays = st.sampled_from(KINDS).flatmap(
    lambda kind: st.sampled_from(SHAPES).flatmap(lambda shape: values(kind, shape))
)

rarely = st.sampled_from([False, False, False, False, True])
RANKS = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def fits(source: Any, target: Any) -> bool:
    """Whether a type may become another; not whether each of its values may."""
    return RANKS[np.dtype(source).kind] <= RANKS[np.dtype(target).kind]


# ---- renames, each with what it does, written without regular expressions or tables ----

Rename = Callable[[str], str]
PATTERNS: dict[tuple[str, str], Rename] = {
    ("^a/", "b/"): lambda n: "b/" + n[2:] if n.startswith("a/") else n,
    ("^ema/", ""): lambda n: n[4:] if n.startswith("ema/") else n,
    ("/w$", "/kernel"): lambda n: n[:-2] + "/kernel" if n.endswith("/w") else n,
    (r"\d", ""): lambda n: "".join(c for c in n if not c.isdigit()),
    ("(a|b)/w", r"w/\1"): lambda n: swapped(n),
}


def swapped(name: str) -> str:
    """a/w and b/w become w/a and w/b, from the left."""
    done, i = "", 0
    while i < len(name):
        if name[i : i + 3] in ("a/w", "b/w"):
            done, i = done + "w/" + name[i], i + 3
        else:
            done, i = done + name[i], i + 1
    return done


def under(scope: str, name: str) -> str:
    return name if scope == "/" else scope + name


def through_table(table: dict[str, str], name: str) -> str:
    if name in table:
        return table[name]
    pieces = name.split("/")
    for depth in range(len(pieces) - 1, -1, -1):  # the longest scope first
        scope = "/".join(pieces[:depth]) + "/"
        if scope in table:
            return under(table[scope], "/".join(pieces[depth:]))
    return name


@dataclass
class Case:
    """The stored values, the graph's variables, and the options of the restore."""

    stored: dict[str, Array]
    graph: dict[str, Array]
    options: dict[str, Any]
    rename: Rename
    wrong: bool = False  # an option is for nothing
    shard_bytes: int | None = None


@st.composite
def renames(draw: st.DrawFn, stored: list[str]) -> tuple[Any, Rename, Callable[[list[str]], bool]]:
    """An assignment_map, what it does, and whether all of it is for something in a graph."""
    how = draw(st.sampled_from(["none", "table", "patterns", "function"]))
    if how == "none":
        return None, (lambda n: n), (lambda graph: True)
    if how == "function":
        rule = draw(st.sampled_from([*PATTERNS.values()]))
        return rule, rule, (lambda graph: True)
    if how == "patterns":
        pairs = draw(st.lists(st.sampled_from([*PATTERNS]), min_size=1, max_size=3, unique=True))

        def in_turn(name: str) -> str:
            for pair in pairs:
                name = PATTERNS[pair](name)
            return name

        def all_used(graph: list[str]) -> bool:
            now = list(stored)
            for pair in pairs:
                after = [PATTERNS[pair](n) for n in now]
                if after == now:
                    return False
                now = after
            return True

        return pairs, in_turn, all_used
    inside = sorted({n[: i + 1] for n in stored for i, c in enumerate(n) if c == "/"} | {"/"})
    known_scopes = scopes if draw(rarely) else st.sampled_from(inside)
    table = draw(st.dictionaries(known_scopes, scopes, max_size=2))
    table |= draw(st.dictionaries(st.sampled_from(stored), names, max_size=2))

    def for_something(graph: list[str]) -> bool:
        def known(expected_values: str, inside: list[str]) -> bool:
            if expected_values.endswith("/"):
                return any(
                    under(expected_values, n.removeprefix(expected_values)) == n
                    or expected_values == "/"
                    for n in inside
                )
            return expected_values in inside

        return all(known(old, stored) and known(new, graph) for old, new in table.items())

    return table, (lambda n: through_table(table, n)), for_something


@st.composite
def cases(draw: st.DrawFn) -> Case:
    stored = draw(st.dictionaries(names, arrays, min_size=1, max_size=5))
    how, rename, used = draw(renames(sorted(stored)))
    graph: dict[str, Array] = {}
    for name, array in stored.items():
        target = rename(name)
        if draw(rarely) and draw(st.booleans()):
            continue  # the graph lacks it
        kind, shape = array.dtype, array.shape
        if draw(rarely):
            kind = draw(st.sampled_from([k for k in KINDS if draw(rarely) or fits(array.dtype, k)]))
        if draw(rarely):
            same = [s for s in SHAPES if int(np.prod(s)) == array.size]
            shape = draw(st.sampled_from(SHAPES if draw(rarely) else same))
        if target and "//" not in target and not target.endswith("/"):
            graph[target] = np.zeros(shape, kind)
    if not graph or draw(rarely):
        graph["new/variable"] = np.zeros(2, np.float32)
    options: dict[str, Any] = {
        "strict": draw(st.booleans()),
        "cast": not draw(rarely),
        "reshape": not draw(rarely),
        "verify": draw(st.sampled_from(["full", "lazy"])),
    }
    if how is not None:
        options["assignment_map"] = how
    wrong = not used(sorted(graph))
    if draw(rarely):
        options["ignore"] = ignored = draw(
            st.lists(st.sampled_from(["a", "b/", "new"]), max_size=2)
        )
        wrong = wrong or not all(any(n.startswith(p) for n in graph) for p in ignored)
    sizes = st.sampled_from([None, 1, 16, 100])
    return Case(stored, graph, options, rename, wrong, draw(sizes))


# ---- expected results ----


class Refused(Exception):
    """The restore has to fail."""


def one(value: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    """An element as another type, or Refused."""
    if target.kind == "c":
        part = np.dtype(np.float32 if target.itemsize == 8 else np.float64)
        if source.kind == "c":
            real = np.dtype(np.float32 if source.itemsize == 8 else np.float64)
            pair = (one(value.real, real, part), one(value.imag, real, part))
            return complex(*map(float, pair))
        return complex(float(one(value, source, part)))
    if source.kind == "f":
        if np.isfinite(value) and abs(float(value)) > float(np.finfo(target).max):
            raise Refused
        return float(value)
    whole = int(value)
    if target.kind in "iu" and source.kind != "b":
        info = np.iinfo(target)
        if not info.min <= whole <= info.max:
            raise Refused
    if target.kind == "f" and source.kind != "b":
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rounded = float(target.type(whole))
        if not np.isfinite(rounded) or int(rounded) != whole:
            raise Refused
    return whole


def converted(array: Array, target: np.dtype[Any]) -> Array:
    if array.dtype == target:
        return array
    if not fits(array.dtype, target):
        raise Refused
    found = [one(v, array.dtype, target) for v in array.reshape(-1)]
    with np.errstate(all="ignore"):
        made: Array = np.array(found).astype(target)
    return made.reshape(array.shape)


def expected(case: Case) -> dict[str, Array]:
    """Variables that get a value, or Refused."""
    if case.wrong:
        raise Refused
    options = case.options
    moved: dict[str, list[str]] = {}
    for name in case.stored:
        if case.rename(name) != name:
            moved.setdefault(case.rename(name), []).append(name)
    if any(len(moved.get(name, [])) > 1 for name in case.graph):
        raise Refused
    kept = {n for n in case.graph if any(n.startswith(p) for p in options.get("ignore", []))}
    result: dict[str, Array] = {}
    absent = 0
    for name, now in case.graph.items():
        if name in kept:
            continue
        if name in moved:
            array = case.stored[moved[name][0]]
        elif name in case.stored and case.rename(name) == name:
            array = case.stored[name]
        else:
            absent += 1
            continue
        if array.dtype != now.dtype and not options["cast"]:
            raise Refused
        made = converted(array, now.dtype)
        if made.shape != now.shape:
            if not options["reshape"] or made.size != now.size:
                raise Refused
            made = made.reshape(now.shape)
        result[name] = made
    if absent and (options["strict"] or not result):
        raise Refused
    return result


def outcome(case: Case, session: tf.Session, prefix: str) -> None:
    """Restores and compares."""
    for name, array in case.graph.items():
        tf.Variable(array, name=name)
    session.run(tf.global_variables_initializer())
    saver = tf.train.Saver()
    try:
        changed = expected(case)
    except Refused:
        changed = None
    try:
        with warnings.catch_warnings(record=True) as reported:
            warnings.simplefilter("always")
            saver.restore(session, prefix, **case.options)
        assert changed is not None, "it should have been refused"
        ignored = case.options.get("ignore", [])
        left = [n for n in case.graph if not any(n.startswith(p) for p in ignored)]
        assert bool(reported) == (len(left) > len(changed))
    except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError):
        assert changed is None, "it should have been restored"
    for name, before in case.graph.items():
        now, expected_values = session.state.get(name), (changed or {}).get(name, before)
        assert now.dtype == expected_values.dtype and now.shape == expected_values.shape
        assert now.tobytes() == expected_values.tobytes() or np.array_equal(
            now, expected_values, equal_nan=True
        )


@settings(
    max_examples=TREES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(case=cases(), target=st.sampled_from(["runtime", "cinfer"]))
def test_a_thousand_trees_are_restored_as_the_rules_say(case: Case, target: str) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        prefix = str(Path(folder) / "m")
        write_checkpoint(prefix, case.stored, shard_bytes=case.shard_bytes)
        with tf.Graph().as_default(), tf.Session(target) as session:
            outcome(case, session, prefix)
