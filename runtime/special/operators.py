"""The operators: computed in float64 and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.special import bessel, incomplete_beta, incomplete_gamma, zeta
from graphio.runtime.special.exact import Array, Function


def _wide(fn: Function) -> Function:
    """fn over the elements of the inputs, which broadcast."""

    def run(*inputs: Any) -> Array:
        wide = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in inputs))
        found: Array = fn(*(x.ravel() for x in wide))
        return found.reshape(wide[0].shape).astype(inputs[0].dtype, copy=False)

    return run


#: (operator, function, types as in registry.Row)
ROWS: tuple[tuple[str, Function, str], ...] = (
    ("Igamma", _wide(incomplete_gamma.igamma), "FF"),
    ("Igammac", _wide(incomplete_gamma.igammac), "FF"),
    ("IgammaGradA", _wide(incomplete_gamma.igamma_grad_a), "FF"),
    ("Betainc", _wide(incomplete_beta.betainc), "FFF"),
    ("Zeta", _wide(zeta.zeta), "FF"),
    ("Polygamma", _wide(zeta.polygamma), "FF"),
    ("BesselI0", _wide(bessel.bessel_i0), "F"),
    ("BesselI0e", _wide(bessel.bessel_i0e), "F"),
    ("BesselI1", _wide(bessel.bessel_i1), "F"),
    ("BesselI1e", _wide(bessel.bessel_i1e), "F"),
    ("NextAfter", np.nextafter, "RR"),
)
