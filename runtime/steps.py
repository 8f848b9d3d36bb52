"""The steps of a plan: closures that take values from slots, call a kernel, store its result.

There is one for each small number of inputs, because what surrounds the call of numpy is what a
small model's run consists of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Values = list[Any]
Step = Callable[[Values], None]
Function = Callable[..., Any]


def make(fn: Function, inputs: Sequence[int], outputs: Sequence[int], dead: Sequence[int]) -> Step:
    """The step of a node.

    Args:
        fn: its kernel.
        inputs: slots of its arguments.
        outputs: slots of its results; for other than one the kernel gives a tuple.
        dead: slots that no later step reads.
    """
    if len(outputs) != 1:
        step = _many(fn, tuple(inputs), tuple(outputs))
    elif len(inputs) < len(_BY_COUNT):
        step = _BY_COUNT[len(inputs)](fn, *inputs, outputs[0])
    else:
        step = _one(fn, tuple(inputs), outputs[0])
    return _emptying(step, tuple(dead)) if dead else step


def _none(fn: Function, out: int) -> Step:
    def step(values: Values) -> None:
        values[out] = fn()

    return step


def _unary(fn: Function, a: int, out: int) -> Step:
    def step(values: Values) -> None:
        values[out] = fn(values[a])

    return step


def _binary(fn: Function, a: int, b: int, out: int) -> Step:
    def step(values: Values) -> None:
        values[out] = fn(values[a], values[b])

    return step


def _ternary(fn: Function, a: int, b: int, c: int, out: int) -> Step:
    def step(values: Values) -> None:
        values[out] = fn(values[a], values[b], values[c])

    return step


_BY_COUNT: tuple[Callable[..., Step], ...] = (_none, _unary, _binary, _ternary)


def _one(fn: Function, inputs: tuple[int, ...], out: int) -> Step:
    def step(values: Values) -> None:
        values[out] = fn(*[values[i] for i in inputs])

    return step


def _many(fn: Function, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Step:
    def step(values: Values) -> None:
        results = fn(*[values[i] for i in inputs])
        for i, result in zip(outputs, results, strict=True):
            values[i] = result

    return step


def _emptying(inner: Step, dead: tuple[int, ...]) -> Step:
    def step(values: Values) -> None:
        inner(values)
        for i in dead:
            values[i] = None

    return step
