"""cinfer from Python: runs model files in C, training included.

    model = graphio.cinfer.load("digits.gio")
    model.signature("predict")(x=images)["probabilities"]

The interface is that of `graphio.runtime`. A run is one C call without the GIL. Runs on one state
wait for each other; models with states of their own run side by side. After os.fork() a child may
use the models it inherited that no other thread was running; there they run on one thread.
"""

from __future__ import annotations

from graphio.cinfer.model import Model, Stats, load
from graphio.cinfer.signature import Signature
from graphio.cinfer.state import State, new_state

__all__ = ["Model", "Signature", "State", "Stats", "load", "new_state"]
