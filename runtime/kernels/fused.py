"""Fused operators: each step as the kernel of the node that it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.runtime import registry
from graphio.runtime.registry import Call, Function, kernel
from graphio.schema import fused, operators
from graphio.schema.fused import LINEAR, OPS, Program, Step
from graphio.schema.model_pb2 import Node
from graphio.support import errors


@kernel("FusedElementwise", domain="graphio", types="V*", fresh=True)
def _fused_elementwise(call: Call) -> Function:
    inputs = len(call.dtypes)
    return _in_blocks(_run(Program.read(call.attrs, inputs), inputs, False))


_BLOCK = 1 << 14  # elements of which a few arrays stay in cache


def _run(program: Program, inputs: int, fresh: bool) -> Callable[..., Any]:
    """The program as a function of its inputs.

    Args:
        program: the steps.
        inputs: how many inputs there are.
        fresh: whether no later step reads input 0.
    """
    shift = len(program.literals)
    literals = [np.float32(number) for number in reversed(program.literals)]
    steps = []
    for s, step in enumerate(program.steps):
        dying = [
            k
            for k, o in enumerate(step.operands)
            if (o >= inputs or (o == 0 and fresh))
            and step.operands.count(o) == 1
            and not any(o in later.operands for later in program.steps[s + 1 :])
        ]
        slots = [o + shift for o in step.operands]
        steps.append((_function(step, dying), slots[0], slots[1] if slots[1:] else -1))

    if len(steps) == inputs == 1 and steps[0][2] < 0:
        return steps[0][0]

    def run(*given: Any) -> Any:
        values = [*literals, *given]
        add = values.append
        try:
            for function, a, b in steps:
                add(function(values[a]) if b < 0 else function(values[a], values[b]))
        except ValueError as error:
            step = program.steps[len(values) - shift - inputs]
            operands = [values[o + shift] for o in step.operands]
            raise _at(step.node, OPS[step.op], error, operands) from None
        return values[-1]

    return run


def _in_blocks(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same, block by block where arrays are larger than the cache."""

    def whole(*given: Any) -> Any:
        first = given[0]
        if first.size < 4 * _BLOCK or any(
            x.size != 1 and (x.shape != first.shape or not x.flags.c_contiguous) for x in given
        ):
            return run(*given)
        if any(x.ndim > first.ndim for x in given):
            return run(*given)
        y = np.empty(first.shape, np.float32)
        flat, parts = y.reshape(-1), [x.reshape(-1) for x in given]
        for at in range(0, flat.size, _BLOCK):
            block = [x[at : at + _BLOCK] if x.size > 1 else x for x in parts]
            flat[at : at + _BLOCK] = run(*block)
        return y

    return whole


def _at(name: str, op: fused.Op, error: ValueError, operands: Sequence[Any]) -> Exception:
    """The error of a step with the name of the node that it was."""
    if not name:
        return error
    shapes = " and ".join(str(list(np.shape(x))) for x in operands)
    text = f"Incompatible shapes: {shapes}" if "broadcast" in str(error) else str(error)
    node = Node(name=name, op=op.op, domain=op.domain)
    return errors.InvalidArgumentError(node, None, f"{op.op} '{name}': {text}")


def _function(step: Step, dying: Sequence[int]) -> Function:
    """The function of a step; it may write into operands that no later step reads."""
    op = OPS[step.op]
    attrs = fused.attributes_of(step)
    version = operators.version_for(op.op, op.domain, [fused.FLOAT], attributes=attrs)
    row = registry.find(op.domain, op.op, version)
    if row is None:
        raise errors.InternalError(message=f"there is no kernel of {op.op}")
    made = row.make(Call(step.node, op.op, version, attrs, dtypes=[fused.FLOAT] * op.arity))
    if step.op != "Clip":
        return next((row.reuse[k] for k in dying if k in row.reuse), made)
    low, high = (np.float32(bound) for bound in step.numbers)
    return lambda x: made(x, low, high)


def _with_program(op: str) -> Callable[[Call], Function]:
    """The factory of a matmul or convolution with a program after it."""
    domain, base, first = LINEAR[op]

    def make(call: Call) -> Function:
        attrs = {k: v for k, v in call.attrs.items() if k not in fused.ATTRIBUTES}
        version = operators.version_for(base, domain, [fused.FLOAT], attributes=attrs)
        row = registry.find(domain, base, version)
        if row is None:
            raise errors.InternalError(message=f"there is no kernel of {base}")
        inputs = max(1, len(call.dtypes) - first + 1)
        program = Program.read(call.attrs, inputs, True)
        operator = row.make(
            Call(program.linear, base, version, attrs, call.dtypes[:first], call.outputs)
        )
        behind = _run(program, inputs, row.fresh)

        def run(*given: Any) -> Any:
            try:
                result = operator(*given[:first])
            except errors.OpError as error:
                if program.linear and not error.node_name:
                    node = Node(name=program.linear, op=base, domain=domain)
                    text = f"{base} '{program.linear}': {error.message}"
                    raise type(error)(node, None, text) from None
                raise
            if len(given) <= first:
                return behind(result)
            y = behind(result, *given[first:])
            if y.shape != result.shape:
                raise errors.InvalidArgumentError(
                    message=f"the program makes {list(y.shape)} of the operator "
                    f"{list(result.shape)}; it must keep the shape"
                )
            return y

        return run

    return make


for _op in LINEAR:
    kernel(_op, domain="graphio", types="V*", fresh=True)(_with_program(_op))
