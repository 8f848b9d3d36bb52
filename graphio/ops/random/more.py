"""Random crops, and draws from the gamma and the Poisson distribution."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.graph_state.seeds import DEFAULT_GRAPH_SEED
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base.emit import FLOATING, require, scope
from graphio.ops.control_flow.loops import kernel_loop
from graphio.ops.math import comparison, elementwise, gamma_slopes, reduction
from graphio.ops.random.core import multinomial, random_normal, random_uniform
from graphio.ops.random.draws import drawn_in
from graphio.support import api_guard, errors

__all__ = ["categorical", "get_seed", "random_crop", "random_gamma", "random_poisson"]


@api_guard.operator
def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """The graph's and the operation's seed that a random operation made now would use.

    Both are returned modulo 2147483647, and two seeds of 0 as (0, 2147483647), because other
    libraries take (0, 0) for none.
    """
    graph, most = scopes.get_default_graph().root, int(dtypes.int32.max)
    if graph.seed is None and op_seed is None:
        return None, None
    first = DEFAULT_GRAPH_SEED if graph.seed is None else graph.seed
    second = graph.seeds.given if op_seed is None else op_seed
    seeds = first % most, second % most
    return (0, most) if seeds == (0, 0) else seeds


@api_guard.operator
def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """As multinomial, with the arguments in a newer order; dtype None: int64."""
    requested = dtypes.int64 if dtype is None else dtype
    return multinomial(logits, num_samples, seed, name or "categorical", requested)


@api_guard.operator
def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """A part of a tensor, all positions equally probable.

    Args:
        value: tensor.
        size: of the part, one integer an axis; at most value's.
        seed: of this operation, see set_random_seed.
        name: of the operation.

    Raises:
        ValueError: the part is known to be larger than value.
        InvalidArgumentError: of the run, the part is larger than value.
    """
    with scope(name, "random_crop") as at:
        x = convert_to_tensor(value, name="value")
        requested = convert_to_tensor(size, dtypes.int32, name="size")
        _check_crop(x, size)
        starts = array.shape(x) - requested + 1
        rank = requested.shape[0].value
        count = array.shape(requested) if rank is None else [rank]
        draws = random_uniform(count, 0, dtypes.int32.max, dtypes.int32, seed)
        return index.slice(x, elementwise.floormod(draws, starts), requested, name=at)


def _check_crop(x: Tensor, size: Any) -> None:
    if not isinstance(size, (list, tuple)) or x.shape.ndims is None:
        return
    pairs = zip(size, x.shape.as_list(), strict=False)
    if len(size) != x.shape.ndims or any(
        isinstance(s, int) and d is not None and s > d for s, d in pairs
    ):
        raise ValueError(f"random_crop: Need value.shape >= size, got {x.shape} and {list(size)}")


@api_guard.operator
def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from a gamma distribution, by Marsaglia and Tsang (2000).

    Args:
        shape: integers, how many to draw for each of the parameters.
        alpha: tensor of shapes of the distribution, above 0.
        beta: tensor of inverse scales, broadcasts with alpha; None: 1.
        dtype: float16, bfloat16, float32 or float64; that of alpha if it is a tensor.
        seed: of this operation, see set_random_seed.
        name: of the operation.

    Returns:
        A tensor of shape + the parameters' broadcast shape. It has gradients by alpha and beta:
        how the number changes that has the same share of the distribution below it.
    """
    with scope(name, "random_gamma") as at:
        given = convert_to_tensor(alpha, None if isinstance(alpha, Tensor) else dtype, name="alpha")
        require(given, FLOATING, "random_gamma", "alpha")
        by = convert_to_tensor(1.0 if beta is None else beta, given.dtype, name="beta")
        form, rate = (elementwise.cast(x, drawn_in(given.dtype)) for x in (given, by))
        form = form + array.zeros_like(rate)
        full = _drawn_shape(shape, form, "random_gamma")
        form = form + array.zeros(full, form.dtype)
        # Below 1: a draw for alpha + 1 times u^(1 / alpha).
        small = comparison.less(form, 1.0)
        raised = array.where(small, form + 1.0, form)
        draw = _accepted(raised, full, seed)
        uniform = random_uniform(full, dtype=form.dtype, seed=_another(seed, 2))
        lowered = elementwise.pow(1.0 - uniform, 1.0 / form)
        result = array.where(small, draw * lowered, draw)
        rounded = elementwise.cast(elementwise.divide(result, rate), given.dtype)
        drawn = array.stop_gradient(rounded, name=at)
        return gamma_slopes.differentiable(drawn, given, by)


def _sizes(shape: Any) -> Tensor:
    return array.reshape(convert_to_tensor(shape, dtypes.int32, name="shape"), [-1])


def _drawn_shape(shape: Any, parameters: Tensor, what: str) -> Tensor:
    """The shape of the numbers: so many for each of the parameters.

    Raises:
        InvalidArgumentError: they are known to be more than a tensor can hold.
    """
    sizes = _sizes(shape)
    known, count = constant_value(sizes), parameters.shape.num_elements()
    if known is not None and count and prod(known.tolist()) * count > int(dtypes.int64.max):
        raise errors.InvalidArgumentError(
            message=f"{what}: a shape of {known.tolist()} for {count} parameters overflows: it has "
            "more elements than a tensor can hold"
        )
    return array.concat([sizes, array.shape(parameters)], 0)


def _another(seed: int | None, number: int) -> int | None:
    """The seed of a further stream of an operation: streams of one seed draw the same numbers."""
    return None if seed is None else (seed + number * 0x3779B97F) % int(dtypes.int32.max)


def _accepted(form: Tensor, full: Tensor, seed: int | None) -> Tensor:
    """d v where v = (1 + c x)^3 was accepted; each element tries until it is."""
    d = form - 1.0 / 3.0
    c = elementwise.rsqrt(9.0 * d)

    def step(done: Tensor, found: Tensor) -> list[Tensor]:
        x = random_normal(full, dtype=form.dtype, seed=seed)
        u = 1.0 - random_uniform(full, dtype=form.dtype, seed=_another(seed, 1))
        root = 1.0 + c * x
        v = root * root * root
        positive = comparison.greater(v, 0.0)
        safe = array.where(positive, v, array.ones_like(v))
        bound = 0.5 * x * x + d * (1.0 - safe + elementwise.log(safe))
        fine = comparison.logical_and(positive, comparison.less(elementwise.log(u), bound))
        new = comparison.logical_and(fine, comparison.logical_not(done))
        return [comparison.logical_or(done, fine), array.where(new, d * v, found)]

    nothing = array.zeros_like(form)
    first = [comparison.less(nothing, 0.0), nothing]
    result: Tensor = kernel_loop(
        lambda done, found: comparison.logical_not(reduction.reduce_all(done)), step, first
    )[1]
    return result


@api_guard.operator
def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers from a Poisson distribution: arrivals within time lam, one a time on average.

    Args:
        lam: floating tensor of means; the work grows with the largest. Numbers of an infinite one
            are infinite, 0 where they are integers.
        shape: integers, how many to draw for each of the means.
        dtype: of the result: float16, bfloat16, float32, float64, int32 or int64.
        seed: of this operation, see set_random_seed.
        name: of the operation.

    Returns:
        A tensor of shape + lam's shape.
    """
    with scope(name, "random_poisson") as at:
        rate = elementwise.cast(convert_to_tensor(lam, name="lam"), dtypes.float64)
        full = _drawn_shape(shape, rate, "random_poisson")
        # The number of arrivals within infinite time is infinite and need not be counted.
        endless = comparison.equal(rate, np.inf)
        rate = array.where(endless, array.zeros_like(rate), rate)
        limit = rate + array.zeros(full, dtypes.float64)
        one = constant(np.asarray(1.0))

        def step(time: Tensor, count: Tensor) -> list[Tensor]:
            wait = elementwise.negative(
                elementwise.log(one - random_uniform(full, dtype=dtypes.float64, seed=seed))
            )
            then = time + wait
            arrived = elementwise.cast(comparison.less(then, limit), dtypes.float64)
            return [then, count + arrived]

        nothing = array.zeros_like(limit)
        count = kernel_loop(
            lambda time, count: reduction.reduce_any(comparison.less(time, limit)),
            step,
            [nothing, nothing],
        )[1]
        if dtypes.as_dtype(dtype).is_floating:
            count = array.where(array.broadcast_to(endless, full), count * 0.0 + np.inf, count)
        return elementwise.cast(count, dtype, name=at)
