"""A metric and the tensors that it is of."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphio.support import logging

__all__ = ["MetricSpec"]

#: role -> the names that an argument of a metric may have, the usual one first
_NAMES = {
    "labels": ("labels", "label", "target", "targets"),
    "predictions": ("predictions", "prediction", "logits", "logit"),
    "weights": ("weights", "weight"),
}


class MetricSpec:
    """Connects the outputs of a model to a metric.

    Args:
        metric_fn: a function such as tf.metrics.accuracy. Its arguments are found by their names:
            labels, label, target or targets; predictions, prediction, logits or logit; weights or
            weight. Predictions without such a name are its first argument that is not the labels.
        prediction_key, label_key: which tensor of a dict; None: there is only one.
        weight_key: which of the inputs has the weights; None: there are none.

    Raises:
        ValueError: the function lacks an argument that a key is given for, or has several of one
            kind.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: Any = None,
        label_key: Any = None,
        weight_key: Any = None,
    ) -> None:
        self._metric_fn_name = _name(metric_fn)
        self._metric_fn = _by_names(
            metric_fn, self._metric_fn_name, label_key is not None, weight_key is not None
        )
        self._keys = {"prediction": prediction_key, "label": label_key, "weight": weight_key}

    prediction_key = property(lambda self: self._keys["prediction"])
    label_key = property(lambda self: self._keys["label"])
    weight_key = property(lambda self: self._keys["weight"])

    @property
    def metric_fn(self) -> Callable[..., Any]:
        """The function, with the named arguments labels, predictions and weights."""
        return self._metric_fn

    def __str__(self) -> str:
        keys = ", ".join(f"{kind}_key={key}" for kind, key in self._keys.items())
        return f"MetricSpec(metric_fn={self._metric_fn_name}, {keys})"

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Calls the function with the tensors of the keys.

        Args:
            inputs: dict of features.
            labels, predictions: dicts, or a tensor each.

        Returns:
            what the function returns.

        Raises:
            ValueError: a key is given for a single tensor, or none for a dict of several.
            KeyError: a dict lacks a key.
        """
        return self.metric_fn(
            labels=self._chosen("label", labels),
            predictions=self._chosen("prediction", predictions),
            weights=inputs[self.weight_key] if self.weight_key else None,
        )

    def _chosen(self, kind: str, given: Any) -> Any:
        key = self._keys[kind]
        if key:
            if not isinstance(given, dict):
                raise ValueError(
                    f"MetricSpec with {kind}_key specified requires {kind}s dict, got {given}. "
                    f"You must not provide a {kind}_key if you only have a single Tensor as "
                    f"{kind}s."
                )
            if key not in given:
                raise KeyError(f"Key '{key}' missing from {list(given)}.")
            return given[key]
        if not isinstance(given, dict):
            return given
        if len(given) != 1:
            raise ValueError(
                f"MetricSpec without specified {kind}_key requires {kind}s tensor or single "
                f"element dict, got {given}"
            )
        return next(iter(given.values()))


def _name(function: Any) -> str:
    partly = getattr(function, "func", None)
    found = getattr(function, "__name__", None) or getattr(partly, "__name__", None)
    return found or str(function)


def _by_names(
    function: Callable[..., Any], shown: str, needs_labels: bool, needs_weights: bool
) -> Callable[..., Any]:
    """The function with the named arguments labels, predictions and weights."""
    set_before = getattr(function, "keywords", {})  # those of functools.partial
    known = [name for name in inspect.signature(function).parameters if name not in set_before]
    needed = {"labels": needs_labels, "predictions": False, "weights": needs_weights}
    names = {role: _argument(shown, known, role, needed[role]) for role in _NAMES}

    def call(*, labels: Any = None, predictions: Any = None, weights: Any = None) -> Any:
        named = {"labels": labels, "predictions": predictions, "weights": weights}
        given = {names[role]: value for role, value in named.items() if names[role]}
        if weights is None and names["weights"]:
            del given[names["weights"]]
        if weights is not None and not names["weights"]:
            raise ValueError(f"{shown}({', '.join(known)}) has no argument for weights")
        if names["predictions"]:
            return function(**given)
        if names["labels"] and names["labels"] == known[0]:
            return function(given.pop(known[0]), predictions, **given)
        return function(predictions, **given)

    return call


def _argument(shown: str, known: list[str], role: str, needed: bool) -> str:
    """The name that an argument has in a function; "" without one."""
    found = [name for name in known if name in _NAMES[role]]
    if len(found) > 1:
        raise ValueError(f"Ambiguous arguments {found}, must provide only one of {_NAMES[role]}.")
    if not found:
        if needed:
            raise ValueError(f"{_NAMES[role]} missing from {shown}({', '.join(known)}).")
        return ""
    if found[0] != role:
        logging.warning("Canonical arg %s missing from %s, using %s.", role, shown, found[0])
    return found[0]
