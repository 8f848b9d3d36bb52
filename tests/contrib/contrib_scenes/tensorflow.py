"""Records the scenes with TensorFlow 2.21, over which the Python files of TensorFlow 1.15.5's
contrib run. What they import and 2.21 lacks comes from the same folder; compiled operators that
are missing are written here in numpy.

python -m contrib_scenes.tensorflow FOLDER [MODULE ...]
python -m contrib_scenes.tensorflow tables
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from contrib_scenes import lookup_scenes, recording

#: modules of TensorFlow that are taken from 1.15.5, although 2.21 has them
TAKEN = (
    *(f"python.ops.{name}" for name in ("rnn", "rnn_cell", "rnn_cell_impl")),
    *(f"python.layers.{name}" for name in ("base", "core", "utils", "convolutional")),
)
#: package of contrib -> its modules
PACKAGES = {
    "rnn": ("core_rnn_cell", "rnn_cell", "fused_rnn_cell", "gru_ops", "lstm_ops", "rnn"),
    "seq2seq": (
        *("attention_wrapper", "basic_decoder", "beam_search_decoder", "beam_search_ops"),
        *("decoder", "helper", "loss"),
    ),
    "legacy_seq2seq": ("seq2seq",),
    "crf": ("crf",),
    "distributions": (
        *("conditional_transformed_distribution", "mixture", "mixture_same_family", "mvn_diag"),
        *("mvn_diag_plus_low_rank", "mvn_full_covariance", "mvn_tril", "sinh_arcsinh"),
        *("vector_diffeomixture", "vector_exponential_diag", "vector_laplace_diag"),
        *("vector_sinh_arcsinh_diag", "vector_student_t", "wishart"),
        *("distribution_util", "moving_stats", "sample_stats"),
    ),
    "cudnn_rnn": ("cudnn_rnn_ops",),
    "training": ("bucket_ops", "hparam", "evaluation", "training"),
}


class _Files(importlib.abc.MetaPathFinder):
    """Finds modules of TensorFlow among the files of 1.15.5.

    Args:
        folder: `tensorflow_core` of the wheel.
        first: whether contrib and TAKEN are found, or all others.
    """

    def __init__(self, folder: Path, first: bool) -> None:
        self._folder, self._first = folder, first

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        top, _, inside = fullname.partition(".")
        if top != "tensorflow" or (
            self._first and not inside.startswith("contrib") and inside not in TAKEN
        ):
            return None
        parts = inside.split(".")
        found = self._folder.joinpath(*parts)
        if not found.is_dir():
            file = found.with_suffix(".py")
            return importlib.util.spec_from_file_location(fullname, file) if file.exists() else None
        if parts[0] == "contrib" and (len(parts) < 4 or parts[1] == "learn"):
            return importlib.machinery.ModuleSpec(fullname, _Empty(found), is_package=True)
        return importlib.util.spec_from_file_location(
            fullname, found / "__init__.py", submodule_search_locations=[str(found)]
        )


class _Empty(importlib.abc.Loader):
    """A package with nothing but its modules."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def exec_module(self, module: types.ModuleType) -> None:
        module.__path__ = [str(self._folder)]


def _give(name: str, **values: Any) -> None:
    """A module instead of one that can't be loaded."""
    module = types.ModuleType(name)
    module.__dict__.update(values)
    sys.modules[name] = module


def _gather_tree(tf: Any) -> Any:
    """The operator of beam search, which is not public in 2.21."""

    def numbers(ids: Any, parents: Any, lengths: Any, end: Any) -> Any:
        steps, batch, beams = ids.shape
        out = np.full_like(ids, end)
        for b, k in np.ndindex(batch, beams):
            last, beam = min(steps, int(lengths[b])), k
            for t in range(last - 1, -1, -1):
                out[t, b, k] = ids[t, b, beam]
                beam = parents[t, b, beam]
            ends = np.flatnonzero(out[:, b, k] == end)
            out[ends[0] if len(ends) else steps :, b, k] = end
        return out

    def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):  # type: ignore[no-untyped-def]
        given = [step_ids, parent_ids, max_sequence_lengths, end_token]
        made = tf.numpy_function(numbers, given, tf.int32)
        made.set_shape(step_ids.shape)
        return made

    return gather_tree


#: module -> its names in 1.15 that are elsewhere in 2.21, with what they are there
MOVED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "numpy": {"Inf": lambda tf: np.inf},
    "tensorflow.python.util.nest": {"is_sequence": lambda tf: tf.nest.is_nested},
    "tensorflow.python.ops.array_ops": {
        "stack": lambda tf: tf.stack,
        "unstack": lambda tf: tf.unstack,
        # 1.15 itself lacks it: bidirectional_rnn with lengths fails there
        "unpack": lambda tf: tf.unstack,
    },
    "tensorflow.python.ops.control_flow_ops": {
        "cond": lambda tf: tf.cond,
        "while_loop": lambda tf: tf.while_loop,
        "Assert": lambda tf: tf.Assert,
    },
    "tensorflow.python.ops.variable_scope": {"variable": lambda tf: tf.Variable},
    "tensorflow.python.ops.math_ops": {"to_int64": lambda tf: tf.to_int64},
    "tensorflow.python.framework.ops": {"Tensor": lambda tf: tf.Tensor},
}


def _restore_names(tf: Any) -> None:
    for path, names in MOVED.items():
        module: Any = importlib.import_module(path)
        for name, value in names.items():
            setattr(module, name, value(tf))


def load(folder: Path) -> tuple[Any, Any]:
    """TensorFlow and the function from a package of contrib to its names."""
    os.environ.update(
        {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    )
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    sys.meta_path.insert(0, _Files(folder, first=True))
    sys.meta_path.append(_Files(folder, first=False))
    contrib = "tensorflow.contrib"
    _restore_names(tf)
    normalization = importlib.import_module("tf_slim")
    _give(f"{contrib}.seq2seq.python.ops.beam_search_ops", gather_tree=_gather_tree(tf))
    _give(f"{contrib}.layers.python.layers")
    _give(f"{contrib}.layers.python.layers.layers", layer_norm=normalization.layers.layer_norm)
    sys.modules[f"{contrib}.layers.python.layers"].layers = sys.modules[  # type: ignore[attr-defined]
        f"{contrib}.layers.python.layers.layers"
    ]
    tracking = "tensorflow.python.training.tracking"
    for path, name in (
        (f"{contrib}.checkpoint.python", "split_dependency"),
        (tracking, "tracking"),
    ):
        _give(f"{path}.{name}", AutoTrackable=object, NotTrackable=object)
        _give(path, **{name: sys.modules[f"{path}.{name}"]})
    _give(f"{contrib}.training.python.training.hparam_pb2", HParamDef=object)
    return tf, package


def _learn(tf: Any) -> types.SimpleNamespace:
    """The names of contrib.learn, over what its modules need of other packages."""
    slim = importlib.import_module("tf_slim")
    framework: Any = importlib.import_module("tensorflow.contrib.framework")
    framework.deprecated = lambda date, text: lambda function: function
    framework.get_graph_from_inputs = lambda tensors: None
    framework.convert_to_tensor_or_sparse_tensor = tf.convert_to_tensor_or_sparse_tensor
    importlib.import_module("tensorflow.contrib.layers").linear = slim.layers.linear  # type: ignore[attr-defined]
    rnn: Any = importlib.import_module("tensorflow.contrib.rnn")
    vars(rnn).update(vars(package("rnn")))
    for name in ("", ".model_fn", ".export", ".export.export_output"):
        parts = {"model_fn": None, "export_output": None}
        _give(f"tensorflow.python.estimator{name}", **parts)
    inner = "tensorflow.contrib.learn.python.learn"
    ops = [importlib.import_module(f"{inner}.ops.{name}_ops") for name in ("losses", "seq2seq")]
    heads = importlib.import_module(f"{inner}.estimators.head")
    return types.SimpleNamespace(
        **{name: value for name, value in vars(heads).items() if name.endswith("_head")},
        models=importlib.import_module(f"{inner}.models"),
        ops=types.SimpleNamespace(**{k: v for one in ops for k, v in vars(one).items()}),
    )


def package(name: str) -> types.SimpleNamespace:
    """The names of a package of contrib."""
    if name == "learn":
        return _learn(importlib.import_module("tensorflow.compat.v1"))
    names = types.SimpleNamespace()
    inner = "training" if name == "training" else "ops"
    for module in PACKAGES[name]:
        path = f"tensorflow.contrib.{name}.python.{inner}.{module}"
        vars(names).update(vars(importlib.import_module(path)))
    if name == "distributions":
        for module in ("distributions", "transformed_distribution", "util"):
            path = f"tensorflow.python.ops.{name}.{module}"
            vars(names).update(vars(importlib.import_module(path)))
        names.bijectors = _bijectors(f"tensorflow.contrib.{name}.python.ops.bijectors")
    if name == "rnn":
        cells = importlib.import_module("tensorflow.python.ops.rnn_cell_impl")
        nets = importlib.import_module("tensorflow.python.ops.rnn")
        kinds = ("Cell", "Wrapper", "Tuple")
        vars(names).update({k: v for k, v in vars(cells).items() if k.endswith(kinds)})
        vars(names).update({k: v for k, v in vars(nets).items() if k.endswith("_rnn")})
        names.transpose_batch_time = nets._transpose_batch_time
        names.best_effort_input_batch_size = nets._best_effort_input_batch_size
    return names


def _bijectors(path: str) -> types.SimpleNamespace:
    """The names of contrib.distributions.bijectors, by its modules."""
    package = importlib.import_module(path)
    names = types.SimpleNamespace(**vars(package))
    for file in Path(package.__path__[0]).glob("[!_]*.py"):
        vars(names).update(vars(importlib.import_module(f"{path}.{file.stem}")))
    # 1.15 makes a float, which the shapes of 2.21 refuse
    names.FillTriangular._inverse_event_shape = lambda self, shape: shape[:-2].concatenate(
        [int(shape[-1]) * (int(shape[-1]) + 1) // 2]
    )
    return names


def _write(module: str, found: dict[str, Any]) -> None:
    rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()]
    target = recording.FOLDER / f"{module}.json"
    target.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    print(f"{target}: {len(found)} scenes")


def record_tables() -> None:
    """Records the scenes of lookup tables, with the classes of 2.21."""
    tf: Any = importlib.import_module("tensorflow.compat.v1")
    tf.disable_v2_behavior()
    tables: Any = importlib.import_module("tensorflow.python.ops.lookup_ops")
    names = lookup_scenes.SCENES
    _write(
        "lookup",
        {
            name: lookup_scenes.record(tf, lambda part: getattr(tables, part), name)
            for name in names
        },
    )


def main() -> None:
    """Records the named modules of scenes, or all."""
    if sys.argv[1:] == ["tables"]:
        return record_tables()
    tf, contrib = load(Path(sys.argv[1]))
    for module in sys.argv[2:] or recording.MODULES:
        found = {
            name: recording.record(tf, contrib, scene)
            for name, scene in recording.scenes(module).items()
        }
        _write(module, found)
    return None


if __name__ == "__main__":
    main()
