"""The names in the Python modules of an unpacked TensorFlow, found without importing them.

A module is read as its syntax tree: its definitions, its imports, its star imports, and the names
that it keeps public (`__all__`, remove_undocumented). gen_tensorflow_names.py uses it.
"""

from __future__ import annotations

import ast
import functools
import re
from dataclasses import dataclass, field
from pathlib import Path

#: a name of a module: ("def", arguments), ("from", module, name), ("module", module),
#: ("value",)
Binding = tuple[str, ...]
Origin = tuple[str, str]
#: modules of contrib whose public names are defined elsewhere
FORWARDING = ("tensorflow.contrib.staging", "tensorflow.contrib.summary.summary")


@dataclass
class Module:
    """The names of one module."""

    names: dict[str, Binding] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    public: list[str] | None = None
    #: names that its docstring lists, of modules that remove all others
    documented: list[str] = field(default_factory=list)
    prunes: bool = False


class Sources:
    """The modules below a folder tensorflow_core.

    Args:
        folder: of the unpacked wheel.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = functools.cache(self._module)
        self._bound: dict[str, dict[str, Binding]] = {}

    def path(self, module: str) -> Path | None:
        """The file of a module tensorflow...; None where there is none."""
        at = self.folder.joinpath(*module.split(".")[1:])
        for found in (at.with_suffix(".py"), at / "__init__.py"):
            if found.is_file():
                return found
        return None

    def _module(self, name: str) -> Module:
        path = self.path(name)
        found = Module()
        if path is None:
            return found
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found.documented = re.findall(r"@@([\w.]+)", ast.get_docstring(tree) or "")
        lists: dict[str, list[str]] = {}
        for node in _statements(tree):
            self._read(name, node, found, lists)
        return found

    def _read(
        self, module: str, node: ast.stmt, found: Module, lists: dict[str, list[str]]
    ) -> None:
        if isinstance(node, ast.ImportFrom):
            self._read_import(node, found)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname:
                    found.names[alias.asname] = ("module", alias.name)
        elif isinstance(node, ast.FunctionDef):
            found.names[node.name] = ("def", *_arguments(node))
        elif isinstance(node, ast.ClassDef):
            found.names[node.name] = ("class", *_members(node))
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            _read_assignment(module, node.targets[0].id, node.value, found, lists)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if isinstance(call.func, ast.Name) and call.func.id == "remove_undocumented":
                found.prunes = True
                allowed = call.args[1:2] + [
                    k.value for k in call.keywords if k.arg == "allowed_exception_list"
                ]
                for one in allowed:
                    found.documented += _strings(one, lists)

    def _read_import(self, node: ast.ImportFrom, found: Module) -> None:
        source = node.module or ""
        for alias in node.names:
            name = alias.asname or alias.name
            if alias.name == "*":
                found.stars.append(source)
            elif self.path(f"{source}.{alias.name}") is not None:
                found.names[name] = ("module", f"{source}.{alias.name}")
            elif source != "__future__":
                found.names[name] = ("from", source, alias.name)

    def bindings(self, name: str) -> dict[str, Binding]:
        """All names of a module, those of star imports included: ("def", module, name),
        ("from", module, name) or ("module", module)."""
        if name in self._bound:
            return self._bound[name]
        module = self.module(name)
        found = self._bound[name] = {}  # there before its stars: modules import each other
        for star in module.stars:
            kept = self.star_names(star)
            found.update({n: b for n, b in self.bindings(star).items() if n in kept})
        for local, binding in module.names.items():
            found[local] = binding if binding[0] in ("from", "module") else ("def", name, local)
        return found

    def star_names(self, name: str) -> set[str]:
        """The names that `from name import *` gives."""
        module = self.module(name)
        if module.public is not None:
            return set(module.public)
        return {n for n in self.bindings(name) if not n.startswith("_")}

    def origin(self, module: str, name: str) -> Origin | None:
        """The module and the name where an object is defined; None for modules and unknown
        names."""
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            binding = self.bindings(module).get(name)
            if binding is None:
                return (module, name) if self.path(module) is None else None
            if binding[0] == "module":
                return None
            module, name = binding[1], binding[2]
        return module, name

    def submodule(self, module: str, name: str) -> str | None:
        """The module that a name of a module is; None where it is none."""
        for _ in range(20):
            binding = self.bindings(module).get(name)
            if binding is None:
                below = f"{module}.{name}"
                return below if self.path(below) else None
            if binding[0] == "module":
                return binding[1]
            if (module, name) == binding[1:3]:
                return None
            module, name = binding[1], binding[2]
        return None

    def public(self, name: str) -> list[str]:
        """The public names of a module of contrib: those that it documents or lists, else those
        that contrib defines, and the modules that it imports itself; all of FORWARDING."""
        module = self.module(name)
        if module.prunes:
            return sorted(n for n in set(module.documented) if "." not in n)
        if module.public is not None:
            return sorted(set(module.public))
        found = []
        for local, binding in self.bindings(name).items():
            if local.startswith("_"):
                continue
            if binding[0] == "module":
                found += [local] if local in module.names else []
            elif (origin := self.origin(name, local)) and (
                name in FORWARDING or "contrib" in origin[0]
            ):
                found.append(local)
        return sorted(found)

    def parts(self, origin: Origin | None) -> list[str] | None:
        """The arguments of a function; of a class its methods, each with () after it; None for
        other objects."""
        binding = self.module(origin[0]).names.get(origin[1], ()) if origin else ()
        return list(binding[1:]) if binding[:1] in (("def",), ("class",)) else None


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """The statements of a module, those below if, try and with included."""
    found: list[ast.stmt] = []
    pending = list(tree.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            pending = [*node.body, *getattr(node, "orelse", []), *pending]
        else:
            found.append(node)
    return found


def _members(node: ast.ClassDef) -> list[str]:
    """The arguments of its __init__, then its own public methods and properties, as "name()"."""
    methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
    init = [a for one in methods if one.name == "__init__" for a in _arguments(one)[1:]]
    public = dict.fromkeys(f"{one.name}()" for one in methods if not one.name.startswith("_"))
    return [*init, *public]


def _arguments(node: ast.FunctionDef) -> list[str]:
    found = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
    return found + (["*"] if node.args.vararg else []) + (["**"] if node.args.kwarg else [])


def _read_assignment(
    module: str, name: str, value: ast.expr, found: Module, lists: dict[str, list[str]]
) -> None:
    strings = _strings(value, lists)
    if strings:
        lists[name] = strings
    if name == "__all__" and (strings or isinstance(value, (ast.List, ast.Tuple))):
        found.public = strings
    elif isinstance(value, ast.Name) and value.id in found.names:
        found.names[name] = ("from", module, value.id)
    elif isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name):
        of = found.names.get(value.value.id, ())
        found.names[name] = ("from", of[1], value.attr) if of[:1] == ("module",) else ("value",)
    else:
        found.names[name] = ("value",)


def _strings(node: ast.expr, lists: dict[str, list[str]]) -> list[str]:
    """The strings of a list, of a sum of lists, or of the list that a name stands for."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [
            e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)
        ]
    if isinstance(node, ast.BinOp):
        return _strings(node.left, lists) + _strings(node.right, lists)
    return lists.get(node.id, []) if isinstance(node, ast.Name) else []
