"""Calls of functions of tf with values that TensorFlow recorded.

python name_scenes.py [MODULE ...]    with TensorFlow 2.21 installed: writes MODULE.json
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: the modules of scenes, whose SCENES are functions by name
MODULES = ("name_scenes", "array_scenes", "layer_scenes", "rare_scenes")
#: modules whose values depend on draws; test_fractional.py compares them
DRAWN = ("fractional_scenes",)
#: the collection of what a scene runs before its values
BEFORE = "before"
Scene = Callable[[Any], Any]


def numbers(*shape: int, seed: int = 1) -> Any:
    """Numbers between -2 and 2."""
    return np.random.RandomState(seed).uniform(-2, 2, shape).astype(np.float32)


IMAGE, LINE, VIDEO = numbers(2, 6, 7, 3), numbers(2, 9, 3), numbers(1, 4, 5, 4, 2)
ROWS = np.array([[1, 1, 2, 0], [3, 3, 3, 1]], np.int32)
SETS = np.array([[[1, 2, 2], [5, 5, 5]], [[3, 1, 4], [9, 8, 7]]])
OTHERS = np.array([[[2, 9], [4, 4]], [[4, 3], [7, 1]]])
LOGITS = numbers(6, 2, 4)


def _sparse(tf: Any) -> Any:
    return tf.SparseTensor([[0, 0], [0, 2], [1, 1]], np.array([3, 5, 3], np.int32), [3, 4])


def sets(tf: Any) -> Any:
    """Sets of dense and sparse rows."""
    words = np.array([["b", "a"], ["c", "c"]], object), np.array([["a"], ["d"]], object)
    made = [
        tf.sets.intersection(SETS, OTHERS), tf.sets.set_intersection(*words),
        tf.sets.union(SETS, OTHERS), tf.sets.set_union(*words),
        tf.sets.difference(SETS, OTHERS), tf.sets.set_difference(SETS, OTHERS, aminusb=False),
        tf.sets.union(np.array([[1, 5], [3, 3], [2, 1]], np.int32), _sparse(tf)),
        tf.sets.intersection(_sparse(tf), _sparse(tf)),
    ]  # fmt: skip
    return [made, tf.sets.size(_sparse(tf)), tf.sets.set_size(_sparse(tf))]


def serialized(tf: Any) -> Any:
    """Tensors as messages and back."""
    x, words = tf.constant(IMAGE), tf.constant(["a", "bc"])
    many = tf.serialize_many_sparse(_sparse(tf))
    return [
        tf.serialize_tensor(x), tf.parse_tensor(tf.serialize_tensor(x), tf.float32),
        tf.io.serialize_tensor(words), tf.io.parse_tensor(tf.serialize_tensor(words), tf.string),
        tf.serialize_sparse(_sparse(tf)), many, tf.deserialize_many_sparse(many, tf.int32, 1),
        tf.io.serialize_sparse(_sparse(tf)), tf.io.serialize_many_sparse(_sparse(tf)),
        tf.io.deserialize_many_sparse(many, tf.int32),
    ]  # fmt: skip


def compressed(tf: Any) -> Any:
    """Decompressed strings, and fingerprints."""
    text = zlib.compress(b"words and words")
    return [
        tf.decode_compressed([text], "ZLIB"), tf.io.decode_compressed(["plain"]),
        tf.fingerprint(IMAGE), tf.fingerprint(["a", "a longer text of many more letters"]),
        tf.fingerprint([["a", "b"], ["c", "d"]]),
    ]  # fmt: skip


def windows(tf: Any) -> Any:
    """Windows of one, two and three dimensions."""
    nn = tf.nn
    volume = tf.constant(VIDEO)
    above = numbers(1, 4, 5, 4, 3)
    settings = ([1, 1, 1, 1, 1], "SAME")
    return [
        nn.max_pool_v2(LINE, 2, 2, "SAME"), nn.max_pool_v2(IMAGE, [2, 3], 2, "VALID"),
        nn.max_pool_v2(VIDEO, 2, 2, "SAME"), nn.avg_pool_v2(LINE, 2, 2, "SAME"),
        nn.avg_pool_v2(IMAGE, [2, 3], 2, "VALID"), nn.avg_pool_v2(VIDEO, 2, 2, "SAME"),
        nn.conv_transpose(LINE, numbers(3, 2, 3), [2, 18, 2], 2),
        nn.conv_transpose(IMAGE, numbers(3, 3, 2, 3), [2, 12, 14, 2], 2),
        nn.conv_transpose(VIDEO, numbers(2, 2, 2, 3, 2), [1, 8, 10, 8, 3], 2),
        nn.conv3d_backprop_filter_v2(volume, [2, 2, 2, 2, 3], above, *settings),
        nn.conv3d_backprop_filter(volume, [2, 2, 2, 2, 3], above, *settings),
        tf.extract_volume_patches(VIDEO, [1, 2, 3, 2, 1], [1, 2, 2, 1, 1], "SAME"),
        tf.extract_volume_patches(VIDEO, [1, 2, 3, 2, 1], [1, 1, 2, 2, 1], "VALID"),
    ]  # fmt: skip


def labels(tf: Any) -> Any:
    """Labels of sequences."""
    nn = tf.nn
    lengths = np.array([6, 4], np.int32)
    best, chances = nn.ctc_beam_search_decoder(LOGITS, lengths, 20, 2, merge_repeated=False)
    merged, _ = nn.ctc_beam_search_decoder(LOGITS * 2, lengths, 20, 1)
    second, more = nn.ctc_beam_search_decoder_v2(LOGITS, lengths, 20, 2)
    rows = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], np.array([1, 2, 1], np.int32), [2, 2])
    sizes = np.array([2, 1], np.int32)
    return [
        nn.collapse_repeated(ROWS, [4, 3]), nn.ctc_unique_labels(ROWS),
        best, chances, merged, second, more,
        nn.ctc_loss_v2(rows, LOGITS, sizes, lengths, blank_index=-1),
        nn.ctc_loss_v2(np.array([[1, 2], [1, 0]], np.int32), LOGITS, sizes, lengths),
        nn.ctc_loss_v2(
            np.array([[0, 2], [3, 0]], np.int32), LOGITS, sizes, lengths, blank_index=1
        ),
    ]  # fmt: skip


def scaled_losses(tf: Any) -> Any:
    """Losses over one replica."""
    losses = numbers(4, 3)
    return [
        tf.nn.compute_average_loss(losses), tf.nn.scale_regularization_loss([1.5, 2.0]),
        tf.nn.compute_average_loss(losses, sample_weight=[1.0, 0.5, 2.0, 0.0]),
        tf.nn.compute_average_loss(losses, global_batch_size=8),
    ]  # fmt: skip


def newer_names(tf: Any) -> Any:
    """Arguments by their newer names."""
    nn = tf.nn
    moments = (np.array([0.1, -0.2, 0.3], np.float32), np.array([1.0, 2.0, 0.5], np.float32))
    above = numbers(2, 6, 7, 2)
    return [
        tf.count_nonzero(input=ROWS, axis=1), tf.batch_to_space(
            numbers(4, 2, 3, 1), [[0, 1], [1, 0]], None, block_shape=2),
        tf.space_to_batch(IMAGE, [[0, 0], [1, 0]], block_shape=2),
        tf.convert_to_tensor(1, dtype_hint=tf.float32) / 2,
        tf.string_split(["a b", "c"], result_type="SparseTensor"),
        tf.strings.to_hash_bucket(string_tensor=["a", "b"], num_buckets=100),
        nn.conv2d_backprop_input(
            input_sizes=[2, 6, 7, 3], filters=numbers(3, 3, 3, 2), out_backprop=above,
            strides=[1, 1, 1, 1], padding="SAME"),
        nn.batch_norm_with_global_normalization(
            input=IMAGE, mean=moments[0], variance=moments[1], beta=moments[0],
            gamma=moments[1], variance_epsilon=0.01, scale_after_normalization=True),
        tf.cast(tf.ones(2), tf.as_dtype(type_value="float64")),
    ]  # fmt: skip


def matrices_and_numbers(tf: Any) -> Any:
    """Square roots of matrices, complex numbers, functions that are computed again."""
    matrix = numbers(2, 3, 3)
    x = tf.constant(IMAGE)
    made = tf.recompute_grad(lambda x: tf.sin(x) * x)(x)
    return [
        tf.matrix_square_root(matrix @ matrix.transpose(0, 2, 1) + np.eye(3, dtype=np.float32)),
        tf.to_complex64(matrix), tf.to_complex128(matrix[0]), made, tf.gradients(made, x),
    ]  # fmt: skip


def samplers(tf: Any) -> Any:
    """All classes, and the counts that are expected of weighted ones."""
    classes = np.array([[2, 5], [3, 2]])
    weights = [1.0, 3.0, 0.5, 2.0]
    settings = (classes, 2, 6, False, 6)
    drawn = [
        tf.nn.fixed_unigram_candidate_sampler(
            *settings, distortion=power, num_reserved_ids=2, unigrams=weights
        )
        for power in (1.0, 0.75)
    ]
    return [
        tf.nn.all_candidate_sampler(classes, 2, 6, True),
        tf.random.all_candidate_sampler(classes, 2, 6, True),
        [made.true_expected_count if hasattr(made, "true_expected_count") else made[1]
         for made in drawn],
    ]  # fmt: skip


SCENES: dict[str, Scene] = {
    f.__name__: f
    for f in (
        *(sets, serialized, compressed, windows, labels, scaled_losses, newer_names),
        *(matrices_and_numbers, samplers),
    )
}


# ---- running ----


def scenes(module: str) -> dict[str, Scene]:
    """The scenes of a module by name."""
    found: dict[str, Scene] = importlib.import_module(module).SCENES
    return found


def file(module: str) -> Path:
    """Where the values that TensorFlow gave are."""
    return Path(__file__).with_name(f"{module}.json")


def stored(module: str) -> dict[str, Any]:
    """The values that TensorFlow gave."""
    found: dict[str, Any] = json.loads(file(module).read_text(encoding="utf-8"))
    return found


def leaves(made: Any) -> list[Any]:
    """The tensors of nested lists and SparseTensors."""
    if isinstance(made, dict):
        return [leaf for key in sorted(made) for leaf in leaves(made[key])]
    if hasattr(made, "dense_shape") and hasattr(made, "values"):
        return [made.indices, made.values, made.dense_shape]
    if isinstance(made, (list, tuple)):
        return [leaf for part in made for leaf in leaves(part)]
    return [made]


def values(tf: Any, scene: Scene, **session: Any) -> list[Any]:
    """The values of a scene as JSON."""
    with tf.Graph().as_default():
        outputs = leaves(scene(tf))
        start = [
            *(tf.global_variables_initializer(), tf.local_variables_initializer()),
            tf.tables_initializer(),
        ]
        with tf.Session(**session) as run:
            run.run(start)
            run.run(tf.get_collection(BEFORE))
            return [plain(value) for value in run.run(outputs)]


def plain(value: Any) -> Any:
    """An array as lists."""
    array = np.asarray(value)
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    if array.dtype.kind in "SO":
        return np.vectorize(lambda s: s.decode("latin-1"), otypes=[object])(array).tolist()
    if array.dtype.kind == "f":
        return json.loads(json.dumps(_rounded(array.tolist())))
    return array.tolist()


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return float(f"{value:.8g}") if np.isfinite(value) else str(value)


def main() -> None:
    """Records the scenes in TensorFlow."""
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    os.environ.update({**quiet, "TF_ENABLE_ONEDNN_OPTS": "0"})  # TensorFlow's kernels alone
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    for module in sys.argv[1:] or (*MODULES, *DRAWN):
        found = {name: values(tf, scene) for name, scene in scenes(module).items()}
        rows = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in found.items()]
        file(module).write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
        print(f"{file(module)}: {len(rows)} scenes")


if __name__ == "__main__":
    main()
