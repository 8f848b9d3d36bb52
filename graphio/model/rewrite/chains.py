"""Elementwise operators that read one another become one FusedElementwise: one pass over memory.

A group grows from its last node backwards, over nodes whose values have no other reader and that
have the same shape, so that nothing is computed more often than before.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from graphio.model.rewrite.program import Maker, literal, step_of
from graphio.model.rewrite.work import Work
from graphio.schema import fused
from graphio.schema.nodes import PlainNode

__all__ = ["apply", "grow"]


def apply(work: Work) -> int:
    """Fuses groups of two or more; returns how many nodes went."""
    count = 0
    done: set[str] = set()
    for node in reversed(work.having(fused.BY_NODE)):
        if node.name in done or step_of(work, node) is None:
            continue
        group, inputs = grow(work, node)
        done.update(n.name for n in group)
        if len(group) > 1 and inputs:
            _fuse(work, group, inputs)
            count += len(group) - 1
    return count


def grow(work: Work, last: PlainNode) -> tuple[list[PlainNode], list[str]]:
    """The group that ends in a node, in order, and the values that it reads from outside."""
    group, names = [last], {last.name}
    inputs = _inputs(work, group)
    refused: set[str] = set()
    while True:
        found = next(
            (
                maker
                for value in inputs
                if value not in refused
                and (maker := work.of(value)) is not None
                and _may_join(work, maker, names, last)
            ),
            None,
        )
        if found is None:
            return group, inputs
        larger, values = _larger(work, group, inputs, found)
        if _fits(larger, values):
            group, inputs = larger, values
            names.add(found.name)
        else:
            refused.add(found.name)


def _larger(
    work: Work, group: Sequence[PlainNode], inputs: Sequence[str], found: PlainNode
) -> tuple[list[PlainNode], list[str]]:
    """A group with one more node, in order, and its inputs."""
    if work.position[found.name] < work.position[group[0].name]:
        values = [*_inputs(work, [found]), *(v for v in inputs if v != found.name)]
        return [found, *group], list(dict.fromkeys(values))
    larger = sorted([found, *group], key=lambda n: work.position[n.name])
    return larger, _inputs(work, larger)


def _may_join(work: Work, node: PlainNode, group: set[str], last: PlainNode) -> bool:
    return (
        step_of(work, node) is not None
        and node.form.device == last.form.device
        and work.is_free(node)
        and work.readers[node.name].keys() <= group
        and _same_shape(work, node.name, last.name)
    )


def _same_shape(work: Work, one: str, other: str) -> bool:
    """As far as is known: where it is wrong, something is only computed more often."""
    left, right = work.shape(one), work.shape(other)
    return left is not None and left == right


def _inputs(work: Work, group: Sequence[PlainNode]) -> list[str]:
    """Values that a group reads from outside, but for numbers that are literals."""
    inside = {n.name for n in group}
    found: dict[str, None] = {}
    for node in group:
        step = step_of(work, node)
        assert step is not None
        found.update(dict.fromkeys(v for v in step.values if v not in inside))
    return [v for v in found if literal(work, v) is None]


def _fits(group: Sequence[PlainNode], inputs: Sequence[str]) -> bool:
    """Whether a program can hold the group."""
    if len(group) > fused.MOST_STEPS or len(inputs) > fused.MOST_INPUTS:
        return False
    if len(group) < fused.MOST_RESULTS:
        return True
    last = {value: k for k, node in enumerate(group) for value in node.input}
    changes = [0] * (len(group) + 1)  # of how many results are kept for later steps
    for k, node in enumerate(group):
        end = last.get(node.name, 0)
        if end > k + 1:
            changes[k + 1] += 1
            changes[end] -= 1
    return max(itertools.accumulate(changes)) < fused.MOST_RESULTS - 1


def _fuse(work: Work, group: Sequence[PlainNode], inputs: Sequence[str]) -> None:
    last = group[-1]
    maker = Maker(work, inputs)
    for node in group:
        maker.add(node)
    form = last.form.like("FusedElementwise", "graphio", 1)
    made = PlainNode(last.name, form, inputs, last.control_input)
    for node in group[:-1]:
        work.remove(node)
    work.put(made, last)
    work.programs[last.name] = maker.program()
