"""Makes `import tensorflow` import graphio, for programs that stay as they are.

    from graphio.python import hook; hook.install()

or `python -m graphio program.py`. Then `import tensorflow as tf`, `import tensorflow.compat.v1 as
tf` and `from tensorflow.python.framework import ops` give graphio's modules, under both names the
same objects. tf.__version__ is "1.15.5", the version of the interface; graphio's own is
tf.graphio_version.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from pathlib import Path

__all__ = ["install", "uninstall"]

#: packages that programs import TensorFlow by; 1.15 has its files in the second
_ROOTS = ("tensorflow", "tensorflow_core")


#: see there
_SPAWNED = str(Path(__file__).parent / "spawned")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds tensorflow and the modules below it: each is the module of graphio's that is served."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of TensorFlow; None for any other name, and for one that TensorFlow
        does not have either. It imports the modules around it.

        Raises:
            ModuleNotFoundError: graphio has a reason why there is no such module.
        """
        root = fullname.partition(".")[0]
        if root not in _ROOTS or not _is_there(_own(fullname), fullname):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """graphio's module.

        Raises:
            ModuleNotFoundError: there is none.
        """
        module = _module(_own(spec.name), spec.name)
        _specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Gives the module, which has run before, its own spec again, and makes it a package for
        `import tensorflow.nn.rnn_cell`."""
        if not hasattr(module, "__path__"):
            module.__path__ = []
        module.__spec__ = next(
            spec for name, spec in reversed(_specs.items()) if sys.modules.get(name) is module
        )


#: by name of TensorFlow: the spec of the module of graphio
_specs: dict[str, importlib.machinery.ModuleSpec | None] = {}


def _own(name: str) -> str:
    """The path in graphio of a path of TensorFlow."""
    return "graphio" + name[len(name.partition(".")[0]) :]


def _is_there(own: str, name: str) -> bool:
    """Whether _module gives one. Raises its ModuleNotFoundError where that has a reason."""
    if own == "graphio":
        return True
    parent, _, last = own.rpartition(".")
    try:
        if importlib.util.find_spec(own) is not None:
            return True
    except ModuleNotFoundError as error:
        if error.name != own:
            raise
    try:
        _module(own, name)
    except ModuleNotFoundError as error:
        if str(error) == f"module {parent!r} has no attribute {last!r}":
            return False
        raise
    return True


def _module(own: str, name: str) -> types.ModuleType:
    """graphio's module of a path: a file or served, or a namespace such as tf.nn.rnn_cell.

    Args:
        own: graphio and the path.
        name: the path that the program imports.
    """
    if own == "graphio":
        return importlib.import_module(own)
    _ = importlib.import_module("graphio").Graph  # the builder's functions are guarded from here on
    parent, _, last = own.rpartition(".")
    try:
        return importlib.import_module(own)
    except ModuleNotFoundError as error:
        if error.name is None or not own.startswith(error.name):
            raise
        try:
            found = getattr(importlib.import_module(parent), last)
        except AttributeError as missing:
            raise ModuleNotFoundError(str(missing), name=name) from error
        if not isinstance(found, types.ModuleType):
            raise ModuleNotFoundError(f"{name} is not a module", name=name) from error
        return found


def install(force: bool = False) -> None:
    """Makes `import tensorflow` import graphio in this process, once.

    Args:
        force: also where TensorFlow is installed.

    Raises:
        ImportError: TensorFlow is installed and force is False, or it is imported already.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for root in _ROOTS:
        if root in sys.modules:
            raise ImportError(f"{root} is imported already; install the hook before that")
    found = None if force else importlib.util.find_spec("tensorflow")
    if found is not None and found.origin is not None:  # None: a folder of that name, no package
        raise ImportError(
            f"TensorFlow is installed in {found.origin}: give force=True (python -m graphio "
            "--force program.py) to run the program by graphio all the same"
        )
    sys.meta_path.insert(0, _Finder())
    if _SPAWNED not in sys.path:
        sys.path.insert(0 if force else len(sys.path), _SPAWNED)


def uninstall() -> None:
    """Takes the hook and the modules under TensorFlow's names out of this process."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    for name in list(sys.modules):
        if name.partition(".")[0] in _ROOTS:
            del sys.modules[name]
    _specs.clear()
    sys.path[:] = [folder for folder in sys.path if folder != _SPAWNED]
