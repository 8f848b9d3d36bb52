"""Module paths from before the packages: they import with a warning, and old pickles load."""

from __future__ import annotations

import importlib
import operator
import pickle
import pickletools
import subprocess
import sys
import warnings

import numpy as np
import pytest
from folders import TESTS

import graphio as tf
from graphio.model import size_reduction
from graphio.support import old_paths

PICKLES = TESTS / "golden_pickles" / "flat_modules.pickle"


def test_every_old_path_gives_the_module_of_the_new_one_and_warns_where_it_is_imported() -> None:
    program = """
import importlib, sys, warnings
import graphio.support.old_paths as old_paths
wrong = []
for old, new in old_paths.MOVED.items():
    sys.modules.pop(old, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = importlib.import_module(old)
    messages = [str(one.message) for one in caught if one.category is DeprecationWarning]
    if found is not importlib.import_module(new) or found.__spec__.name != new:
        wrong.append(f"{old} is not {new}")
    if not any(old in message and new in message for message in messages):
        wrong.append(f"{old} does not warn")
print(len(old_paths.MOVED), *wrong, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split("\n", 1)[1] == "", done.stdout
    assert done.returncode == 0, done.stderr


def test_a_path_that_is_a_package_now_still_has_the_names_of_its_module() -> None:
    with pytest.warns(DeprecationWarning, match=r"graphio\.variables\.variables now"):
        from graphio.variables import Variable
    assert Variable is tf.Variable
    with pytest.warns(DeprecationWarning, match=r"graphio\.train\.optimizers\.adam now"):
        from graphio.train.optimizers import AdamOptimizer
    assert AdamOptimizer is tf.train.AdamOptimizer
    with pytest.raises(AttributeError, match="no attribute 'Varible'"):
        importlib.import_module("graphio.variables").Varible  # noqa: B018


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="graphio.grap"):
        importlib.import_module("graphio.grap")


def test_pickles_from_before_the_packages_load_as_the_same_objects() -> None:
    stored = pickle.loads(PICKLES.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        loaded = {name: pickle.loads(data) for name, data in stored.items()}
    classes = {
        "dimension": tf.Dimension, "config": tf.ConfigProto, "runoptions": tf.RunOptions,
        "lstm": tf.nn.rnn_cell.LSTMStateTuple, "slices": tf.IndexedSlicesValue,
        "sparse": tf.SparseTensorValue, "glorot": tf.glorot_uniform_initializer,
        "device": tf.DeviceSpec, "fixed": tf.FixedLenFeature, "error": tf.errors.NotFoundError,
        "spec": tf.TensorSpec,
    }  # fmt: skip
    assert {name: type(loaded[name]) for name in classes} == classes
    same = {
        "adam": tf.train.AdamOptimizer, "saver": tf.train.Saver, "variable": tf.Variable,
        "relu": tf.nn.relu, "init": tf.zeros_initializer, "graphkeys": tf.GraphKeys,
        "example": tf.train.Example, "dtype": tf.float32,
    }  # fmt: skip
    assert all(loaded[name] is value for name, value in same.items())
    assert loaded["shape"].as_list() == [None, 3] and loaded["spec"].name == "x"
    assert loaded["config"].intra_op_parallelism_threads == 2
    for engine in ("runtime", "cinfer"):
        y = loaded[f"signature_{engine}"](x=np.float32([[1.0, 2.0]]))["y"]
        assert y.tolist() == [[21.0]]
    assert {*classes, *same, "shape", "model_runtime", "model_cinfer", "signature_runtime",
            "signature_cinfer"} == set(stored)  # fmt: skip


#: a class of each kind, with the public path that it says
PUBLIC = {
    "graphio": "TensorShape Dimension TensorSpec ConfigProto SparseTensorValue Session Variable",
    "graphio.data": "Dataset",
    "graphio.data.experimental": "CsvDataset NpzDataset",
    "graphio.errors": "OpError NotFoundError OperatorNotAllowedInGraphError",
    "graphio.gfile": "GFile",
    "graphio.layers": "Dense",
    "graphio.saved_model": "SavedModelBuilder",
    "graphio.timeline": "Timeline",
    "graphio.train": "AdamOptimizer MomentumOptimizer Saver SessionRunHook",
}


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module, names in PUBLIC.items() for name in names.split()],
)
def test_a_class_says_its_public_path_and_pickles_by_it(module: str, name: str) -> None:
    value = importlib.import_module("graphio")
    for part in [*module.split(".")[1:], name]:
        value = getattr(value, part)
    assert (value.__module__, value.__qualname__) == (module, name)
    assert pickletools.optimize(pickle.dumps(value, 0)) == f"c{module}\n{name}\n.".encode()
    assert pickle.loads(pickle.dumps(value)) is value


def test_every_class_of_the_public_names_pickles_by_a_name_of_tf() -> None:
    wrong = []
    for name in tf._MODULE_OF:
        value = getattr(tf, name)
        is_message = hasattr(value, "DESCRIPTOR")
        if isinstance(value, type) and not is_message and value.__name__ == name:
            if value.__module__ not in ("graphio", "graphio.errors"):
                wrong.append(f"{name} is of {value.__module__}")
    assert wrong == []


def test_a_process_that_runs_models_reads_an_error_without_the_builder() -> None:
    data = pickle.dumps(tf.errors.NotFoundError(None, None, "no such model"))
    program = f"""
import pickle, sys
error = pickle.loads({data!r})
print(type(error), error.message, any(m.startswith("graphio.framework") for m in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "<class 'graphio.errors.NotFoundError'> no such model False\n", done


def test_old_paths_stay_out_of_the_way_of_imports_that_do_not_need_them() -> None:
    old_paths.install()
    assert sum(isinstance(finder, old_paths._OldPaths) for finder in sys.meta_path) == 1
    assert not set(old_paths.MOVED) & set(old_paths.MOVED.values())


def test_the_older_name_of_a_function_is_the_same_function_after_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match="size_reduction.reduced now"):
        assert operator.attrgetter("slimmed")(size_reduction) is size_reduction.reduced
    with pytest.raises(AttributeError, match="has no attribute 'never'"):
        operator.attrgetter("never")(size_reduction)
