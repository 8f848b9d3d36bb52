"""The guard of every public function and method, as tests/framework/api_guards.txt lists them.

python tests/framework/api_guards.py    rewrites the list; review what changed
"""

from __future__ import annotations

import functools
import textwrap
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import graphio as tf
from graphio.framework import api_boundary, scopes
from graphio.support.api_guard import Guard

FILE = Path(__file__).with_suffix(".txt")
#: namespaces whose functions are exported as they are, and why
UNGUARDED_NAMESPACES = {
    "app": "runs programs",
    "autograph": "it builds no graph",
    "autograph.experimental": "it builds no graph",
    "cinfer": "an engine: it builds no graph",
    "compat": "converts values of Python",
    "config": "describes processors and threads",
    "config.experimental": "describes processors",
    "config.optimizer": "keeps wishes",
    "config.threading": "counts threads",
    "dtypes": "looks dtypes up",
    "errors": "maps classes of errors to codes",
    "flags": "parses command lines",
    "gfile": "reads and writes files",
    "io": "its functions are exported by tf and tf.python_io",
    "io.gfile": "reads and writes files",
    "keras": "has data sets only",
    "keras.datasets": "has data sets only",
    "keras.datasets.boston_housing": "reads a data set",
    "keras.datasets.cifar10": "reads a data set",
    "keras.datasets.cifar100": "reads a data set",
    "keras.datasets.fashion_mnist": "reads a data set",
    "keras.datasets.imdb": "reads a data set",
    "keras.datasets.mnist": "reads a data set",
    "keras.datasets.reuters": "reads a data set",
    "layers.experimental": "chooses how layers make variables",
    "lookup.experimental": "it has a class alone",
    "logging": "writes messages",
    "nest": "takes structures of Python apart",
    "nn.rnn_cell": "has classes only",
    "resource_loader": "finds files",
    "runtime": "an engine: it builds no graph",
    "saved_model.constants": "has constants only",
    "saved_model.signature_constants": "has constants only",
    "saved_model.tag_constants": "has constants only",
    "schema": "the file format: it builds no graph",
    "timeline": "writes measurements of runs",
    "train.experimental": "has classes only",
    "train.queue_runner": "runs operations in threads",
    "version": "strings",
}


def namespaces() -> dict[str, types.ModuleType]:
    """The public modules by their path below tf."""
    found: dict[str, types.ModuleType] = {}
    pending = [(name, getattr(tf, name)) for name in sorted(tf._NAMESPACES)]
    while pending:
        path, module = pending.pop(0)
        if module is tf or module in found.values() or not module.__name__.startswith("graphio."):
            continue
        found[path] = module
        inside = [(name, getattr(module, name)) for name in getattr(module, "__all__", ())]
        pending += [(f"{path}.{n}", v) for n, v in inside if isinstance(v, types.ModuleType)]
    return found


def public_values() -> Iterator[tuple[str, str, Any]]:
    """Namespace, name and value of all that graphio exports."""
    for name in tf._MODULE_OF:
        yield "", name, getattr(tf, name)
    for path, module in namespaces().items():
        others = [name for names in getattr(module, "_OTHERS", {}).values() for name in names]
        for name in (*getattr(module, "__all__", ()), *others):
            yield path, name, getattr(module, name)


def public_functions() -> Iterator[tuple[str, str, types.FunctionType]]:
    """Namespace, name and function of every public function."""
    for path, name, value in public_values():
        if isinstance(value, types.FunctionType):
            yield path, name, value


def shown(path: str) -> str:
    """A namespace as programs write it."""
    return f"tf.{path}" if path else "tf"


def _layers(function: Callable[..., Any]) -> list[types.CodeType]:
    """The code of a function, of what it wraps and so on."""
    found = []
    while isinstance(function, types.FunctionType):
        found.append(function.__code__)
        function = getattr(function, "__wrapped__", None)  # type: ignore[assignment]
    return found


@functools.cache
def _codes() -> tuple[types.CodeType, ...]:
    """The code of the wrappers, the outermost of a function first."""

    def plain() -> None:
        pass

    wrappers: tuple[Callable[..., Any], ...] = (
        api_boundary.rolling_back_object,
        api_boundary.rolling_back_variables,
        scopes.in_graph_of_inputs,
        api_boundary.rolling_back,
    )
    return tuple(wrapper(plain).__code__ for wrapper in wrappers)


def applied(function: Callable[..., Any]) -> str:
    """The handling of a failed call of a function: the name of a guard, in lower case."""
    layers = _layers(function)
    of_object, of_variables, of_inputs, rolling_back = _codes()
    if layers[0] is of_object:
        return "makes_variables, and restores its object"
    if layers[0] is of_variables:
        return Guard.MAKES_VARIABLES.name.lower()
    if layers[0] is of_inputs and layers[1] is rolling_back:
        return Guard.OPERATOR.name.lower()
    if layers[0] is rolling_back:
        return Guard.GUARDED.name.lower()
    return Guard.UNGUARDED.name.lower()


def methods() -> dict[str, dict[str, str]]:
    """By public class, of those with a guarded method: each public method and its guard."""
    found: dict[str, dict[str, str]] = {}
    seen: set[type] = set()
    for path, public, value in public_values():
        if not isinstance(value, type) or value in seen:
            continue
        seen.add(value)
        own = {name: getattr(m, "__func__", m) for name, m in vars(value).items()}
        guards = {
            name: applied(method)
            for name, method in own.items()
            if isinstance(method, types.FunctionType)
            and (not name.startswith("_") or name in ("__init__", "__call__"))
        }
        if set(guards.values()) - {Guard.UNGUARDED.name.lower()}:
            found[f"{shown(path)}.{public}"] = guards
    return found


def text() -> str:
    """The list: guards, then namespaces or classes, then names."""
    groups: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path, name, function in public_functions():
        groups[f"functions: {applied(function)}"][shown(path)].add(name)
    for kind, guards in methods().items():
        for name, guard in guards.items():
            groups[f"methods: {guard}"][kind].add(name)
    lines = ["Written by api_guards.py: the guard of each public function and method."]
    for group, members in sorted(groups.items()):
        lines += ["", f"[{group}]"]
        for owner, names in sorted(members.items()):
            line = f"{owner}: {' '.join(sorted(names))}"
            lines += textwrap.wrap(line, 100, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
