"""cinfer from Python: runs model files in C, training included.

    model = graphio.cinfer.load("digits.gio")
    model.signature("predict")(x=images)["probabilities"]

The interface is that of `graphio.runtime`. A run is one C call without the GIL. Runs on one state
wait for each other; models with states of their own run side by side. After os.fork() a child may
use the models it inherited that no other thread was running; there they run on one thread.
"""

from __future__ import annotations

import importlib.util
import sys

_NATIVE = "graphio.cinfer._native"
if _NATIVE not in sys.modules and importlib.util.find_spec(_NATIVE) is None:
    from graphio.cinfer import compiled

    compiled.load_installed()

from graphio.cinfer.model import Model, Stats, load  # noqa: E402
from graphio.cinfer.signature import Signature  # noqa: E402
from graphio.cinfer.state import State, new_state  # noqa: E402

__all__ = ["Model", "Signature", "State", "Stats", "load", "new_state"]
