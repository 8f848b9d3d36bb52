"""Summaries of tensors by their names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphio.framework.collections import GraphKeys, add_to_collection
from graphio.framework.graph import Tensor
from graphio.ops.nn.core import zero_fraction
from graphio.ops.state.console import Print
from graphio.summary import ops as summary
from graphio.support import api_guard

__all__ = [
    "add_histogram_summaries",
    "add_histogram_summary",
    "add_image_summaries",
    "add_image_summary",
    "add_scalar_summaries",
    "add_scalar_summary",
    "add_zero_fraction_summaries",
    "add_zero_fraction_summary",
]


def _name(tensor: Any, name: str | None, prefix: str | None, ending: str | None = None) -> str:
    return "/".join(part for part in (prefix, name or tensor.op.name, ending) if part)


def _summarized(summarize: Any, tensor: Any, name: str, print_summary: bool) -> Tensor:
    """The summary; with print_summary it joins SUMMARIES in a form that also prints the tensor."""
    if not print_summary:
        return summarize(name, tensor)  # type: ignore[no-any-return]
    printed = Print(summarize(name, tensor, collections=[]), [tensor], name)
    add_to_collection(GraphKeys.SUMMARIES, printed)
    return printed


@api_guard.guarded
def add_histogram_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None
) -> Tensor:
    """A histogram of a tensor; name None: the tensor's."""
    return summary.histogram(_name(tensor, name, prefix), tensor)


@api_guard.guarded
def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Pictures of a tensor (n, height, width, channels); print_summary: print it, too."""
    return _summarized(summary.image, tensor, _name(tensor, name, prefix), print_summary)


@api_guard.guarded
def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """The value of a scalar; print_summary: print it, too."""
    return _summarized(summary.scalar, tensor, _name(tensor, name, prefix), print_summary)


@api_guard.guarded
def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """The share of zeros of a tensor; print_summary: print it, too."""
    full = _name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return _summarized(summary.scalar, zero_fraction(tensor), full, print_summary)


@api_guard.guarded
def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Histograms of tensors."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


@api_guard.guarded
def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Pictures of tensors."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


@api_guard.guarded
def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Tensor]:
    """The values of scalars."""
    return [
        add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors
    ]


@api_guard.guarded
def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """The shares of zeros of tensors."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
