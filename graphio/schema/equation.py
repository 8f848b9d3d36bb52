"""Einsum's equations: labels of operands and output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Equation", "parse"]

ELLIPSIS = "..."


@dataclass(frozen=True)
class Equation:
    """The labels of an equation for operands of known ranks.

    Attributes:
        terms: for each operand one label an axis: a letter, or "1", "2", ... for the axes of the
            ellipsis, counted from its end.
        output: labels of the result.
    """

    terms: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]


def parse(text: str, ranks: Sequence[int]) -> Equation:
    """Reads an equation.

    Args:
        text: as ONNX's Einsum takes it: letters, "...", ",", "->" and spaces.
        ranks: of the operands.

    Raises:
        ValueError: the string is not an equation, or does not fit the ranks.
    """
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = [_term(t) for t in left.split(",")]
    if len(terms) != len(ranks):
        more = "more" if len(terms) > len(ranks) else "fewer"
        raise ValueError(f"the equation has {more} terms than the {len(ranks)} inputs")
    bound = [_bind(t, rank, i) for i, (t, rank) in enumerate(zip(terms, ranks, strict=True))]
    dots = max((term for term in (_dots(b) for b in bound)), key=len)
    if arrow:
        written = _term(right)
        output = [b for t in written for b in (dots if t == ELLIPSIS else [t])]
    else:
        uses = Counter(t for term in terms for t in term)
        output = dots + sorted(t for t, n in uses.items() if n == 1 and t != ELLIPSIS)
    known = {label for term in bound for label in term}
    for label in output:
        if label not in known or output.count(label) > 1:
            why = "is in no input" if label not in known else "occurs twice"
            raise ValueError(f"label {label} of the output {why}")
    return Equation(tuple(map(tuple, bound)), tuple(output))


def _term(text: str) -> list[str]:
    found: list[str] = []
    i = 0
    while i < len(text):
        if text.startswith(ELLIPSIS, i) and ELLIPSIS not in found:
            found.append(ELLIPSIS)
            i += len(ELLIPSIS)
            continue
        if not (text[i].isascii() and text[i].isalpha()):
            raise ValueError(f"the equation has {text[i]!r}: neither letter nor ellipsis")
        found.append(text[i])
        i += 1
    return found


def _bind(term: Sequence[str], rank: int, i: int) -> list[str]:
    extra = rank - len(term) + 1
    if (extra < 0) if ELLIPSIS in term else (rank != len(term)):
        named = len(term) - (ELLIPSIS in term)
        raise ValueError(f"term {i} of the equation names {named} axes, input {i} has rank {rank}")
    axes = [str(extra - e) for e in range(extra)]
    return [label for t in term for label in (axes if t == ELLIPSIS else [t])]


def _dots(term: Sequence[str]) -> list[str]:
    return [label for label in term if label.isdigit()]
