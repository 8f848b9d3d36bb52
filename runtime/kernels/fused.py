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
    _check_types(call)
    return _run(Program.read(call.attrs, len(call.dtypes)))


def _check_types(call: Call) -> None:
    for i, number in enumerate(call.dtypes):
        if number > 0 and number != fused.FLOAT:
            raise errors.UnimplementedError(message=f"input {i} is no float32")


def _run(program: Program) -> Callable[..., Any]:
    """The program as a function of its inputs."""
    literals = [np.float32(number) for number in program.literals]
    steps = [(_function(step), step) for step in program.steps]

    def run(*given: Any) -> Any:
        values = [*given]
        for function, step in steps:
            operands = [values[o] if o >= 0 else literals[-1 - o] for o in step.operands]
            try:
                values.append(function(*operands))
            except ValueError as error:
                raise _at(step.node, OPS[step.op], error, operands) from None
        return values[-1]

    return run


def _at(name: str, op: fused.Op, error: ValueError, operands: Sequence[Any]) -> Exception:
    """The error of a step with the name of the node that it was."""
    if not name:
        return error
    shapes = " and ".join(str(list(np.shape(x))) for x in operands)
    text = f"Incompatible shapes: {shapes}" if "broadcast" in str(error) else str(error)
    node = Node(name=name, op=op.op, domain=op.domain)
    return errors.InvalidArgumentError(node, None, f"{op.op} '{name}': {text}")


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
        _check_types(call)
        attrs = {k: v for k, v in call.attrs.items() if k not in fused.ATTRIBUTES}
        version = operators.version_for(base, domain, [fused.FLOAT], attributes=attrs)
        row = registry.find(domain, base, version)
        if row is None:
            raise errors.InternalError(message=f"there is no kernel of {base}")
        program = Program.read(call.attrs, max(1, len(call.dtypes) - first + 1), True)
        product = row.make(
            Call(program.product, base, version, attrs, call.dtypes[:first], call.outputs)
        )
        behind = _run(program)

        def run(*given: Any) -> Any:
            try:
                result = product(*given[:first])
            except errors.OpError as error:
                if program.product and not error.node_name:
                    node = Node(name=program.product, op=base, domain=domain)
                    text = f"{base} '{program.product}': {error.message}"
                    raise type(error)(node, None, text) from None
                raise
            y = behind(result, *given[first:])
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
