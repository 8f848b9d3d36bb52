"""Functions that give features and targets in batches: of arrays and generators.

Common arguments:
    batch_size: rows of a batch.
    num_epochs: how often each row comes, then the last batch may be smaller and a further run
        raises an OutOfRangeError; None: without end.
    shuffle: whether rows have a random order, another in each process.
    queue_capacity: rows of the queue.
    num_threads: threads that fill the queue, each with all rows. tf.train.start_queue_runners
        starts them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import FunctionType, GeneratorType
from typing import Any

import numpy as np

from graphio.contrib.learn.io.feeding import Options, batch_of, generator_queue, rows_queue
from graphio.support import api_guard

__all__ = ["check_shuffle", "generator_input_fn", "numpy_input_fn"]


def check_shuffle(shuffle: Any) -> None:
    """Raises ValueError unless shuffle is a bool."""
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )


@api_guard.unguarded
def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True,
    queue_capacity: int = 1000, num_threads: int = 1,
) -> Callable[[], Any]:  # fmt: skip
    """A function that gives rows of arrays. Further arguments are described at the head of the
    module.

    Args:
        x: an array, or a dict of arrays with one length.
        y: the targets, an array or a dict; None: there are none.

    Returns:
        The function: it builds a queue in the default graph and gives the features in the
        structure of x, with y a tuple of them and the targets.

    Raises:
        ValueError: shuffle is not a bool. Of the function: x or y is empty, their lengths differ,
            or they have a key in common.
        TypeError: of the function: x is neither dict nor array.

    Example:
        >>> input_fn = tf.contrib.learn.io.numpy_input_fn(
        ...     {"age": np.arange(4.0)}, np.arange(4), batch_size=2, shuffle=False)
        >>> features, target = input_fn()
    """
    check_shuffle(shuffle)
    options = Options(batch_size, num_epochs, shuffle, queue_capacity, num_threads)

    def input_fn() -> Any:
        features, targets = _features(x), _targets(y)
        _check_keys(features, targets)
        columns = [*features.values(), *targets.values()]
        _check_lengths(features, targets)
        # the queue's first component is the number of a row
        kinds = [(np.int64, ()), *((column.dtype, column.shape[1:]) for column in columns)]
        queue = rows_queue(
            kinds, len(columns[0]), lambda at: [at, *(column[at] for column in columns)], options
        )
        batch = batch_of(queue, options)[1:]
        given = dict(zip(features, batch[: len(features)], strict=True))
        found = given if isinstance(x, dict) else batch[0]
        if y is None:
            return found
        aims = dict(zip(targets, batch[len(features) :], strict=True))
        return found, (aims if isinstance(y, dict) else batch[-1])

    return input_fn


def _features(x: Any) -> dict[Any, Any]:
    """The arrays by their keys, in the order of these."""
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return dict(sorted(x.items()))
    if not isinstance(x, np.ndarray):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if not x.size:
        raise ValueError("x cannot be an empty array")
    return {"x": x}


def _targets(y: Any) -> dict[Any, Any]:
    if y is None:
        return {}
    if not isinstance(y, dict):
        return {"": y}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    return dict(sorted(y.items()))


def _check_keys(features: Mapping[Any, Any], targets: Mapping[Any, Any]) -> None:
    both = features.keys() & targets.keys()
    if both:
        raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")


def _check_lengths(features: Mapping[Any, Any], targets: Mapping[Any, Any]) -> None:
    shapes = [{key: value.shape for key, value in part.items()} for part in (features, targets)]
    if len({shape[0] for part in shapes for shape in part.values()}) != 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the "
            f"same length.\nShapes in x: {shapes[0]}\nShapes in y: {shapes[1]}\n"
        )


@api_guard.unguarded
def generator_input_fn(
    x: Any, target_key: Any = None, batch_size: int = 128, num_epochs: int | None = 1,
    shuffle: bool = True, queue_capacity: int = 1000, num_threads: int = 1, pad_value: Any = None,
) -> Callable[[], Any]:  # fmt: skip
    """A function that gives the rows of a generator. Further arguments are described at the head of
    the module; as in TensorFlow, the thread fills a last batch with rows of a further epoch.

    Args:
        x: a generator function: each of its generators yields the rows of one epoch, dicts of
            arrays without the batch's dimension, with equal keys.
        target_key: the key of the target, or several; None: there is none.
        pad_value: fills the last dimension of shorter arrays; None: all have one shape. Rows that
            come in different batches are filled with zeros. Not with shuffle.

    Returns:
        The function: it builds a queue in the default graph and gives a dict of features; with
        target_key a tuple of this and the target, for several keys a dict of them.

    Raises:
        TypeError: x is not a generator function of dicts, or target_key has another type.
        KeyError: a row lacks a key of target_key.
        NotImplementedError: of the function: pad_value with shuffle.
    """
    first = _first_row(x)
    keys = sorted(first)
    aims = _target_keys(target_key, keys)
    options = Options(batch_size, num_epochs, shuffle, queue_capacity, num_threads)

    def input_fn() -> Any:
        kinds = [(first[key].dtype, first[key].shape) for key in keys]
        queue = generator_queue(x, keys, kinds, options, pad_value)
        features = dict(zip(keys, batch_of(queue, options), strict=True))
        if target_key is None:
            return features
        targets = {key: features.pop(key) for key in aims}
        return features, (targets if len(aims) > 1 else targets[aims[0]])

    return input_fn


def _first_row(x: Any) -> Mapping[str, Any]:
    if not isinstance(x, FunctionType):
        raise TypeError(f"x must be generator function; got {type(x).__name__}")
    rows: Iterator[Any] = x()
    if not isinstance(rows, GeneratorType):
        raise TypeError(f"x() must be generator; got {type(rows).__name__}")
    first = next(rows)
    if not isinstance(first, dict):
        raise TypeError(f"x() must yield dict; got {type(first).__name__}")
    return first


def _target_keys(given: Any, keys: list[str]) -> list[str]:
    if given is None:
        return []
    chosen = [given] if isinstance(given, str) else given
    if not isinstance(chosen, Collection):
        raise TypeError(f"target_key must be str or Container of str; got {type(given).__name__}")
    found = list(chosen)
    for key in found:
        if not isinstance(key, str):
            raise TypeError(f"target_key must be str or Container of str; got {type(key).__name__}")
        if key not in keys:
            raise KeyError(f"target_key not in yielded dict. Expected {keys} keys; got {key}")
    return found
