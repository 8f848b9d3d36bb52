"""tensorflow.python...: TensorFlow's inner modules, as programs import them.

    from graphio.python.framework import ops
    from graphio.python.ops import array_ops, rnn_cell_impl
    from graphio.contrib.rnn.python.ops import core_rnn_cell

The modules have no files. modules.json says which public name each name of TensorFlow 1.15.5's
modules is (tools/gen_tensorflow_names.py writes it), tables.py what goes beyond public names, and
internals/ has these functions. May import everything but core and command_line.

    modules          finds the modules and their names
    names            names.json: all public names of TensorFlow 1.15
    hook             makes `import tensorflow` import graphio
"""

from __future__ import annotations

from typing import Any

from graphio.python import modules as _modules

_modules.install("python")


def __getattr__(name: str) -> Any:
    return _modules.attribute("python", name)
