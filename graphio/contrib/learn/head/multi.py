"""A head of several heads over one last layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.contrib.learn.head.base import Head, check_mode
from graphio.contrib.learn.keys import ModeKeys
from graphio.contrib.learn.model_functions import ModelFnOps, no_op_train_fn
from graphio.framework.graph import Tensor
from graphio.ops.control_flow.branches import group
from graphio.ops.math import elementwise
from graphio.support import api_guard

__all__ = ["multi_head"]


class _MultiHead(Head):
    def __init__(self, heads: Sequence[Any], loss_weights: Sequence[float] | None) -> None:
        for head in heads:
            if not head.head_name:
                raise ValueError("Members of MultiHead must have names.")
        self._heads, self._loss_weights = list(heads), loss_weights

    @property
    def logits_dimension(self) -> int:
        """The sum of those of the heads."""
        return sum(head.logits_dimension for head in self._heads)

    def create_model_fn_ops(
        self, features: Mapping[str, Any], mode: str, labels: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None, logits: Any = None,
        logits_input: Any = None, scope: Any = None,
    ) -> ModelFnOps:  # fmt: skip
        """As Head's; logits may be a dict by the names of the heads."""
        check_mode(mode)
        found = [
            head.create_model_fn_ops(
                features, mode, labels, no_op_train_fn, scores,
                logits_input if logits is None else None, scope,
            )
            for head, scores in zip(self._heads, self._scores(logits), strict=True)
        ]  # fmt: skip
        names = [head.head_name for head in self._heads]
        if mode == ModeKeys.INFER:
            alternatives = {
                name: one.output_alternatives[name] for name, one in zip(names, found, strict=True)
            }
            return ModelFnOps(mode, _predictions(names, found), output_alternatives=alternatives)
        metrics = {key: metric for one in found for key, metric in one.eval_metric_ops.items()}
        if mode == ModeKeys.EVAL:
            loss = self._merged([one.loss for one in found])
            return ModelFnOps(mode, _predictions(names, found), loss, eval_metric_ops=metrics)
        if train_op_fn is None:
            raise ValueError("train_op_fn can not be None in TRAIN mode.")
        loss = self._merged([one.loss for one in found])
        train_op = group(train_op_fn(loss), *(one.train_op for one in found))
        return ModelFnOps(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)

    def _scores(self, logits: Any) -> list[Any]:
        """The logits of each head; None where it makes them."""
        if logits is None:
            return [None] * len(self._heads)
        if isinstance(logits, dict):
            return [logits[head.head_name] for head in self._heads]
        found, begin = [], 0
        for head in self._heads:
            end = begin + head.logits_dimension
            found.append(logits[:, begin:end])
            begin = end
        return found

    def _merged(self, losses: list[Tensor]) -> Tensor:
        if not self._loss_weights:
            return elementwise.add_n(losses)
        pairs = zip(losses, self._loss_weights, strict=True)
        return elementwise.add_n([elementwise.multiply(loss, weight) for loss, weight in pairs])


def _predictions(names: list[str], found: list[ModelFnOps]) -> dict[tuple[str, str], Any]:
    return {
        (name, key): value
        for name, one in zip(names, found, strict=True)
        for key, value in one.predictions.items()
    }


@api_guard.unguarded
def multi_head(heads: Sequence[Head], loss_weights: Sequence[float] | None = None) -> Head:
    """A head of several: its loss is the sum of theirs, predictions are by (name, key).

    Args:
        heads: heads with names.
        loss_weights: factors of their losses; None: 1 each.

    Raises:
        ValueError: a head has no name, or loss_weights has another length.
    """
    if loss_weights and len(loss_weights) != len(heads):
        raise ValueError("heads and loss_weights must have same size")
    return _MultiHead(heads, loss_weights)
