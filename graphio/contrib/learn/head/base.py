"""Head, and the parts that heads of one problem share."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from graphio.contrib.layers.core import linear
from graphio.contrib.learn.head.losses import Loss
from graphio.contrib.learn.head.streams import Metric
from graphio.contrib.learn.keys import MetricKey, ModeKeys
from graphio.contrib.learn.model_functions import ModelFnOps
from graphio.evaluation import metrics
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.framework.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import group
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import core
from graphio.ops.sparse.arranging import sparse_reshape
from graphio.summary.ops import scalar
from graphio.train.optimizers.adaptive import AdagradOptimizer
from graphio.variables.variable_scope import variable_scope
from graphio.variables.variables import Variable

__all__ = ["Head", "SingleHead", "check_mode", "key", "single_loss_op"]


def key(head_name: str | None, name: str) -> str:
    """The name of a metric or summary of a head."""
    return f"{name}/{head_name}" if head_name else name


def check_mode(mode: Any) -> None:
    """Raises ValueError for another mode than those of ModeKeys."""
    if mode not in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.INFER):
        raise ValueError(f"mode={mode} unrecognized.")


def single_loss_op(train_op_fn: Any, loss: Tensor, values: list[Any]) -> Any:
    """The operation that trains. Raises ValueError without a function that makes it."""
    if train_op_fn is None:
        raise ValueError("train_op_fn can not be None in TRAIN mode")
    with name_scope(None, "train_op", values):
        return train_op_fn(loss)


class Head(abc.ABC):
    """The interface of heads."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The last dimension of the logits."""

    @abc.abstractmethod
    def create_model_fn_ops(
        self, features: Mapping[str, Any], mode: str, labels: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        """The predictions, loss, metrics and train_op of a model.

        Args:
            features: dict of tensors, which has the weights.
            mode: one of ModeKeys.
            labels: a tensor, or a dict of them.
            train_op_fn: from the loss to the operation that trains; for ModeKeys.TRAIN.
            logits: the scores [batch, logits_dimension].
            logits_input: instead of them the last layer, of which a linear layer makes them.
            scope: of the variables.

        Raises:
            ValueError: mode is another, or neither or both of logits and logits_input are given.
        """


class SingleHead(Head):
    """A head of one problem. A subclass gives SCOPE, predictions, measures, and may give outputs
    and truth.

    Args:
        problem_type: one of ProblemType.
        logits_dimension: scores of a row.
        loss: the loss.
        label_name: the key of the labels in a dict.
        weight_column_name: the key of the weights in the features; None: there are none.
        head_name: the end of all names, and the default scope.
        enable_centered_bias: whether a trained bias is added to the logits.
    """

    SCOPE = ""

    def __init__(
        self, problem_type: int, logits_dimension: int, loss: Loss, label_name: str | None,
        weight_column_name: str | None, head_name: str | None, enable_centered_bias: bool,
    ) -> None:  # fmt: skip
        if logits_dimension is None or logits_dimension < 1:
            raise ValueError(f"Invalid logits_dimension {logits_dimension}.")
        self._problem_type, self._dimension, self._loss = problem_type, logits_dimension, loss
        self._label_name, self._weight_name = label_name, weight_column_name
        self._head_name, self._has_bias = head_name, enable_centered_bias

    logits_dimension = property(lambda self: self._dimension)
    label_name = property(lambda self: self._label_name)
    weight_column_name = property(lambda self: self._weight_name)
    head_name = property(lambda self: self._head_name)

    def create_model_fn_ops(
        self, features: Mapping[str, Any], mode: str, labels: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        """As Head's."""
        given = [*features.values(), labels, logits, logits_input]
        with variable_scope(scope, default_name=self._head_name or self.SCOPE, values=given):
            has_truth = mode != ModeKeys.INFER and labels is not None
            truth = self.truth(self._labels(labels)) if has_truth else None
            scores = self._logits(logits_input, logits)
            check_mode(mode)
            bias = self._centered_bias() if self._has_bias else None
            if bias is not None:
                scores = core.bias_add(scores, bias)
            with name_scope(None, "predictions", [scores]):
                predictions = self.predictions(scores)
            loss = train_op = measures = None
            if has_truth:
                weights = self._weights(features)
                loss, reported = self.loss(truth, scores, weights)
                with name_scope(""):
                    scalar(key(self._head_name, MetricKey.LOSS), array.identity(reported))
                if mode == ModeKeys.TRAIN:
                    train_op = self._train(loss, truth, scores, weights, bias, train_op_fn)
                with name_scope("metrics"):
                    measures = self._measures(reported, predictions, truth, weights)
            return ModelFnOps(
                mode, predictions, loss, train_op, measures, self.outputs(predictions)
            )

    # ---- differences between heads ----

    def truth(self, labels: Any) -> Any:
        """The labels as the loss and the metrics need them."""
        if isinstance(labels, SparseTensor):
            raise ValueError("SparseTensor is not supported.")
        return labels

    def loss(self, truth: Any, logits: Tensor, weights: Any) -> tuple[Tensor, Tensor]:
        """The loss that is trained, and that which is reported."""
        return self._loss(truth, logits, weights)

    @abc.abstractmethod
    def predictions(self, logits: Tensor) -> dict[str, Tensor]:
        """The predictions by PredictionKey."""

    def measures(
        self, predictions: dict[str, Tensor], truth: Any, weights: Any
    ) -> dict[str, Metric]:
        """The metrics by MetricKey, without the loss."""
        return {}

    def outputs(self, predictions: dict[str, Tensor]) -> dict[Any, Any]:
        """The outputs for serving, by the name of the head."""
        return {self._head_name: (self._problem_type, predictions)}

    # ---- parts ----

    def _measures(
        self, reported: Tensor, predictions: dict[str, Tensor], truth: Any, weights: Any
    ) -> dict[str, Metric]:
        found = {MetricKey.LOSS: metrics.mean(reported)}
        found.update(self.measures(predictions, truth, weights))
        return {key(self._head_name, name): metric for name, metric in found.items()}

    def _labels(self, labels: Any) -> Any:
        chosen = labels[self._label_name] if isinstance(labels, dict) else labels
        return convert_to_tensor_or_sparse_tensor(chosen)

    def _logits(self, logits_input: Any, logits: Any) -> Tensor:
        if logits is None:
            if logits_input is None:
                raise ValueError("Neither logits nor logits_input supplied.")
            made: Tensor = linear(logits_input, self._dimension, scope="logits")
            return made
        if logits_input is not None:
            raise ValueError("Both logits and logits_input supplied.")
        found = convert_to_tensor(logits, name="logits")
        if found.shape.ndims is not None:
            found.shape[-1:].assert_is_compatible_with([self._dimension])
        return found

    def _weights(self, features: Mapping[str, Any]) -> Any:
        """The weights, a scalar or at least a column; None: there are none."""
        name = self._weight_name
        if not name:
            return None
        if name not in features:
            raise ValueError(f"Weights {name} missing from features.")
        with name_scope(None, "weight_tensor", list(features.values())):
            weights = elementwise.cast(features[name], dtypes.float32)
            if weights.shape.ndims != 1:
                return weights
            is_sparse = isinstance(weights, SparseTensor)
            return (sparse_reshape if is_sparse else array.reshape)(weights, (-1, 1))

    def _centered_bias(self) -> Variable:
        bias = Variable(
            array.zeros((self._dimension,)), trainable=True, name="centered_bias_weight"
        )
        for number in range(self._dimension):
            scalar(key(self._head_name, f"centered_bias/bias_{number}"), bias[number])
        return bias

    def _train(
        self, loss: Tensor, truth: Any, logits: Tensor, weights: Any, bias: Any, train_op_fn: Any
    ) -> Any:
        if train_op_fn is None:
            raise ValueError("train_op_fn can not be None in TRAIN mode")
        steps = []
        if bias is not None:
            steps.append(self._bias_step(bias, array.shape(logits)[0], truth, weights))
        made = single_loss_op(train_op_fn, loss, [loss])
        return group(made, *steps) if steps else made

    def _bias_step(self, bias: Variable, batch: Tensor, truth: Any, weights: Any) -> Any:
        """Trains the bias alone, as the logits of each row."""
        with name_scope(None, "centered_bias_step") as name:
            count = array.shape(bias)[0]
            logits = array.reshape(
                array.tile(bias, array.stack([batch])), array.stack([batch, count])
            )
            with name_scope(None, "centered_bias", [logits]):
                both = array.stack(self.loss(truth, logits, weights))
                loss = reduction.reduce_mean(both, name="training_loss")
        return AdagradOptimizer(0.1).minimize(loss, var_list=[bias], name=name)
