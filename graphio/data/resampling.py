"""rejection_resample: drops elements so that classes come as often as required.

Of class i a share p_i comes and t_i is required. The elements are those of the data with the chance
m, and else those that pass a filter with the chances a_i, where r_i = t_i / p_i:

    m = min(r)    a_i = (r_i - m) / (max(r) - m)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.data.dataset import Dataset
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.tensor import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import gather, one_hot
from graphio.ops.array.joining import stack
from graphio.ops.base.primitive import cast
from graphio.ops.math import reduction
from graphio.ops.random.core import random_uniform
from graphio.support import api_guard

__all__ = ["rejection_resample"]

_BATCH = 32  # classes after which the estimate of the shares changes
_SMOOTHING = 10  # of each class, as if they had come already


@api_guard.unguarded
def rejection_resample(
    class_func: Callable[..., Any], target_dist: Any, initial_dist: Any = None, seed: Any = None
) -> Callable[[Dataset], Dataset]:
    """Drops elements so that classes come as often as required; the rest come in their order.

    The elements are pairs of a class and an element.

    Args:
        class_func: from an element to its class: a scalar int32 or int64 of 0 or more.
        target_dist: floats (classes): the share of each.
        initial_dist: floats (classes): the share of each in the dataset; None: estimated from the
            elements that came, 32 at a time.
        seed: see Dataset.shuffle.

    Raises:
        TypeError: target_dist is not of floats; class_func does not give integers.
        ValueError: target_dist and initial_dist have different shapes.
    """
    target = convert_to_tensor(target_dist, name="target_dist")
    if not target.dtype.is_floating:
        raise TypeError(
            f"rejection_resample: `target_dist` is {target.dtype.name}, expected floats"
        )
    initial = None
    if initial_dist is not None:
        initial = cast(convert_to_tensor(initial_dist, name="initial_dist"), target.dtype)
        if not initial.shape.is_compatible_with(target.shape):
            raise ValueError(
                f"rejection_resample: `initial_dist` has shape {initial.shape} and `target_dist` "
                f"{target.shape}, expected a share of each class in both"
            )

    def apply(dataset: Dataset) -> Dataset:
        pairs = dataset.map(lambda *element: _pair(class_func, element))
        if initial is None:
            chances = _estimated(pairs, target).map(lambda shares: _chances(shares, target))
        else:
            known = _static_share(initial, target)
            if known == 1:
                return pairs
            chances = Dataset.from_tensors(_chances(initial, target)).repeat()
            if known == 0:
                return _filtered(pairs, chances, seed)
        odds = chances.map(lambda accepted, m: stack([m, 1 - m]))
        # The rest of the data, after the filter has read all of it, would have other shares.
        return Dataset.sample_from_datasets(
            [pairs, _filtered(pairs, chances, seed)], odds, seed, stop_on_empty_dataset=True
        )

    return apply


def _pair(class_func: Callable[..., Any], element: tuple[Any, ...]) -> Any:
    found = convert_to_tensor(class_func(*element))
    if found.dtype not in (dtypes.int32, dtypes.int64):
        raise TypeError(
            f"rejection_resample: `class_func` gives {found.dtype.name}, expected int32 or int64"
        )
    return found, element if len(element) > 1 else element[0]


def _static_share(initial: Tensor, target: Tensor) -> float | None:
    """m where both are constants: 1 and 0 need no draws."""
    have, required = constant_value(initial), constant_value(target)
    if have is None or required is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(required / have))


def _chances(shares: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """a and m."""
    ratio = target / (shares + np.finfo(target.dtype.as_numpy_dtype).tiny)
    least = reduction.reduce_min(ratio)
    return (ratio - least) / (reduction.reduce_max(ratio) - least), least


def _filtered(pairs: Dataset, chances: Dataset, seed: Any) -> Dataset:
    def with_chance(pair: Any, given: Any) -> Any:
        return gather(given[0], pair[0]), pair

    def passes(chance: Tensor, pair: Any) -> Any:
        return random_uniform([], dtype=chance.dtype, seed=seed) < chance

    both = Dataset.zip((pairs, chances)).map(with_chance)
    return both.filter(passes).map(lambda chance, pair: pair)


def _estimated(pairs: Dataset, target: Tensor) -> Dataset:
    """The share of each class among those that came, for each element."""
    count = target.shape[0].value if target.shape.ndims else None
    classes = array.size(target) if count is None else count

    def count_classes(seen: Tensor, found: Tensor) -> Any:
        seen = seen + reduction.reduce_sum(one_hot(found, classes, dtype=dtypes.int64), 0)
        shares = cast(cast(seen, dtypes.float64) / cast(reduction.reduce_sum(seen), dtypes.float64),
                      dtypes.float32)  # fmt: skip
        rows = array.tile(array.expand_dims(cast(shares, target.dtype), 0), [_BATCH, 1])
        return seen, rows

    start = array.fill([classes], np.int64(_SMOOTHING))
    batches = pairs.map(lambda found, element: found).batch(_BATCH)
    return batches.scan(start, count_classes).unbatch()
