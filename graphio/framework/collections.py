"""Collections: named lists of a graph's variables, tensors, operations and values."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.support import api_guard

__all__ = [
    "GraphKeys",
    "add_to_collection",
    "add_to_collections",
    "get_collection",
    "get_collection_ref",
]


class GraphKeys:
    """Names of the collections that the library itself fills."""

    GLOBAL_VARIABLES = VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    METRIC_VARIABLES = "metric_variables"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"


@api_guard.guarded
def add_to_collection(name: str, value: Any) -> None:
    """Adds a value to a collection of the default graph."""
    scopes.get_default_graph().add_to_collection(name, value)


@api_guard.guarded
def add_to_collections(names: Any, value: Any) -> None:
    """Adds a value to several collections of the default graph."""
    scopes.get_default_graph().add_to_collections(names, value)


@api_guard.guarded
def get_collection(key: str, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph; scope: a regular expression for names."""
    return scopes.get_default_graph().get_collection(key, scope)


@api_guard.guarded
def get_collection_ref(key: str) -> list[Any]:
    """A collection of the default graph itself."""
    return scopes.get_default_graph().get_collection_ref(key)
