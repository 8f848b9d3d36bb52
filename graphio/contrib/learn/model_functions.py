"""Results of functions of models and of their inputs, and functions of inputs for serving."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graphio.contrib.framework.tensors import get_graph_from_inputs
from graphio.contrib.learn.keys import ModeKeys
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor, placeholder
from graphio.framework.graph import Operation
from graphio.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.control_flow.branches import no_op
from graphio.ops.strings.example import parse_example
from graphio.support import api_guard
from graphio.train.loops.session_run_hook import SessionRunHook

__all__ = [
    "InputFnOps",
    "ModelFnOps",
    "NotFittedError",
    "build_default_serving_input_fn",
    "build_parsing_serving_input_fn",
    "no_op_train_fn",
]


class NotFittedError(ValueError, AttributeError):
    """A model is used before it was trained: for programs that raise it."""


class InputFnOps(NamedTuple):
    """The inputs of a model.

    Attributes:
        features: by name, a tensor or SparseTensor.
        labels: a tensor, or a dict of them; None for serving.
        default_inputs: by name, the placeholders that are fed.
    """

    features: Any
    labels: Any
    default_inputs: Any


class _ModelFnOps(NamedTuple):
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    output_alternatives: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    mode: Any


class ModelFnOps(_ModelFnOps):
    """The tensors of a model, checked: a tuple of the arguments, mode last. It has no
    estimator_spec(): there are no estimators.

    Args:
        mode: one of ModeKeys.
        predictions: a tensor, or a dict of them; not None for evaluation and inference.
        loss: with one element, which becomes a scalar; not None but for inference.
        train_op: an operation, or a tensor of it; not None for training.
        eval_metric_ops: dict of metrics; None: an empty one.
        output_alternatives: by name of a head, the type of its problem, and a dict of tensors.
        training_chief_hooks, training_hooks: lists of hooks; None: empty ones.
        scaffold: a tf.train.Scaffold.

    Raises:
        ValueError: mode is another, a tensor that it needs is missing, loss is not a scalar,
            eval_metric_ops is not a dict, or the tensors are of several graphs.
        TypeError: a hook is not a SessionRunHook.
    """

    __slots__ = ()

    def __new__(
        cls, mode: str, predictions: Any = None, loss: Any = None, train_op: Any = None,
        eval_metric_ops: Any = None, output_alternatives: Any = None,
        training_chief_hooks: Any = None, training_hooks: Any = None, scaffold: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        ModeKeys.validate(mode)
        get_graph_from_inputs((predictions, loss, train_op))
        missing = {
            "train_op": train_op is None and mode == ModeKeys.TRAIN,
            "loss": loss is None and mode in (ModeKeys.TRAIN, ModeKeys.EVAL),
            "predictions": predictions is None and mode in (ModeKeys.INFER, ModeKeys.EVAL),
        }
        for name, is_missing in missing.items():
            if is_missing:
                raise ValueError(f"Missing {name}.")
        if train_op is not None and not isinstance(train_op, Operation):
            train_op = convert_to_tensor(train_op).op
        if eval_metric_ops is not None and not isinstance(eval_metric_ops, dict):
            raise ValueError("eval_metric_ops must be a dict.")
        hooks = list(training_hooks or [])
        chief_hooks = list(training_chief_hooks or [])
        for hook in hooks + chief_hooks:
            if not isinstance(hook, SessionRunHook):
                raise TypeError(
                    "All hooks returned from model_fn must be SessionRunHook instances, got "
                    f"instance of {type(hook)}: {hook}"
                )
        return super().__new__(
            cls, _predictions(predictions), _scalar(loss), train_op, eval_metric_ops or {},
            output_alternatives, chief_hooks, hooks, scaffold, mode,
        )  # fmt: skip


def _predictions(given: Any) -> Any:
    if isinstance(given, dict):
        return {key: convert_to_tensor_or_sparse_tensor(value) for key, value in given.items()}
    return None if given is None else convert_to_tensor_or_sparse_tensor(given)


def _scalar(loss: Any) -> Any:
    if loss is None:
        return None
    found = convert_to_tensor(loss)
    if found.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar: {found}.")
    return found if found.shape.is_compatible_with([]) else array.reshape(found, [])


@api_guard.guarded
def no_op_train_fn(loss: Any) -> Operation:
    """An operation that does nothing, for heads whose loss is trained elsewhere."""
    return no_op()


@api_guard.unguarded
def build_parsing_serving_input_fn(
    feature_spec: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that makes a placeholder for tf.train.Examples, and parses them.

    Args:
        feature_spec: as the features of tf.parse_example.
        default_batch_size: of the placeholder, input_example_tensor; None: any.

    Returns:
        The function; its InputFnOps has the placeholder as default input "examples".
    """

    def input_fn() -> InputFnOps:
        examples = placeholder(dtypes.string, [default_batch_size], name="input_example_tensor")
        return InputFnOps(parse_example(examples, feature_spec), None, {"examples": examples})

    return input_fn


@api_guard.unguarded
def build_default_serving_input_fn(
    features: Mapping[str, Any], default_batch_size: int | None = None
) -> Callable[[], InputFnOps]:
    """A function that makes a placeholder for each feature.

    Args:
        features: by name, a tensor whose name, dtype and shape the placeholder gets.
        default_batch_size: the first dimension of all; None: any.

    Returns:
        The function; its InputFnOps has the placeholders as features and default inputs.
    """

    def input_fn() -> InputFnOps:
        made = {}
        for name, feature in features.items():
            shape = [default_batch_size, *feature.shape.as_list()[1:]]
            made[name] = placeholder(feature.dtype, TensorShape(shape), name=feature.op.name)
        return InputFnOps(made, None, made)

    return input_fn
