"""Fused operators: each step as the kernel of the node that it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.runtime import registry
from graphio.runtime.registry import Call, Function, kernel
from graphio.schema import errors, fused, operators
from graphio.schema.fused import OPS, PRODUCTS, Program, Step
from graphio.schema.model_pb2 import Node


@kernel("FusedElementwise", domain="graphio", fresh=True)
def _fused_elementwise(call: Call) -> Function:
    _check_types(call, 0)
    return _program(call, len(call.dtypes))


def _check_types(call: Call, first: int) -> None:
    for i, number in enumerate(call.dtypes[first:], first):
        if number > 0 and number != fused.FLOAT:
            raise errors.UnimplementedError(message=f"input {i} is no float32")


def _program(call: Call, inputs: int) -> Callable[..., Any]:
    """The program as a function of its inputs."""
    program = Program.read(call.attrs, inputs)
    literals = [np.float32(number) for number in program.literals]
    steps = [(_function(step), step) for step in program.steps]

    def run(*given: Any) -> Any:
        values = [*given]
        for function, step in steps:
            operands = [values[o] if o >= 0 else literals[-1 - o] for o in step.operands]
            try:
                values.append(function(*operands))
            except ValueError as error:
                raise _at(step, error, operands) from None
        return values[-1]

    return run


def _at(step: Step, error: ValueError, operands: Sequence[Any]) -> Exception:
    """The error with the name of the node that the step was."""
    if not step.node:
        return error
    op = OPS[step.op]
    shapes = " and ".join(str(list(np.shape(x))) for x in operands)
    text = f"Incompatible shapes: {shapes}" if "broadcast" in str(error) else str(error)
    node = Node(name=step.node, op=op.op, domain=op.domain)
    return errors.InvalidArgumentError(node, None, f"{op.op} '{step.node}': {text}")


def _function(step: Step) -> Function:
    op = OPS[step.op]
    attrs = fused.attributes_of(step)
    version = operators.version_for(op.op, op.domain, [fused.FLOAT], attributes=attrs)
    row = registry.find(op.domain, op.op, version)
    if row is None:
        raise errors.InternalError(message=f"there is no kernel of {op.op}")
    made = row.make(Call(step.node, op.op, version, attrs, dtypes=[fused.FLOAT] * op.arity))
    if step.op != "Clip":
        return made
    low, high = (np.float32(bound) for bound in step.numbers)
    return lambda x: made(x, low, high)


def _product(op: str) -> Callable[[Call], Function]:
    """The factory of a product with a program behind it."""
    domain, base, first = PRODUCTS[op]

    def make(call: Call) -> Function:
        _check_types(call, 0)
        attrs = {k: v for k, v in call.attrs.items() if k not in fused.ATTRIBUTES}
        version = operators.version_for(base, domain, [fused.FLOAT], attributes=attrs)
        row = registry.find(domain, base, version)
        if row is None:
            raise errors.InternalError(message=f"there is no kernel of {base}")
        extras = max(len(call.dtypes) - first, 0)
        inner = Call(
            call.name, base, version, attrs, call.dtypes[:first], call.outputs,
            call.constants[:first],
        )  # fmt: skip
        product, program = row.make(inner), _program(call, 1 + extras)

        def run(*given: Any) -> Any:
            result = product(*given[:first])
            y = program(result, *given[first:])
            if y.shape != result.shape:
                raise errors.InvalidArgumentError(
                    message=f"the program makes {list(y.shape)} of the product "
                    f"{list(result.shape)}; it must keep the shape"
                )
            return y

        return run

    return make


for _op in PRODUCTS:
    kernel(_op, domain="graphio", fresh=True)(_product(_op))
