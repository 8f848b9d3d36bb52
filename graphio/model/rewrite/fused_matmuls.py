"""Fuses bias, activation and other elementwise operators into the matrix multiplication or
convolution before them, which applies them to each part of the result while it is in cache."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.model.rewrite.dimensions import Dimensions
from graphio.model.rewrite.program import Maker, literal, step_of
from graphio.model.rewrite.work import Work, attributes
from graphio.schema import fused
from graphio.schema.nodes import PlainNode

__all__ = ["apply"]

#: (domain, operator) to the fused operator and the index of its first extra input
_FUSED = {(domain, op): (name, first) for name, (domain, op, first) in fused.LINEAR.items()}


def apply(work: Work) -> int:
    """Joins linear operators with the elementwise ones after them; returns the nodes removed."""
    count = 0
    if not work.has(_FUSED):
        return 0
    dims = Dimensions(work)
    for node in reversed(work.ordered()):
        if node.name in work.nodes:
            count += _join(work, dims, node)
    return count


def _join(work: Work, dims: Dimensions, node: PlainNode) -> int:
    """Joins one elementwise node, or a fused one, with the last linear operator that it reads."""
    matmuls = [p for value in node.input if (p := work.of(value)) and _fits(work, dims, p, node)]
    program = _program(work, node) if matmuls else None
    if program is None:
        return 0
    inputs, whole = program
    for matmul in sorted(matmuls, key=lambda p: work.position[p.name], reverse=True):
        extras = [value for value in inputs if value != matmul.name]
        if all(_broadcasts(dims, value, matmul.name) for value in extras):
            _fuse(work, matmul, node, extras, _reordered(whole, inputs, [matmul.name, *extras]))
            return 1
    return 0


def _program(work: Work, node: PlainNode) -> tuple[list[str], fused.Program] | None:
    """The program that a node is, and its inputs."""
    if (node.domain, node.op) == ("graphio", "FusedElementwise"):
        program = work.programs.get(node.name)
        if program is None:
            program = fused.Program.read(attributes(node), len(node.input))
        return node.input, program
    step = step_of(work, node)
    if step is None:
        return None
    inputs = list(dict.fromkeys(v for v in step.values if literal(work, v) is None))
    maker = Maker(work, inputs)
    maker.add(node)
    return inputs, maker.program()


def _fits(work: Work, dims: Dimensions, matmul: PlainNode, node: PlainNode) -> bool:
    """Whether a node is a linear operator that only the elementwise node reads."""
    return (
        (matmul.domain, matmul.op) in _FUSED
        and matmul.form.device == node.form.device
        and matmul.form.types[0].dtype == fused.FLOAT
        and work.is_free(matmul)
        and work.readers[matmul.name].keys() == {node.name}
        and dims.of(matmul.name) == dims.of(node.name) is not None
    )


def _broadcasts(dims: Dimensions, value: str, matmul: str) -> bool:
    """Whether a value is known to broadcast to the linear operator's result."""
    shape, whole = dims.of(value), dims.of(matmul)
    if shape is None or whole is None or len(shape) > len(whole):
        return False
    pairs = zip(reversed(shape), reversed(whole), strict=False)
    return all(size in (1, other) for size, other in pairs)


def _reordered(program: fused.Program, old: Sequence[str], new: Sequence[str]) -> fused.Program:
    """The program with its inputs in another order."""
    new_position = [new.index(value) for value in old]

    def moved(operand: int) -> int:
        return new_position[operand] if 0 <= operand < len(old) else operand

    steps = [
        fused.Step(s.op, tuple(map(moved, s.operands)), s.numbers, s.node) for s in program.steps
    ]
    return fused.Program(tuple(steps), program.literals, new[0])


def _fuse(
    work: Work, matmul: PlainNode, node: PlainNode, extras: Sequence[str], program: fused.Program
) -> None:
    name, first = _FUSED[matmul.domain, matmul.op]
    own = list(matmul.input) + [""] * (first - len(matmul.input))
    if not extras:
        own = list(matmul.input)
    form = node.form.like(name, "graphio", 1)
    made = PlainNode(node.name, form, [*own, *extras], node.control_input, matmul.attr)
    work.remove(matmul)
    work.put(made, node)
    work.programs[node.name] = program
