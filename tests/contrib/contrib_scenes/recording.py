"""Runs scenes, and records variables, values and slopes."""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
#: the modules of scenes, whose SCENES are functions by name
MODULES = (
    *("rnn", "seq2seq", "legacy_seq2seq", "crf", "cudnn_rnn", "bijectors", "multivariate"),
    "learn",
)


def scenes(module: str) -> dict[str, Callable[[Any, Any], Any]]:
    """The scenes of a module by name."""
    found: dict[str, Callable[[Any, Any], Any]] = importlib.import_module(
        f"contrib_scenes.{module}_scenes"
    ).SCENES
    return found


def numbers(name: str, shape: Any, dtype: Any = np.float32) -> Any:
    """Numbers between -0.6 and 0.6 that depend on a name and a shape alone."""
    draw = np.random.RandomState(zlib.crc32(f"{name} {list(shape)}".encode()))
    return draw.uniform(-0.6, 0.6, shape).astype(dtype)


def initial(name: str, shape: Any) -> Any:
    """The values of a variable: not negative for sums of squares, by the names they have."""
    found = numbers(name, shape)
    squares = any(word in name for word in ("variance", "Adagrad", "RMSProp", "Ftrl", "Adam"))
    return np.abs(found) if squares else found


def leaves(structure: Any) -> list[Any]:
    """The tensors of nested lists, tuples and dicts, whose None are left out."""
    if structure is None:
        return []
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in leaves(structure[key])]
    if isinstance(structure, (list, tuple)):
        return [leaf for part in structure for leaf in leaves(part)]
    return [structure]


def record(tf: Any, contrib: Callable[[str], Any], scene: Any, **session: Any) -> dict[str, Any]:
    """The recording of a scene.

    Args:
        tf: the module, of graphio or TensorFlow.
        contrib: from the name of a package of contrib to its names.
        scene: the function.
        session: arguments of the session.

    Returns:
        variables: name and shape of each, in the order of their creation; starts: the number that
        all elements of each begin with, or None; trainable: the names of those that are trained;
        values: of the scene's tensors; slopes: for each variable that is
        trained, the gradient of the sum of the squared values, times a fixed vector.
    """
    with tf.Graph().as_default():
        outputs = leaves(scene(tf, contrib))
        variables, trainable = tf.global_variables(), tf.trainable_variables()
        floats = [y for y in outputs if y.dtype.is_floating]
        slopes: list[Any] = [None] * len(trainable)
        if floats and trainable:
            loss = tf.add_n([tf.reduce_sum(tf.cast(y, tf.float32) ** 2) for y in floats])
            slopes = tf.gradients(loss, trainable)
        slopes = [None if s is None else tf.convert_to_tensor(s) for s in slopes]
        fill = [
            tf.assign(v, tf.cast(initial(v.op.name, v.shape.as_list()), v.dtype.base_dtype))
            for v in variables
            if v.dtype.base_dtype.is_floating
        ]
        with tf.Session(**session) as run:
            run.run([
                tf.global_variables_initializer(), tf.local_variables_initializer(),
                tf.tables_initializer(),
            ])  # fmt: skip
            starts = [_constant(start) for start in run.run(variables)]
            run.run(fill)
            values = run.run(outputs)
            found = run.run([s for s in slopes if s is not None])
    known = iter(found)
    return {
        "variables": [[v.op.name, v.shape.as_list()] for v in variables],
        "trainable": [v.op.name for v in trainable],
        "starts": starts,
        "values": [plain(value) for value in values],
        "slopes": {
            v.op.name: None if s is None else _slope(v.op.name, next(known))
            for v, s in zip(trainable, slopes, strict=True)
        },
    }


def _constant(start: Any) -> float | None:
    """The number that an array consists of; None where it has several."""
    first = float(f"{np.ravel(start)[0]:.7g}")
    return first if np.size(start) > 1 and (start == np.ravel(start)[0]).all() else None


def _slope(name: str, gradient: Any) -> float:
    return float(f"{float(np.sum(gradient * numbers(name + '/', gradient.shape))):.7g}")


def plain(value: Any) -> Any:
    """An array as lists of numbers with seven digits."""
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return json.loads(json.dumps(_rounded(array.tolist())))
    if array.dtype.kind in "SO":
        return np.vectorize(lambda s: s.decode(), otypes=[object])(array).tolist()
    return array.tolist()


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.7g}") if np.isfinite(value) else str(value)


def stored(module: str) -> dict[str, Any]:
    """TensorFlow's recordings of a module's scenes."""
    found: dict[str, Any] = json.loads((FOLDER / f"{module}.json").read_text())
    return found


def assert_equal(found: dict[str, Any], expected: dict[str, Any], starts: bool = True) -> None:
    """Checks a recording against TensorFlow's; starts: whether the first values count,
    too, where they are recorded."""
    assert found["variables"] == expected["variables"]
    assert found["trainable"] == expected["trainable"]
    if starts and "starts" in expected:
        assert found["starts"] == expected["starts"]
    assert len(found["values"]) == len(expected["values"])
    for ours, theirs in zip(found["values"], expected["values"], strict=True):
        assert np.shape(ours) == np.shape(theirs)
        if np.asarray(theirs).dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)
        else:
            np.testing.assert_array_equal(ours, theirs)
    assert set(found["slopes"]) == set(expected["slopes"])
    for name, slope in expected["slopes"].items():
        # where nothing depends on a variable, a loop's gradient may be zeros or none
        ours = found["slopes"][name] or 0.0
        np.testing.assert_allclose(ours, slope or 0.0, rtol=2e-4, atol=2e-5)
