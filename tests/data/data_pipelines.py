"""Running datasets in tests, and chains of transformations with what they are of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import graphio as tf

D = tf.data.Dataset


def plain(value: Any) -> Any:
    """A fetched element as Python's numbers and lists."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(inner) for inner in value)
    return value.tolist() if hasattr(value, "tolist") else value


def drain(make: Callable[[], Any], engine: str = "", limit: int = 1000) -> list[Any]:
    """The elements of the dataset that make gives, in a new session; and in a new graph, unless
    make gives an existing dataset."""
    with tf.Graph().as_default():
        data = make()
    with data.graph.as_default(), tf.Session(engine) as session:
        element = data.make_one_shot_iterator().get_next()
        return rest(session, element, limit)


def rest(session: Any, element: Any, limit: int = 1000) -> list[Any]:
    """The remaining elements of an iterator in a session."""
    found: list[Any] = []
    while len(found) < limit:
        try:
            found.append(plain(session.run(element)))
        except tf.errors.OutOfRangeError:
            break
    return found


def batches(values: list[Any], size: int, drop: bool) -> list[Any]:
    found = [values[i : i + size] for i in range(0, len(values), size)]
    return [b for b in found if len(b) == size or not drop]


def shards(values: list[Any], number: int, index: int) -> list[Any]:
    return values[index % number :: number]


#: name to (arguments, on a dataset of numbers, on a list); those that keep numbers as elements
STEPS: dict[str, Any] = {
    "take": (
        st.tuples(st.integers(-1, 8)),
        lambda d, n: d.take(n),
        lambda v, n: v if n < 0 else v[:n],
    ),
    "skip": (
        st.tuples(st.integers(-1, 8)),
        lambda d, n: d.skip(n),
        lambda v, n: [] if n < 0 else v[n:],
    ),
    "repeat": (st.tuples(st.integers(0, 3)), lambda d, n: d.repeat(n), lambda v, n: v * n),
    "shard": (
        st.tuples(st.integers(1, 3), st.integers(0, 2)),
        lambda d, n, i: d.shard(n, i % n),
        shards,
    ),
    "map": (st.just(()), lambda d: d.map(lambda x: x * 3 + 1), lambda v: [x * 3 + 1 for x in v]),
    "parallel": (
        st.just(()),
        lambda d: d.map(lambda x: x - 1, num_parallel_calls=3),
        lambda v: [x - 1 for x in v],
    ),
    "filter": (
        st.just(()),
        lambda d: d.filter(lambda x: tf.equal(x % 3, 1)),
        lambda v: [x for x in v if x % 3 == 1],
    ),
    "concatenate": (
        st.tuples(st.integers(0, 3)),
        lambda d, n: d.concatenate(D.range(n)),
        lambda v, n: v + list(range(n)),
    ),
    "prefetch": (st.tuples(st.integers(0, 3)), lambda d, n: d.prefetch(n), lambda v, n: v),
    "cache": (st.just(()), lambda d: d.cache(), lambda v: v),
    "flat_map": (
        st.just(()),
        lambda d: d.flat_map(lambda x: D.from_tensors(x).repeat(2)),
        lambda v: [x for x in v for _ in range(2)],
    ),
    "unbatch": (
        st.tuples(st.integers(1, 4), st.booleans()),
        lambda d, n, drop: d.batch(n, drop).unbatch(),
        lambda v, n, drop: [x for b in batches(v, n, drop) for x in b],
    ),
    "window": (
        st.tuples(st.integers(1, 4), st.booleans()),
        lambda d, n, drop: d.window(n, drop_remainder=drop).flat_map(lambda w: w),
        lambda v, n, drop: [x for b in batches(v, n, drop) for x in b],
    ),
    "shuffle of one": (st.just(()), lambda d: d.shuffle(1), lambda v: v),
}  # fmt: skip


@st.composite
def pipelines(draw: st.DrawFn) -> Any:
    steps = draw(st.lists(st.sampled_from(sorted(STEPS)), max_size=5))
    return [(step, draw(STEPS[step][0])) for step in steps]


def modelled(steps: Any, length: int) -> list[Any]:
    """The steps of the list of the first numbers."""
    values = list(range(length))
    for step, arguments in steps:
        values = STEPS[step][2](values, *arguments)
    return values


def applied(steps: Any, length: int, table: bool) -> Any:
    """The steps of a dataset of the first numbers, out of an array or not."""
    data = D.from_tensor_slices(np.arange(length)) if table else D.range(length)
    for step, arguments in steps:
        data = STEPS[step][1](data, *arguments)
    return data
