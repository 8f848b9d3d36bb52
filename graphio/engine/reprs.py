"""One line about a model, signature or state of either engine: what `repr` gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphio.schema import dtypes
from graphio.support import errors, html

if TYPE_CHECKING:
    from graphio.engine.interface import TensorSpec

__all__ = ["model", "signature", "state"]

Specs = Mapping[str, "TensorSpec"]
_MOST = 8  # names or specs that a line lists


def signature(engine: str, name: str, inputs: Specs, outputs: Specs) -> str:
    """ "<graphio.cinfer.Signature 'predict': x float32[?,2] -> y float32[?,1]>"."""
    ends = f"{_specs(inputs)} -> {_specs(outputs)}"
    return errors.printable(f"<graphio.{engine}.Signature {name!r}: {ends}>")


def model(engine: str, signatures: Sequence[str], held: Any, more: str = "") -> str:
    """ "<graphio.cinfer.Model of 'predict', 'train': 3 variables, avx2>"."""
    count = len(held.names())
    facts = [f"{count} {'variable' if count == 1 else 'variables'}", *filter(None, [more])]
    names = _listed(map(repr, signatures))
    return errors.printable(f"<graphio.{engine}.Model of {names}: {', '.join(facts)}>")


def state(engine: str, held: Any) -> str:
    """ "<graphio.cinfer.State: w float32[2,1], b without value>"."""
    with held.lock:
        names = held.names()
        rows = [_variable(held, name) for name in names[:_MOST]]
    rows += [""] * (len(names) - _MOST)
    return errors.printable(f"<graphio.{engine}.State: {_listed(rows)}>")


def _variable(held: Any, name: str) -> str:
    if not held.initialized(name):
        return f"{name} without value"
    (value,) = held.views([name])
    return f"{name} {dtypes.of_numpy(value.dtype).name}{html.sizes(value.shape)}"


def _specs(specs: Specs) -> str:
    return _listed(
        f"{errors.one_line(name)} {' '.join((*spec.kinds, ''))}"
        f"{dtypes.of_numpy(spec.dtype).name}{html.sizes(spec.shape)}"
        for name, spec in specs.items()
    )


def _listed(parts: Iterable[str]) -> str:
    """The first of them, and how many follow; "nothing" where there is none."""
    found = list(parts)
    more = [f"and {len(found) - _MOST} more"] if len(found) > _MOST else []
    return ", ".join([*found[:_MOST], *more]) or "nothing"
