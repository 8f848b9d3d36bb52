"""Scenes of tf.contrib.learn: linear models, recurrent networks, sequences, heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

Scene = Callable[[Any, Any], Any]
ROWS = 5
LENGTHS = np.array([3, 1, 2, 3, 2])
WEIGHTS = np.float32([0.5, 1, 2, 0, 1.5])


def steps(tf: Any, count: int = 3, features: int = 4) -> list[Any]:
    return [tf.constant(numbers(f"step {n}", [ROWS, features])) for n in range(count)]


def linear(outputs: int | None, **options: Any) -> Scene:
    """A regression with one output, as a vector or a column, or several."""

    def scene(tf: Any, contrib: Any) -> Any:
        x = tf.constant(numbers("x", [ROWS, 4]))
        y = tf.constant(numbers("y", [ROWS] if outputs is None else [ROWS, outputs]))
        name = "linear_regression" if options else "linear_regression_zero_init"
        return getattr(contrib("learn").models, name)(x, y, **options)

    return scene


def logistic(*, graph_weight: bool = False, **options: Any) -> Scene:
    """A classification; the factors of classes may be a tensor of the graph."""

    def scene(tf: Any, contrib: Any) -> Any:
        x = tf.constant(numbers("x", [ROWS, 4]))
        y = tf.constant(np.eye(3, dtype=np.float32)[[0, 2, 1, 1, 0]])
        if graph_weight:
            tf.constant(np.float32([1, 2, 0.5]), name="class_weight")
        name = "logistic_regression" if options else "logistic_regression_zero_init"
        return getattr(contrib("learn").models, name)(x, y, **options)

    return scene


def bidirectional(*, lengths: bool) -> Scene:
    """Two recurrent networks over a list."""

    def scene(tf: Any, contrib: Any) -> Any:
        cells = [contrib("rnn").GRUCell(3), contrib("rnn").GRUCell(2)]
        return contrib("learn").models.bidirectional_rnn(
            *cells, steps(tf), dtype=tf.float32, scope="both",
            sequence_length=tf.constant(LENGTHS) if lengths else None,
        )  # fmt: skip

    return scene


def network(cell: str, layers: int, both: bool, attention: int | None) -> Scene:
    """A recurrent network with a classification of its last state."""

    def scene(tf: Any, contrib: Any) -> Any:
        models = contrib("learn").models
        made = models.get_rnn_model(
            3, cell, layers, lambda x: list(tf.unstack(x, axis=1)), both,
            models.logistic_regression, tf.constant(LENGTHS), None, attention, 3, 2,
        )  # fmt: skip
        y = tf.constant(np.eye(3, dtype=np.float32)[[0, 2, 1, 1, 0]])
        return made(tf.constant(numbers("x", [ROWS, 3, 4])), y)

    return scene


def sequences(tf: Any, contrib: Any) -> Any:
    """The steps of an encoder and decoder, with zeros around them."""
    x, y = tf.constant(numbers("x", [ROWS, 2, 4])), tf.constant(numbers("y", [ROWS, 3, 4]))
    return contrib("learn").ops.seq2seq_inputs(x, y, 2, 3)


def translator(*, own_decoder: bool) -> Scene:
    """A network from a sequence to a sequence, and the loss of its classes."""

    def scene(tf: Any, contrib: Any) -> Any:
        rnn, ops = contrib("rnn"), contrib("learn").ops
        decoder = rnn.GRUCell(4) if own_decoder else None
        found = ops.rnn_seq2seq(steps(tf, 2), steps(tf, 3), rnn.GRUCell(4), decoder)
        labels = [tf.constant(np.eye(4, dtype=np.float32)[[0, 2, 1, 3, n]]) for n in range(3)]
        return [found, ops.sequence_classifier(found[0], labels, found[2])]

    return scene


def classifier(tf: Any, contrib: Any) -> Any:
    """The loss of steps without sampling."""
    labels = [tf.constant(np.eye(4, dtype=np.float32)[[0, 2, 1, 3, n]]) for n in range(3)]
    return contrib("learn").ops.sequence_classifier(steps(tf), labels)


#: kind of a head -> its labels
LABELS: dict[str, Any] = {
    "regression": numbers("labels", [ROWS, 2]),
    "column": numbers("labels", [ROWS]),
    "poisson": np.float32([0, 3, 1, 2, 1]),
    "binary": np.int64([0, 1, 1, 0, 1]),
    "binary column": np.int64([[0], [1], [1], [0], [1]]),
    "classes": np.int64([0, 2, 1, 2, 0]),
    "classes column": np.int64([[0], [2], [1], [2], [0]]),
    "many": np.int64([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 1], [1, 1, 1]]),
}


def outputs(tf: Any, found: Any) -> list[Any]:
    """The tensors of ModelFnOps: metrics as the values that their updates give."""
    measures = {key: update for key, (_, update) in (found.eval_metric_ops or {}).items()}
    predictions = {str(key): value for key, value in (found.predictions or {}).items()}
    others = {str(key): pair[1] for key, pair in (found.output_alternatives or {}).items()}
    if found.train_op is not None and any("centered" in v.name for v in tf.trainable_variables()):
        # the other values read the bias before or after the step
        with tf.control_dependencies([found.train_op]):
            bias = next(v for v in tf.trainable_variables() if "centered" in v.name)
            return [tf.stop_gradient(bias.read_value())]
    return [
        found.loss, predictions, {key: tf.stop_gradient(value) for key, value in measures.items()},
        {name: dict(group) for name, group in others.items()},
    ]  # fmt: skip


def head(name: str, labels: str, mode: str, size: int = 0, **options: Any) -> Scene:
    """A head over the logits of a linear layer, or over a last layer that it adds itself.

    Args:
        size: of the logits; 0: the head makes them.
    """

    def scene(tf: Any, contrib: Any) -> Any:
        given = {"weights": tf.constant(WEIGHTS)}
        x = tf.constant(numbers("x", [ROWS, 3]))
        made = getattr(contrib("learn"), name)(**options)
        logits = {"logits": tf.matmul(x, tf.get_variable("w", [3, size]))} if size else {}
        found = made.create_model_fn_ops(
            given, mode, None if mode == "infer" else tf.constant(LABELS[labels]),
            lambda loss: tf.no_op(), **(logits or {"logits_input": x}),
        )  # fmt: skip
        return outputs(tf, found)

    return scene


def own_loss(labels: Any, logits: Any, weights: Any = None) -> Any:
    factors = 1.0 if weights is None else weights
    mean: Any = ((logits - 1.0) ** 2.0 * factors)[0, 0] + 0.0
    return mean


def words(mode: str) -> Scene:
    """Classes with names."""

    def scene(tf: Any, contrib: Any) -> Any:
        x = tf.constant(numbers("x", [ROWS, 3]))
        made = contrib("learn").multi_class_head(3, label_keys=["a", "b", "c"])
        labels = tf.constant(["a", "c", "b", "c", "a"])
        found = made.create_model_fn_ops({}, mode, labels, tf.no_op, logits=x)
        return [found.predictions["probabilities"], found.loss]

    return scene


def several(mode: str, form: str, **options: Any) -> Scene:
    """Two heads over logits, a dict of them, or a last layer."""

    def scene(tf: Any, contrib: Any) -> Any:
        learn = contrib("learn")
        heads = [
            learn.regression_head("r", head_name="one", label_dimension=2),
            learn.multi_label_head(3, "m", head_name="two", weight_column_name="weights"),
        ]
        x = tf.constant(numbers("x", [ROWS, 5]))
        logits = {
            "joined": {"logits": x * tf.get_variable("w", [5])},
            "dict": {"logits": {"one": x[:, :2], "two": x[:, 1:4]}},
            "layer": {"logits_input": x},
        }[form]
        labels = {"r": tf.constant(LABELS["regression"]), "m": tf.constant(LABELS["many"])}
        found = learn.multi_head(heads, **options).create_model_fn_ops(
            {"weights": tf.constant(WEIGHTS)}, mode, labels, lambda loss: tf.no_op(), **logits
        )
        return outputs(tf, found)

    return scene


W = {"weight_column_name": "weights"}
BIAS = {"enable_centered_bias": True}
SCENES: dict[str, Scene] = {
    "linear vector": linear(None),
    "linear several": linear(3, init_mean=0.1, init_stddev=0.2),
    "linear usual": linear(1, init_stddev=1.0),
    "logistic": logistic(),
    "logistic weight": logistic(init_mean=0.5, init_stddev=0.1, graph_weight=True),
    "both": bidirectional(lengths=False),
    "both lengths": bidirectional(lengths=True),
    "network rnn": network("rnn", 1, False, None),
    "network gru": network("gru", 2, True, None),
    "network lstm attention": network("lstm", 2, False, 2),
    "network gru attention": network("gru", 1, True, 2),
    "sequences": sequences,
    "translator": translator(own_decoder=True),
    "translator same": translator(own_decoder=False),
    "classifier": classifier,
    "regression": head("regression_head", "regression", "train", 2, label_dimension=2),
    "regression weights": head("regression_head", "column", "eval", **W, head_name="h"),
    "regression bias": head("regression_head", "column", "train", **W, **BIAS),
    "regression infer": head("regression_head", "column", "infer", 1),
    "poisson": head("poisson_regression_head", "poisson", "eval", 1, **W),
    "poisson bias": head("poisson_regression_head", "poisson", "train", **BIAS, head_name="p"),
    "binary": head("multi_class_head", "binary", "train", n_classes=2),
    "binary weights": head("multi_class_head", "binary column", "eval", 1, n_classes=2, **W,
                           thresholds=[0.25, 0.5], head_name="b"),
    "binary infer": head("multi_class_head", "binary", "infer", n_classes=2),
    "classes": head("multi_class_head", "classes", "train", 3, n_classes=3, **BIAS),
    "classes metrics": head("multi_class_head", "classes column", "eval", n_classes=3, **W,
                            metric_class_ids=[0, 2]),
    "classes column": head("multi_class_head", "classes column", "eval", 3, n_classes=3, **W),
    "classes infer": head("multi_class_head", "classes", "infer", 3, n_classes=3),
    "classes loss": head("multi_class_head", "classes", "train", 3, n_classes=3, **W,
                         loss_fn=own_loss),
    "words": words("eval"),
    "svm": head("binary_svm_head", "binary", "train", **BIAS),
    "svm bias": head("binary_svm_head", "binary", "eval", **BIAS),
    "svm weights": head("binary_svm_head", "binary column", "eval", 1, **W),
    "many": head("multi_label_head", "many", "train", n_classes=3, **BIAS),
    "many weights": head("multi_label_head", "many", "eval", 3, n_classes=3, **W,
                         metric_class_ids=[1], head_name="m"),
    "many infer": head("multi_label_head", "many", "infer", 3, n_classes=3),
    "several": several("train", "joined"),
    "several weights": several("eval", "dict", loss_weights=[0.5, 2.0]),
    "several infer": several("infer", "layer"),
}  # fmt: skip
