"""Installs the hook at the first `import tensorflow` of a process, and gives graphio."""

from __future__ import annotations

import importlib
import sys

from graphio.python import hook

__all__: list[str] = []

if __name__ == "tensorflow":
    del sys.modules[__name__]
    hook.install(force=True)
    importlib.import_module(__name__)
