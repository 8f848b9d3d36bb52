"""The registry of engines: what runs models, by name.

An engine is a module with the functions of `graphio.engine.interface.EngineModule`. It is imported
when a model is opened, not before: cinfer has a compiled part that may be missing. A new engine is
one row of ENGINES; code that works with any engine asks the row what the engine can do, and never
compares names.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import os
import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from graphio.framework import source as program
from graphio.support import errors

if TYPE_CHECKING:
    from graphio import cinfer, runtime
    from graphio.engine.interface import EngineModule, Model, State

    #: a type checker refuses a module that lacks what the interface asks
    _CHECKED: tuple[EngineModule, ...] = (runtime, cinfer)

__all__ = ["ENGINES", "Engine", "choose", "load"]


@dataclass(frozen=True)
class Engine:
    """Description of an engine, known before the engine is imported.

    Attributes:
        name: the target that chooses it.
        module: the full name of its module.
        options: of its `load`, in addition to those that every engine has. An engine has "threads"
            if a run uses several, and "separate" if it shows the operations of a run one by one.
        trusting: options of its `load` for bytes that this process has just written: they spare
            checks and limits.
        rewritten: whether a session rewrites a graph before this engine gets it; an engine that
            joins operations itself is better off with the graph as it was built.
    """

    name: str
    module: str
    options: frozenset[str] = frozenset()
    trusting: Mapping[str, Any] = field(default_factory=dict)
    rewritten: bool = True

    def has(self, option: str) -> bool:
        """Whether `load` has an option that not every engine has."""
        return option in self.options

    def load(self, source: str | os.PathLike[str] | bytes, **options: Any) -> Model:
        """Opens a model file, or its bytes; see the `load` of the engine's module.

        Raises:
            UnimplementedError: operators that the engine lacks; names another engine that has them.
        """
        opened: Callable[..., Model] = self.imported().load
        try:
            return opened(source, **options)
        except errors.UnimplementedError as error:
            other = self._other_for(source, options.get("host"))
            if other is None:
                raise
            hint = f'{error.message}; target="{other.name}" has them'
            raise errors.UnimplementedError(error.node_def, error.op, hint) from None

    def _other_for(self, source: Any, host: Any) -> Engine | None:
        """Another engine, which has all operators of a model that this one does not run."""
        for other in ENGINES.values():
            if other is not self:
                with contextlib.suppress(errors.OpError, ImportError):
                    other.imported().load(source, host=host, lazy=True)
                    return other
        return None

    def new_state(self) -> State:
        """An empty state."""
        return self.imported().new_state()

    def imported(self) -> EngineModule:
        """The engine's module. Raises ImportError: its compiled part is missing."""
        return cast("EngineModule", importlib.import_module(self.module))


_CINFER = Engine(
    "cinfer",
    "graphio.cinfer",
    options=frozenset(("isa", "limits", "operators", "threads", "timeout")),
    trusting={"limits": {"max_load": (1 << 32) - 1}},
)
_RUNTIME = Engine(
    "runtime",
    "graphio.runtime",
    options=frozenset(("separate", "trusted")),
    trusting={"trusted": True},
    rewritten=False,
)
#: name to engine; the first one is the default
ENGINES = {engine.name: engine for engine in (_CINFER, _RUNTIME)}
#: of the environment: the engine of whatever names none
_VARIABLE = "GRAPHIO_TARGET"
_CHOOSING = threading.Lock()


def choose(target: str = "") -> Engine:
    """The engine of a name; of "" the one that the environment names, else the default one.

    Everything that runs a model asks here: sessions, the functions that load, the command line.

    Raises:
        ValueError: there is no such engine; says which there are.
    """
    name = target or os.environ.get(_VARIABLE, "")
    if not name:
        with _CHOOSING:
            return _default()
    if name not in ENGINES:
        what = "target" if target else f"the environment variable {_VARIABLE}"
        known = ["''", *map(repr, ENGINES)]
        raise ValueError(f"{what} is {name!r}, expected {', '.join(known[:-1])} or {known[-1]}")
    return ENGINES[name]


@functools.cache
def _default() -> Engine:
    """The first engine, or with a warning the second, where the first was not compiled."""
    first, second = itertools.islice(ENGINES.values(), 2)
    try:
        first.imported()
    except ImportError as error:
        warnings.warn(
            f"models run in the engine {second.name!r}, which is slower, because {first.name!r} is "
            f"not there: {error}. target={second.name!r}, or {_VARIABLE}={second.name} in the "
            "environment, chooses it without this warning",
            RuntimeWarning,
            stacklevel=program.user_level(),
        )
        return second
    return first


def load(target: str, source: str | os.PathLike[str] | bytes, **options: Any) -> Model:
    """Opens a model file, or its bytes, in the engine of a name.

    Args:
        target: as for `choose`.
        source: a path, a URL of an object store, or what the file would hold.
        options: of the `load` of the engine's module.

    Raises:
        ValueError: an unknown target.
        OpError: as the engine's `load`.
    """
    return choose(target).load(source, **options)
