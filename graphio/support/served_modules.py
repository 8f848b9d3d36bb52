"""Modules without files: tables say which modules there are and where their names are found."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Served", "install", "walk"]

#: by a module's path: the function that finds its names; None where there is no such module
Find = Callable[[str], Callable[[str], Any] | None]


class Served(types.ModuleType):
    """A module whose names are found when they are first used.

    Args:
        name: its path.
        find: the value of a name. Raises AttributeError where there is none.
    """

    def __init__(self, name: str, find: Callable[[str], Any]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._find = find

    def __getattr__(self, name: str) -> Any:
        try:
            value = self._find(name)
        except AttributeError:
            value = sys.modules.get(f"{self.__name__}.{name}")
            if value is None:
                raise
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets an attribute. The import of a module below sets it here: it hides no name, such as
        the function arg_scope of the module arg_scope."""
        super().__setattr__(name, value)
        if isinstance(value, Served) and value.__name__ == f"{self.__name__}.{name}":
            super().__delattr__(name)
            getattr(self, name)


class _Finder:
    """Finds the modules below a package.

    Args:
        prefix: the package's path with a dot.
        find: see install.
        refuse: why there is no such module, as the text of an error; None: nothing is known.
    """

    def __init__(self, prefix: str, find: Find, refuse: Callable[[str], str | None]) -> None:
        self.prefix, self._find, self._refuse = prefix, find, refuse

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a module of the tables; None for any other name.

        Raises:
            ModuleNotFoundError: the tables have a reason why there is no such module.
        """
        if not fullname.startswith(self.prefix):
            return None
        if self._find(fullname) is not None:
            loader: Any = self  # importlib.abc, whose Loader it may be, imports tempfile and more
            return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)
        if importlib.machinery.PathFinder.find_spec(fullname, path) is None:
            text = self._refuse(fullname)
            if text is not None:
                raise ModuleNotFoundError(text, name=fullname)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The module, without any name yet."""
        find = self._find(spec.name)
        assert find is not None
        return Served(spec.name, find)

    def exec_module(self, module: types.ModuleType) -> None:
        """Runs nothing: names are found when they are used."""


def install(package: str, find: Find, refuse: Callable[[str], str | None]) -> None:
    """Makes the modules below a package importable, once.

    Args:
        package: its path.
        find: gives, for the path of a module, the function that finds its names.
        refuse: the text of the error for a module that is not there; None: Python's own.
    """
    prefix = package + "."
    known = (isinstance(f, _Finder) and f.prefix == prefix for f in sys.meta_path)
    if not any(known):
        sys.meta_path.insert(0, _Finder(prefix, find, refuse))


def walk(path: str) -> Any:
    """The value of a public path such as nn.rnn_cell.GRUCell, or of module:name inside graphio.

    Raises:
        AttributeError: there is no such name.
    """
    module, colon, names = path.partition(":")
    found = importlib.import_module(module if colon else "graphio")
    for name in (names if colon else path).split(".") if path else ():
        found = _part(found, name)
    return found


def _part(value: Any, name: str) -> Any:
    """An attribute; of a package also a module that no program has imported."""
    try:
        return getattr(value, name)
    except AttributeError:
        path = f"{getattr(value, '__name__', '')}.{name}"
        if not hasattr(value, "__path__") or importlib.util.find_spec(path) is None:
            raise
        return importlib.import_module(path)
