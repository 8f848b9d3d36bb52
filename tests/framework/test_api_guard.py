"""The guards of public functions: what each declares, and what becomes of a call that fails."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import api_guards
import pytest

import graphio as tf
from graphio.framework import api_boundary
from graphio.framework.graph import Graph
from graphio.support import api_guard
from graphio.support.api_guard import Guard

PACKAGE = Path(tf.__file__).parent
MARKS = {
    Guard.UNGUARDED: api_guard.unguarded,
    Guard.GUARDED: api_guard.guarded,
    Guard.OPERATOR: api_guard.operator,
    Guard.MAKES_VARIABLES: api_guard.makes_variables,
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


# ---- declared guards ----


def test_every_public_function_has_the_guard_that_is_listed() -> None:
    """After a change on purpose: python tests/framework/api_guards.py."""
    assert api_guards.text().splitlines() == api_guards.FILE.read_text().splitlines()


def test_functions_of_guarded_namespaces_do_what_they_are_marked_with() -> None:
    checked = 0
    for path, name, function in api_guards.public_functions():
        if path not in api_guards.UNGUARDED_NAMESPACES:
            guard = api_guard.guard_of(function)
            assert guard is not None, f"tf.{path}.{name} has no mark of graphio.support.api_guard"
            assert api_guards.applied(function) == guard.name.lower(), f"tf.{path}.{name}"
            checked += 1
    assert checked > 800


def test_a_namespace_that_guards_no_function_has_a_reason() -> None:
    found = api_guards.namespaces()
    inner = [m for module in found.values() for m in getattr(module, "_GUARDED_MODULES", ())]
    without = {p for p, m in found.items() if not tf._NAMESPACES.get(p) and m not in inner}
    assert without == set(api_guards.UNGUARDED_NAMESPACES)


def test_a_public_function_without_a_mark_is_not_exported() -> None:
    def forgotten() -> None: ...

    with pytest.raises(TypeError, match=r"graphio.nn.forgotten is public.*api_guard.operator"):
        api_boundary.export(forgotten, "graphio.nn", "forgotten")


@pytest.mark.parametrize("mark", MARKS.values(), ids=lambda mark: str(mark.__name__))
def test_a_mark_changes_nothing_for_calls_within_the_package(mark: Any) -> None:
    def function() -> None: ...

    code = function.__code__
    assert mark(function) is function and function.__code__ is code


@pytest.mark.parametrize("guard", Guard)
def test_the_module_of_a_function_does_not_decide_its_guard(guard: Guard) -> None:
    found = set()
    for module in (
        "graphio.ops.math",
        "graphio.train.checkpoints.saver",
        "graphio.framework.scopes",
        "elsewhere",
    ):

        def function() -> None: ...

        function.__module__ = module
        MARKS[guard](function)
        found.add(api_guards.applied(api_boundary.export(function, "graphio", "function")))
    assert found == {guard.name.lower()}


def test_no_code_of_the_package_compares_the_name_of_a_module_of_ours() -> None:
    """Such code would change its behaviour when a file moves."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "__module__" in text else ():
            asks = isinstance(node, ast.Call) and _is_comparing(node.func)
            if (asks or isinstance(node, ast.Compare)) and _reads_module_name(node):
                found.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert found == []


def _is_comparing(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr in ("startswith", "endswith")


def _reads_module_name(node: ast.AST) -> bool:
    """Whether a __module__ is among what an expression compares."""
    return any(isinstance(n, ast.Attribute) and n.attr == "__module__" for n in ast.walk(node))


# ---- guards at work ----


def exported(guard: Guard, body: Callable[..., Any]) -> Any:
    """The public form of a function that runs a body, then fails."""

    def fails(*arguments: Any) -> None:
        body(*arguments)
        raise ValueError("refused")

    return api_boundary.export(MARKS[guard](fails), "graphio", "fails")


def operations_after(graph: Graph, call: Callable[..., Any], *arguments: Any) -> list[str]:
    """The names of a graph's operations after a call that fails."""
    with pytest.raises(ValueError, match="refused"):
        call(*arguments)
    return [op.name for op in graph.get_operations()]


@pytest.mark.parametrize("guard", Guard)
def test_operations_of_a_failed_call_go_unless_it_is_unguarded(
    graph: tf.Graph, guard: Guard
) -> None:
    left = operations_after(graph, exported(guard, lambda: tf.constant(1.0, name="c")))
    assert left == (["c"] if guard is Guard.UNGUARDED else [])


@pytest.mark.parametrize("guard", [Guard.GUARDED, Guard.OPERATOR, Guard.MAKES_VARIABLES])
def test_variables_of_a_failed_call_go_only_where_they_are_declared(guard: Guard) -> None:
    with pytest.raises(ValueError, match="refused"):
        exported(guard, lambda: tf.get_variable("v", []))()
    left = [v.name for v in tf.global_variables()]
    assert left == ([] if guard is Guard.MAKES_VARIABLES else ["v:0"])


@pytest.mark.parametrize("guard", Guard)
def test_only_an_operator_builds_in_the_graph_of_its_tensors(graph: tf.Graph, guard: Guard) -> None:
    found = []

    def look(_: Any) -> None:
        found.append(tf.get_default_graph())

    x = tf.constant(1.0)
    with tf.Graph().as_default() as other, pytest.raises(ValueError, match="refused"):
        exported(guard, look)(x)
    assert found == [graph if guard is Guard.OPERATOR else other]


def test_the_error_of_an_unguarded_function_stays_as_it_is() -> None:
    with pytest.raises(ValueError) as caught:
        exported(Guard.UNGUARDED, lambda: None)()
    assert str(caught.value) == "refused"


def test_functions_pickle_by_their_first_public_name() -> None:
    for function in (tf.matmul, tf.math.abs, tf.train.exponential_decay, tf.get_default_graph):
        assert pickle.loads(pickle.dumps(function)) is function


def test_a_namespace_imported_before_all_else_gives_guarded_functions() -> None:
    program = "from graphio.nn import relu\nimport graphio as tf\nassert relu is tf.nn.relu"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
