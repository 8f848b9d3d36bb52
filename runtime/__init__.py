"""The Python runtime: runs model files with numpy, training included.

    model = graphio.runtime.load("digits.gio")
    model.signature("predict")(x=images)["probabilities"]

It is the reference of the two engines and the one to debug with; graphio.cinfer has the same
interface. Runs on one state wait for each other.
"""

from __future__ import annotations

from graphio.runtime import kernels
from graphio.runtime.model import Model, Signature, load
from graphio.runtime.state import State, new_state

kernels.load_all()

__all__ = ["Model", "Signature", "State", "load", "new_state"]
