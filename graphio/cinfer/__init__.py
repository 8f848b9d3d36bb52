"""cinfer from Python: runs model files in C, training included.

    model = graphio.cinfer.load("digits.gio")
    model.signature("predict")(x=images)["probabilities"]

The interface is that of `graphio.runtime`. A run is one C call without the GIL. Runs on one state
wait for each other; models with separate states run side by side. After os.fork() a child may
use the models it inherited that no other thread was running; there they run on one thread.

May import engine, schema, storage and support. tools/gen_ffi.py cuts the declarations from
cinfer.h and compiles them with runner.c, lock.c and times.c to the module `_native`.

    model, signature, state    the interface of engines
    feeds            checks of feeds and their errors; a run of plain tensors is one call of
                     runner.c. lock.c is the fast part of graphio/engine/run_lock.py
    arrays, host, custom, limits, status, watch    parts of cinfer.h
    file_functions   checksums and files by C; compiled: finds `_native` for an import from sources
    __main__         compiler flags for C programs that link the installed library
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
from graphio.support import public_path  # noqa: E402

__all__ = ["Model", "Signature", "State", "Stats", "load", "new_state"]

public_path.name_classes(__name__, globals())
