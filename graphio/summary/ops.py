"""Summary operations: their value is a serialized Summary, which a FileWriter takes.

What they show is computed in the graph; the bytes are made by the program around the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Table
from graphio.ops.base.host import host_call_to
from graphio.schema.summary_pb2 import SummaryMetadata
from graphio.summary.encoding import FUNCTIONS
from graphio.support import api_guard, logging

__all__ = [
    "audio", "histogram", "image", "merge", "merge_all", "scalar", "tensor_summary", "text",
]  # fmt: skip

#: the name of each kind's host function
_FUNCTIONS: Attachment[Table[str, str]] = attachments.table("summary_functions")


@api_guard.guarded
def scalar(name: str, tensor: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of one number.

    Args:
        name: of the operation, which is the tag with the name scope before it.
        tensor: a numeric scalar.
        collections: names of collections to join; None: SUMMARIES.
        family: a prefix of the tag, under which TensorBoard groups it.

    Returns:
        A string scalar: the serialized Summary.

    Raises:
        TypeError: the tensor is not of real numbers.
        InvalidArgumentError: in a run, it is not a scalar.
    """
    with tagged(name, family) as (tag, at):
        value = real(tensor, "scalar")
        return _summary("ScalarSummary", [_tags(tag), value], at, collections)


@api_guard.guarded
def histogram(name: str, values: Any, collections: Any = None, family: str | None = None) -> Tensor:
    """A summary of the distribution of numbers.

    Args:
        name, collections, family: as scalar's.
        values: numeric tensor of any shape.

    Raises:
        TypeError: the tensor is not of real numbers.
        InvalidArgumentError: in a run, a value is infinite or no number.
    """
    with tagged(name, family) as (tag, at):
        return _summary(
            "HistogramSummary", [_tags(tag), real(values, "histogram")], at, collections
        )


@api_guard.guarded
def image(
    name: str, tensor: Any, max_outputs: int = 3, collections: Any = None, family: str | None = None
) -> Tensor:
    """A summary of images, tagged `name/image`, or `name/image/0` ... if max_outputs is not 1.

    Args:
        name, collections, family: as scalar's.
        tensor: uint8 or floating (n, h, w, c), c being 1 (grey), 3 (RGB) or 4 (RGBA). Floats are
            scaled, an image by itself: its largest becomes 255; if there are negative ones, 0
            becomes 128.
        max_outputs: the most images to show.

    Raises:
        TypeError: another dtype.
        ValueError: max_outputs is less than 1, or the tensor is not of rank 4.
    """
    with tagged(name, family) as (tag, at):
        images = convert_to_tensor(tensor, name="tensor")
        if images.dtype != dtypes.uint8 and not images.dtype.is_floating:
            raise TypeError(
                f"summary.image: '{images.name}' is {images.dtype.name}, expected uint8 or floats"
            )
        if images.shape.ndims not in (4, None):
            raise ValueError(
                f"Shape must be rank 4 but is rank {images.shape.ndims} for '{at[:-1]}' (op: "
                f"'ImageSummary'): {images.shape}; give (n, height, width, channels)"
            )
        inputs = [_tags(tag), images, most(max_outputs)]
        return _summary("ImageSummary", inputs, at, collections)


@api_guard.guarded
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Any = None,
    family: str | None = None,
) -> Tensor:
    """A summary of sounds, tagged `name/audio`, or `name/audio/0` ... if max_outputs is not 1.

    Args:
        name, collections, family: as scalar's.
        tensor: float32 (n, frames, channels) or (n, frames) in [-1, 1].
        sample_rate: frames a second, a scalar.
        max_outputs: the most sounds to keep.

    Raises:
        InvalidArgumentError: in a run, sample_rate is not a scalar above 0, or no WAV file holds a
            sound: it has no frame, no channel, too many of them, or too many bytes a second.
    """
    with tagged(name, family) as (tag, at):
        sounds = convert_to_tensor(tensor, dtypes.float32, name="tensor")
        rate = convert_to_tensor(sample_rate, dtypes.float32, name="sample_rate")
        inputs = [_tags(tag), sounds, rate, most(max_outputs)]
        return _summary("AudioSummaryV2", inputs, at, collections)


@api_guard.guarded
def text(name: str, tensor: Any, collections: Any = None) -> Tensor:
    """A summary of strings, which TensorBoard shows as Markdown; a matrix of them as a table.

    Args:
        name, collections: as scalar's.
        tensor: string tensor of at most two axes.

    Raises:
        ValueError: it is not a string tensor.
    """
    given = convert_to_tensor(tensor)
    if given.dtype != dtypes.string:
        raise ValueError(
            f"Expected tensor {given.name} to have dtype string, got {given.dtype.name}"
        )
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, given, summary_metadata=metadata, collections=collections)


@api_guard.guarded
def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: str | None = None,
    collections: Any = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """A summary of an entire tensor.

    Args:
        name, collections, family: as scalar's.
        tensor: of any dtype and shape.
        summary_description: a description for TensorBoard.
        summary_metadata: a SummaryMetadata message: which plugin shows it.
        display_name: the name for TensorBoard; None: the tag.
    """
    metadata = SummaryMetadata()
    if summary_metadata is not None:
        metadata.ParseFromString(summary_metadata.SerializeToString())
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with tagged(name, family) as (tag, at):
        content = constant(metadata.SerializeToString(), dtypes.string, name="metadata")
        inputs = [_tags(tag), convert_to_tensor(tensor, name="tensor"), content]
        return _summary("TensorSummaryV2", inputs, at, collections)


@api_guard.guarded
def merge(inputs: Sequence[Any], collections: Any = None, name: str | None = None) -> Tensor:
    """A summary with the values of several.

    Args:
        inputs: string tensors: serialized Summaries.
        collections: names of collections to join; None: none.
        name: of the operation, and of the name scope around it; None: Merge/MergeSummary.

    Raises:
        ValueError: inputs is empty.
        TypeError: they are not string tensors.
        InvalidArgumentError: in a run, two of the values have one tag.
    """
    unchanged = scopes.get_default_graph().unchanged_on_error()
    own = None if name is None else clean(name)
    with unchanged, scopes.name_scope(own, "Merge"):
        parts = [convert_to_tensor(part, dtypes.string) for part in inputs]
        if not parts:
            raise ValueError("merge: there are no summaries; give at least one")
        kind = "MergeSummary"
        merged = _called(kind, parts, own or kind)
        scopes.get_default_graph().add_to_collections(collections or [], merged)
        return merged


@api_guard.guarded
def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """All summaries of a collection of the default graph as one; None if there are none."""
    found = scopes.get_default_graph().get_collection(key, scope)
    return merge(found, name=name) if found else None


# ---- parts ----


@contextmanager
def tagged(name: str, family: str | None) -> Iterator[tuple[str, str]]:
    """A name scope for one summary: its tag, and the name for the operation."""
    cleaned = clean(name)
    group = None if family is None else clean(family)
    label = cleaned if group is None else f"{group}/{cleaned}"
    unchanged = scopes.get_default_graph().unchanged_on_error()
    if not label:  # a summary without a tag, at the root
        with unchanged, scopes.name_scope(None):
            yield "", ""
        return
    with unchanged, scopes.operation_scope(label) as at:
        tag = at.rstrip("/")
        yield (tag if group is None else f"{group}/{tag}"), at


def clean(name: str) -> str:
    """The name with "_" for what a name may not have."""
    cleaned = re.sub(r"[^-/\w.]", "_", name).lstrip("/")
    if cleaned != name:
        logging.info("Summary name %s is illegal; using %s instead.", name, cleaned)
    return cleaned


def _tags(tag: str) -> Tensor:
    return constant(tag, dtypes.string, name="tags")


def most(max_outputs: int) -> Tensor:
    """The number of pictures or sounds to show; ValueError if it is less than 1."""
    if max_outputs < 1:
        raise ValueError(f"max_outputs is {max_outputs}, expected 1 or more")
    return constant(np.int32(max_outputs), name="max_outputs")


def real(value: Any, what: str) -> Tensor:
    """Real numbers as a tensor; TypeError if they are not."""
    tensor = convert_to_tensor(value, name="values")
    if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
        raise TypeError(
            f"summary.{what}: '{tensor.name}' is {tensor.dtype.name}, expected real numbers; "
            "tf.cast it"
        )
    return tensor


def _summary(kind: str, inputs: Sequence[Tensor], at: str, collections: Any) -> Tensor:
    made = _called(kind, inputs, at)
    keys = [GraphKeys.SUMMARIES] if collections is None else collections
    scopes.get_default_graph().add_to_collections(keys, made)
    return made


def _called(kind: str, inputs: Sequence[Tensor], at: str) -> Tensor:
    """The operation; all of a kind in a graph call one function."""
    graph = scopes.get_default_graph().root
    names = _FUNCTIONS.of(graph)
    if kind not in names:
        names[kind] = graph.add_host_function(f"summary.{kind}", lambda session: FUNCTIONS[kind])
    outputs = [(dtypes.string, TensorShape([]))]
    made = host_call_to(names[kind], inputs, outputs, stateful=False, name=at or kind, tf_type=kind)
    return made.outputs[0]
