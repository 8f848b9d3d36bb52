"""Namespaces whose names are looked up when they are first used.

A namespace such as tf.train collects names of many modules, and a part of graphio that imports one
of these would load all. So the namespace has a table, the names by the modules that have them:

    _NAMES = {"graphio.train.checkpoints.saver": ("Saver",), ...}
    lazy_names.install(__name__, _NAMES, refusals.getter(__name__))

tools/gen_stubs.py writes the tables of NAMESPACES as imports for type checkers and editors.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["NAMESPACES", "install", "namespace_of"]

#: those that have a table
NAMESPACES = (
    "graphio.contrib.data",
    "graphio.contrib.distributions",
    "graphio.contrib.framework",
    "graphio.contrib.layers",
    "graphio.contrib.learn",
    "graphio.contrib.losses",
    "graphio.contrib.opt",
    "graphio.contrib.slim",
    "graphio.contrib.summary",
    "graphio.contrib.training",
    "graphio.distribute",
    "graphio.train",
)

#: the namespace of a name by the module that has it and the name
_namespaces: dict[tuple[str, str], str] = {}


class _Namespace(types.ModuleType):
    """A module with a table of names. A submodule does not hide the function of its name, such as
    arg_scope of the module arg_scope."""

    _module_of: dict[str, str]
    _otherwise: Callable[[str], Any]

    def __getattr__(self, name: str) -> Any:
        found = vars(self)  # an attribute that is missing would come here again
        module = found["_module_of"].get(name) if "_module_of" in found else None
        if module is None:
            return found["_otherwise"](name)
        if module == self.__name__:  # a submodule: its import sets the attribute
            return importlib.import_module(f"{module}.{name}")
        value = getattr(__import__(module, fromlist=(name,)), name)
        if isinstance(value, types.ModuleType):
            self._guard(value)
        found[name] = _boundary().export(value, self.__name__, name)
        return found[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            module = self._module_of.get(name)
            if module not in (None, self.__name__):
                return
            if module is not None:
                self._guard(value)
        super().__setattr__(name, value)

    def _guard(self, module: types.ModuleType) -> None:
        """Gives the functions of a module inside this one their public forms."""
        if module.__name__.startswith(self.__name__ + "."):
            _boundary().guard_namespace(module)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self._module_of})

    def __reduce__(self) -> tuple[Any, ...]:
        # of a class other than a module's, which pickles of functions that use it would refuse
        return importlib.import_module, (self.__name__,)


def install(
    namespace: str, table: Mapping[str, tuple[str, ...]], otherwise: Callable[[str], Any]
) -> None:
    """Lets a namespace look up its names by a table, which also gives it __all__.

    Functions get their public forms (api_boundary.py) when they are looked up.

    Args:
        namespace: the full name of its module.
        table: names by the full names of the modules that have them, as `from module import name`
            says. The namespace itself is the module of its public submodules.
        otherwise: called with a name that the table lacks; it raises AttributeError.
    """
    module = sys.modules[namespace]
    module_of = {name: home for home, names in table.items() for name in names}
    for name, home in module_of.items():
        if home.startswith(namespace + "."):
            _namespaces[home, name] = namespace  # which counts, though others may have it, too
        else:
            _namespaces.setdefault((home, name), namespace)
    vars(module).update(_module_of=module_of, _otherwise=otherwise, __all__=sorted(module_of))
    module.__class__ = _Namespace


def namespace_of(module: str, name: str) -> str | None:
    """The namespace whose table has a name of a module; None without one."""
    return _namespaces.get((module, name))


def _boundary() -> Any:
    """The module of framework, which is above this package; a namespace has loaded it."""
    return importlib.import_module("graphio.framework.api_boundary")
