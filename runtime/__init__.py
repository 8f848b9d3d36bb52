"""The Python runtime: runs model files with numpy, training included.

    model = graphio.runtime.load("digits.gio")
    model.signature("predict")(x=images)["probabilities"]

It is the reference of the two engines and the one to debug with; graphio.cinfer has the same
interface. Runs on one state wait for each other.

May import engine, schema, storage and support; numpy is its only library. The folder is
graphio/runtime as well, by a link.

    model            loading; program: the graphs as objects
    plan, steps      a run is compiled to steps once; fusing: fewer steps; choosing, quiet: cheaper
    parallel         steps at the same time; stepping: one by one; watch: times and values
    registry         which function computes an operator, and which types it takes; kernels/
    half, small      types that numpy computes in float32, or lacks
    state, philox    variables and random generators; failure: errors of a run
    regex, letters, erf    what numpy and Python do otherwise or lack
"""

from __future__ import annotations

from graphio.runtime import kernels
from graphio.runtime.model import Model, Signature, load
from graphio.runtime.state import State, new_state
from graphio.support import public_path

kernels.load_all()

__all__ = ["Model", "Signature", "State", "load", "new_state"]

public_path.name_classes(__name__, globals())
