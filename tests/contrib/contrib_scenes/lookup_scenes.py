"""Scenes of tables that operations change, and of buckets by a keyed hash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import plain

#: keys, values, default value and the two reserved keys of tables
KINDS: dict[str, tuple[Any, Any, Any, Any, Any]] = {
    "words": (["a", "b", "c", "b"], [1, 2, 3, 4], -1, "", "-"),
    "numbers": ([5, 7, 9, 7], ["x", "y", "z", "w"], "none", 0, -1),
    "vectors": ([5, 7, 9, 7], np.float32([[1, 2], [3, 4], [5, 6], [7, 8]]), [0.5, -1.0], 0, -1),
}
#: keys that are vectors
WIDE = (
    np.int64([[1, 2], [3, 4], [1, 2]]), np.int64([[7], [8], [9]]), np.int64([-1]),
    np.int64([0, 0]), np.int64([-1, 0]),
)  # fmt: skip


def _dtypes(tf: Any, keys: Any, values: Any) -> tuple[Any, Any]:
    found = []
    for x in (keys, values):
        kind = np.asarray(x).dtype
        found.append(tf.string if kind.kind == "U" else tf.as_dtype(kind))
    return found[0], found[1]


def _pairs(exported: Any, reserved: tuple[Any, ...]) -> list[Any]:
    """The pairs in the order of their keys, without the reserved ones: TensorFlow gives them in the
    order of its memory, with the buckets of a dense table that are empty."""
    pairs = sorted([plain(key), plain(value)] for key, value in zip(*exported, strict=True))
    return [pair for pair in pairs if pair[0] not in [np.ravel(key).tolist() for key in reserved]]


def _steps(
    tf: Any, table: Any, keys: Any, values: Any, session: dict[str, Any], *reserved: Any
) -> list[Any]:
    """The contents of a table after each of some operations."""
    key_type, value_type = table.key_dtype, table.value_dtype
    steps = (
        None,
        table.insert(tf.constant(keys, key_type), tf.constant(values, value_type)),
        table.remove(tf.constant(keys[:1], key_type)),
        table.remove(tf.constant(keys[:1], key_type)),
        table.insert(tf.constant(keys[2:3], key_type), tf.constant(values[:1], value_type)),
    )
    given = tf.constant([[k] for k in np.asarray(keys).tolist()], key_type)
    if np.ndim(keys) == 2:
        given = tf.constant(keys[:, None], key_type)
    fetches = [table.size(), table.lookup(given), table.export()]
    found = []
    with tf.Session(**session) as run:
        for step in steps:
            if step is not None:
                run.run(step)
            size, values_now, exported = run.run(fetches)
            found.append([plain(size), plain(values_now), _pairs(exported, reserved)])
    return found


def _mutable(tf: Any, tables: Any, kind: str, session: dict[str, Any]) -> list[Any]:
    keys, values, default, _, _ = KINDS[kind]
    table = tables("MutableHashTable")(*_dtypes(tf, keys, values), default)
    return _steps(tf, table, keys, values, session)


def _dense(tf: Any, tables: Any, kind: str, session: dict[str, Any]) -> list[Any]:
    keys, values, default, empty, deleted = WIDE if kind == "wide" else KINDS[kind]
    table = tables("DenseHashTable")(*_dtypes(tf, keys, values), default, empty, deleted, 8)
    return _steps(tf, table, keys, values, session, empty, deleted)


def _buckets(tf: Any, tables: Any, key: Any, session: dict[str, Any]) -> list[Any]:
    words = tf.constant(["", "a", "hash", "a longer text of more than eight bytes"])
    spec = tables("FastHashSpec") if key is None else tables("StrongHashSpec")(key)
    table = tables("IdTableWithHashBuckets")(None, 1000, spec)
    with tf.Session(**session) as run:
        return [plain(run.run(x)) for x in (table.lookup(words), table.size())]


SCENES: dict[str, Callable[..., Any]] = {
    **{f"mutable {kind}": _mutable for kind in KINDS},
    **{f"dense {kind}": _dense for kind in ("words", "vectors", "wide")},
    "buckets": _buckets,
    "buckets of a key": _buckets,
    "buckets of large keys": _buckets,
}
KEYS = {"buckets of a key": [123, 456], "buckets of large keys": [2**63 - 5, 2**62]}


def record(tf: Any, tables: Callable[[str], Any], name: str, **session: Any) -> Any:
    """The recording of a scene; tables: from TensorFlow's name of a class to it."""
    scene = SCENES[name]
    given = KEYS.get(name) if scene is _buckets else name.split()[-1]
    with tf.Graph().as_default():
        return scene(tf, tables, given, session)
