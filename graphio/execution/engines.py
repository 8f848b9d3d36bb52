"""The registry of engines: what runs models, by name.

An engine is a module with the functions of `graphio.engine.interface.EngineModule`. It is imported
when a model is opened, not before: cinfer has a compiled part that may be missing. A new engine is
one row of ENGINES; code that works with any engine asks the row what the engine can do, and never
compares names.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from graphio import cinfer, runtime
    from graphio.engine.interface import EngineModule, Model, State

    #: a type checker refuses a module that lacks what the interface asks
    _CHECKED: tuple[EngineModule, ...] = (runtime, cinfer)

__all__ = ["ENGINES", "Engine", "choose", "listed", "load", "session_target"]


@dataclass(frozen=True)
class Engine:
    """Description of an engine, known before the engine is imported.

    Attributes:
        name: the target that chooses it.
        module: the full name of its module.
        description: what it is in a list of engines; "": its name says it.
        options: of its `load`, in addition to those that every engine has. An engine has "threads"
            if a run uses several, and "separate" if it shows the operations of a run one by one.
        trusting: options of its `load` for bytes that this process has just written: they spare
            checks and limits.
        rewritten: whether a session rewrites a graph before this engine gets it; an engine that
            joins operations itself is better off with the graph as it was built.
    """

    name: str
    module: str
    description: str = ""
    options: frozenset[str] = frozenset()
    trusting: Mapping[str, Any] = field(default_factory=dict)
    rewritten: bool = True

    def has(self, option: str) -> bool:
        """Whether `load` has an option that not every engine has."""
        return option in self.options

    def load(self, source: str | os.PathLike[str] | bytes, **options: Any) -> Model:
        """Opens a model file, or its bytes; see the `load` of the engine's module."""
        opened: Callable[..., Model] = self._imported().load
        return opened(source, **options)

    def new_state(self) -> State:
        """An empty state."""
        return self._imported().new_state()

    def _imported(self) -> EngineModule:
        return cast("EngineModule", importlib.import_module(self.module))


_RUNTIME = Engine(
    "runtime",
    "graphio.runtime",
    "the Python runtime",
    options=frozenset(("separate", "trusted")),
    trusting={"trusted": True},
    rewritten=False,
)
_CINFER = Engine(
    "cinfer",
    "graphio.cinfer",
    options=frozenset(("isa", "limits", "operators", "threads", "timeout")),
    trusting={"limits": {"max_load": (1 << 32) - 1}},
)
#: name to engine; the first one is the default
ENGINES = {engine.name: engine for engine in (_RUNTIME, _CINFER)}
#: of the environment: the engine of sessions whose program names none
_VARIABLE = "GRAPHIO_TARGET"


def choose(target: str) -> Engine:
    """The engine of a name; of "" the default one.

    Raises:
        ValueError: there is no such engine; says which there are.
    """
    if not target:
        return next(iter(ENGINES.values()))
    if target not in ENGINES:
        known = ["''", *map(repr, ENGINES)]
        raise ValueError(f"target is {target!r}, expected {', '.join(known[:-1])} or {known[-1]}")
    return ENGINES[target]


def session_target(given: str) -> str:
    """The target of a session: the one given, else the one that the environment names, else ""."""
    return given or os.environ.get(_VARIABLE, "")


def listed() -> str:
    """The engines in a sentence: "'runtime' (the Python runtime) and 'cinfer'"."""
    strings = [
        f"{engine.name!r} ({engine.description})" if engine.description else repr(engine.name)
        for engine in ENGINES.values()
    ]
    return " and ".join([", ".join(strings[:-1]), strings[-1]])


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
