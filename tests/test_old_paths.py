"""Module paths from before the packages: they import with a warning, and old pickles load."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import graphio as tf
from graphio.support import old_paths

PICKLES = Path(__file__).parent / "golden_pickles" / "flat_modules.pickle"


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
    texts = [str(one.message) for one in caught if one.category is DeprecationWarning]
    if found is not importlib.import_module(new) or found.__spec__.name != new:
        wrong.append(f"{old} is not {new}")
    if not any(old in text and new in text for text in texts):
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
    with pytest.warns(DeprecationWarning, match=r"graphio\.train\.optimizers\.basic now"):
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


def test_old_paths_stay_out_of_the_way_of_imports_that_do_not_need_them() -> None:
    old_paths.install()
    assert sum(isinstance(finder, old_paths._OldPaths) for finder in sys.meta_path) == 1
    assert not set(old_paths.MOVED) & set(old_paths.MOVED.values())
