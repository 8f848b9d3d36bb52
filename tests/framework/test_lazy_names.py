"""Namespaces whose names are looked up when they are first used: tf.train, parts of tf.contrib."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import subprocess
import sys
import types

import pytest

import graphio as tf
from graphio.support import api_guard, lazy_names


def namespaces_with_tables() -> set[str]:
    """Those of all packages of graphio, by what install has done to their modules."""
    found = (one.name for one in pkgutil.walk_packages(tf.__path__, "graphio.") if one.ispkg)
    modules = (sys.modules.get(name) for name in found)
    return {m.__name__ for m in modules if m is not None and "_module_of" in vars(m)}


def test_the_list_of_namespaces_has_all_that_have_a_table() -> None:
    for name in lazy_names.NAMESPACES:
        importlib.import_module(name)
    assert namespaces_with_tables() == set(lazy_names.NAMESPACES)


@pytest.mark.parametrize("namespace", lazy_names.NAMESPACES)
def test_each_name_of_a_table_is_found_listed_and_guarded(namespace: str) -> None:
    module = importlib.import_module(namespace)
    assert module.__all__
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        value = getattr(module, name)
        assert vars(module)[name] is value, name  # the next use finds it without a lookup
        if isinstance(value, types.FunctionType):
            assert api_guard.guard_of(value) is not None, name


@pytest.mark.parametrize("namespace", lazy_names.NAMESPACES)
def test_a_name_that_the_table_lacks_is_refused_in_words(namespace: str) -> None:
    module = importlib.import_module(namespace)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonesuch'") as refused:
        module.nonesuch  # noqa: B018
    assert refused.value.name == "nonesuch"


def test_the_import_of_a_submodule_hides_no_function_of_its_name() -> None:
    program = """
import importlib
import graphio as tf
inner = importlib.import_module("graphio.contrib.framework.arg_scope")
assert tf.contrib.framework.arg_scope is not inner
with tf.contrib.framework.arg_scope([]):
    pass
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_public_submodule_is_guarded_however_it_is_imported() -> None:
    program = """
import importlib, sys
import graphio as tf
tf.constant
{how}
found = tf.contrib.slim.learning.create_train_op
try:
    found(3.0, None)
except Exception:
    pass
print(found.__module__)
"""
    ways = ("", "import graphio.contrib.slim.learning", "from graphio.contrib.slim import learning")
    for how in ways:
        done = subprocess.run(
            [sys.executable, "-c", program.format(how=how)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "graphio.contrib.slim.learning\n", how


def test_classes_and_functions_pickle_by_the_namespace_whatever_was_used_first() -> None:
    program = """
import pickle
import graphio as tf
{first}
print(tf.train.Saver.__module__, tf.train.get_global_step.__module__)
assert pickle.loads(pickle.dumps(tf.train.get_global_step)) is tf.train.get_global_step
"""
    firsts = ("tf.contrib.framework.get_global_step", "tf.train.get_global_step")
    for first in firsts:
        done = subprocess.run(
            [sys.executable, "-c", program.format(first=first)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "graphio.train graphio.train\n", first


def test_the_namespaces_themselves_pickle() -> None:
    for name in lazy_names.NAMESPACES:
        module = importlib.import_module(name)
        assert pickle.loads(pickle.dumps(module)) is module
