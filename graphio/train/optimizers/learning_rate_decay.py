"""Learning rates that fall with the global step, as scalar tensors.

Each takes the step as a number, tensor or variable and computes in the learning rate's dtype.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.base.primitive import select
from graphio.ops.math import comparison, elementwise
from graphio.ops.random.core import random_normal
from graphio.support import api_guard

__all__ = [
    "cosine_decay",
    "cosine_decay_restarts",
    "exponential_decay",
    "inverse_time_decay",
    "linear_cosine_decay",
    "natural_exp_decay",
    "noisy_linear_cosine_decay",
    "piecewise_constant",
    "piecewise_constant_decay",
    "polynomial_decay",
]


class _Given(NamedTuple):
    """The inputs of a decay, and the name of its last node."""

    at: str
    rate: Tensor
    step: Tensor

    def like(self, value: Any) -> Tensor:
        """value in the learning rate's dtype."""
        return _cast(value, self.rate.dtype)


def _cast(value: Any, dtype: dtypes.DType) -> Tensor:
    if isinstance(value, (int, float)):
        return convert_to_tensor(value, dtype=dtype)
    return elementwise.cast(convert_to_tensor(value), dtype)


@contextmanager
def _decay(function: str, name: str | None, default: str, rate: Any, step: Any) -> Iterator[_Given]:
    if step is None:
        raise ValueError(f"global_step is required for {function}.")
    with scope(name, default) as at:
        start = convert_to_tensor(rate, name="learning_rate")
        yield _Given(at, start, _cast(step, start.dtype))


def _periods(given: _Given, decay_steps: Any, staircase: bool) -> Tensor:
    """The number of times that decay_steps have passed."""
    passed = given.step / given.like(decay_steps)
    return elementwise.floor(passed) if staircase else passed


def _wave(turns: Tensor) -> Tensor:
    """Half a cosine's way from 1 to 0 as turns goes from 0 to 1."""
    return 0.5 * (1 + elementwise.cos(numbers.pi * turns))


@api_guard.makes_variables
def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * decay_rate ^ (global_step / decay_steps).

    Args:
        learning_rate: floating number or scalar tensor.
        global_step: the step; number, scalar tensor or variable.
        decay_steps: number or scalar tensor.
        decay_rate: likewise.
        staircase: True rounds the quotient down.
        name: of the operation.

    Raises:
        ValueError: global_step is None.
    """
    with _decay("exponential_decay", name, "ExponentialDecay", learning_rate, global_step) as given:
        factor = elementwise.pow(given.like(decay_rate), _periods(given, decay_steps, staircase))
        return elementwise.multiply(given.rate, factor, name=given.at)


@api_guard.makes_variables
def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * exp(-decay_rate * global_step / decay_steps); see exponential_decay."""
    with _decay("natural_exp_decay", name, "NaturalExpDecay", learning_rate, global_step) as given:
        periods = _periods(given, decay_steps, staircase)
        factor = elementwise.exp(-given.like(decay_rate) * periods)
        return elementwise.multiply(given.rate, factor, name=given.at)


@api_guard.makes_variables
def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate / (1 + decay_rate * global_step / decay_steps); see exponential_decay."""
    with _decay(
        "inverse_time_decay", name, "InverseTimeDecay", learning_rate, global_step
    ) as given:
        periods = _periods(given, decay_steps, staircase)
        return elementwise.realdiv(given.rate, 1 + given.like(decay_rate) * periods, name=given.at)


@api_guard.makes_variables
def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """values[0] while x <= boundaries[0], values[1] while x <= boundaries[1], ..., values[-1].

    Args:
        x: number, scalar tensor or variable.
        boundaries: ascending numbers or tensors of x's dtype; int32 ones serve for an int64 x.
        values: one more than boundaries, of one dtype.
        name: of the operation.

    Raises:
        ValueError: the numbers of boundaries and values do not fit, or their dtypes differ.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError(
            f"The length of boundaries should be 1 less than the length of values, but got "
            f"{len(boundaries)} and {len(values)}"
        )
    with scope(name, "PiecewiseConstant") as at:
        step = convert_to_tensor(x, name="x")
        limits = [_boundary(b, step) for b in boundaries]
        choices = [convert_to_tensor(v) for v in values]
        for v in choices[1:]:
            if v.dtype.base_dtype != choices[0].dtype.base_dtype:
                raise ValueError(
                    "Values must have elements all with the same dtype "
                    f"({choices[0].dtype.base_dtype.name} vs {v.dtype.base_dtype.name})."
                )
        result = choices[-1]
        for limit, value in zip(reversed(limits), reversed(choices[:-1]), strict=True):
            result = select(comparison.less_equal(step, limit), value, result)
        return array.identity(result, name=at)


piecewise_constant_decay = piecewise_constant


def _boundary(value: Any, x: Tensor) -> Tensor:
    limit, requested = convert_to_tensor(value), x.dtype.base_dtype
    if limit.dtype.base_dtype == dtypes.int32 and requested == dtypes.int64:
        return elementwise.cast(limit, requested)
    if limit.dtype.base_dtype != requested:
        raise ValueError(
            f"Boundaries ({limit.dtype.base_dtype.name}) must have the same dtype as x "
            f"({requested.name})."
        )
    return limit


@api_guard.makes_variables
def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """(learning_rate - end) * (1 - step / decay_steps) ^ power + end, up to decay_steps.

    Args:
        learning_rate: floating number or scalar tensor.
        global_step: the step; number, scalar tensor or variable.
        decay_steps: number or scalar tensor.
        end_learning_rate: end, likewise.
        power: likewise.
        cycle: True stretches decay_steps to its first multiple that the step has not passed, so
            that the rate rises again, instead of staying at the end.
        name: of the operation.

    Raises:
        ValueError: global_step is None.
    """
    with _decay("polynomial_decay", name, "PolynomialDecay", learning_rate, global_step) as given:
        steps, end, step = given.like(decay_steps), given.like(end_learning_rate), given.step
        if cycle:
            begun = elementwise.ceil(step / steps)
            first = comparison.equal(step, given.like(0))
            steps = steps * select(first, given.like(1), begun)
        else:
            step = elementwise.minimum(step, steps)
        left = elementwise.pow(1 - step / steps, given.like(power))
        return elementwise.add((given.rate - end) * left, end, name=given.at)


@api_guard.makes_variables
def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """learning_rate * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha).

    Args:
        learning_rate: floating number or scalar tensor.
        global_step: the step; number, scalar tensor or variable. After decay_steps the rate stays.
        decay_steps: number or scalar tensor.
        alpha: the part of the rate that is left at the end, likewise.
        name: of the operation.

    Raises:
        ValueError: global_step is None.
    """
    with _decay("cosine_decay", name, "CosineDecay", learning_rate, global_step) as given:
        steps, least = given.like(decay_steps), given.like(alpha)
        wave = _wave(elementwise.minimum(given.step, steps) / steps)
        return elementwise.multiply(given.rate, (1 - least) * wave + least, name=given.at)


@api_guard.makes_variables
def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cosine decay with warm restarts (SGDR, Loshchilov and Hutter 2016).

    Args:
        learning_rate: floating number or scalar tensor.
        global_step: the step; number, scalar tensor or variable.
        first_decay_steps: of the first period; number or scalar tensor.
        t_mul: each period is this many times as long as the one before, likewise.
        m_mul: each period starts from this many times the rate of the one before, likewise.
        alpha: the part of the rate that is left at a period's end, likewise.
        name: of the operation.

    Raises:
        ValueError: global_step is None.
    """
    with _decay("cosine_decay_restarts", name, "SGDRDecay", learning_rate, global_step) as given:
        periods = given.step / given.like(first_decay_steps)
        stretch, least = given.like(t_mul), given.like(alpha)
        restarts, completed = _restarts(periods, stretch, t_mul)
        wave = elementwise.pow(given.like(m_mul), restarts) * _wave(completed)
        return elementwise.multiply(given.rate, (1 - least) * wave + least, name=given.at)


def _restarts(periods: Tensor, stretch: Tensor, t_mul: Any) -> tuple[Tensor, Tensor]:
    """The number of restarts so far, and the elapsed part of the present period."""
    whole = elementwise.floor(periods)
    even = whole, periods - whole
    if isinstance(t_mul, (int, float)) and t_mul == 1:
        return even
    done = elementwise.floor(
        elementwise.log(1 - periods * (1 - stretch)) / elementwise.log(stretch)
    )
    length = elementwise.pow(stretch, done)
    before = (1 - length) / (1 - stretch)
    increasing = done, (periods - before) / length
    if isinstance(t_mul, (int, float)):
        return increasing
    constant = comparison.equal(stretch, _cast(1, stretch.dtype))
    return select(constant, even[0], increasing[0]), select(constant, even[1], increasing[1])


@api_guard.makes_variables
def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """learning_rate * ((alpha + 1 - t) * (1 + cos(2 * pi * num_periods * t)) / 2 + beta).

    t is step / decay_steps (Bello et al. 2017); after decay_steps the rate stays.

    Args:
        learning_rate: floating number or scalar tensor.
        global_step: the step; number, scalar tensor or variable.
        decay_steps: number or scalar tensor.
        num_periods: of the cosine, likewise.
        alpha: likewise.
        beta: likewise.
        name: of the operation.

    Raises:
        ValueError: global_step is None.
    """
    with _decay(
        "linear_cosine_decay", name, "LinearCosineDecay", learning_rate, global_step
    ) as given:
        steps = given.like(decay_steps)
        step = elementwise.minimum(given.step, steps)
        wave = _wave(2 * given.like(num_periods) * (step / steps))
        linear = given.like(alpha) + (steps - step) / steps
        return elementwise.multiply(given.rate, linear * wave + given.like(beta), name=given.at)


@api_guard.makes_variables
def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """linear_cosine_decay with normal noise added to 1 - t.

    The noise's variance is initial_variance / (1 + step) ** variance_decay; each run draws one.

    Args:
        initial_variance: number or scalar tensor.
        variance_decay: likewise.
        others: as linear_cosine_decay's.

    Raises:
        ValueError: global_step is None.
    """
    with _decay(
        "noisy_linear_cosine_decay", name, "NoisyLinearCosineDecay", learning_rate, global_step
    ) as given:
        steps = given.like(decay_steps)
        step = elementwise.minimum(given.step, steps)
        wave = _wave(2 * given.like(num_periods) * (step / steps))
        growth = elementwise.pow(1 + step, given.like(variance_decay))
        deviation = elementwise.sqrt(given.like(initial_variance) / growth)
        noise = random_normal([], stddev=deviation, dtype=step.dtype)
        linear = given.like(alpha) + (steps - step) / steps + noise
        return elementwise.multiply(given.rate, linear * wave + given.like(beta), name=given.at)
