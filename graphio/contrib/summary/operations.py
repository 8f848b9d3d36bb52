"""Operations that write summaries to the default writer when they run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from graphio.contrib.summary import recording
from graphio.contrib.summary.writers import (
    current_writer,
    show_graph,
    summary_writer_initializer_op,
    write_event,
    write_graph,
    write_summary,
)
from graphio.execution.session import get_default_session
from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.ops.control_flow.branches import no_op, smart_cond
from graphio.summary.ops import most, real, tagged
from graphio.support import api_guard
from graphio.train.loops.step_counter import get_or_create_global_step

__all__ = [
    "all_summary_ops", "audio", "eval_dir", "generic", "graph", "histogram", "image",
    "import_event", "initialize", "scalar",
]  # fmt: skip

#: the collection of the operations
_WRITING = "_SUMMARY_V2"


def _step(given: Any) -> Tensor:
    step = get_or_create_global_step() if given is None else given
    return convert_to_tensor(step, dtypes.int64)


def _recorded(
    kind: str, name: str, family: str | None, step: Any, inputs: Callable[[], Sequence[Tensor]]
) -> Any:
    """The operation that writes a summary where summaries are recorded: bool, whether it did."""
    writer = current_writer()
    if writer is None:
        return no_op()

    with tagged(name, family) as (tag, at):

        def record() -> Tensor:
            written = write_summary(writer, _step(step), kind, tag, inputs(), at)
            with scopes.control_dependencies([written]):
                return constant(True)

        made = smart_cond(recording.condition(), record, lambda: constant(False))
    scopes.get_default_graph().add_to_collection(_WRITING, made)
    return made


@api_guard.makes_variables
def scalar(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes a number.

    Args:
        name: of the operation, which is the tag with the name scope before it.
        tensor: a numeric scalar.
        family: a prefix of the tag.
        step: int64 scalar; None: the global step, made if there is none.

    Returns:
        A bool scalar, whether it was written; an operation without an effect where there is no
        default writer.
    """
    return _recorded("ScalarSummary", name, family, step, lambda: [real(tensor, "scalar")])


@api_guard.makes_variables
def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Writes the distribution of numbers; arguments and value as scalar's."""
    return _recorded("HistogramSummary", name, family, step, lambda: [real(tensor, "histogram")])


@api_guard.makes_variables
def image(
    name: str,
    tensor: Any,
    bad_color: Any = None,
    max_images: int = 3,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes images, as tf.summary.image.

    Args:
        tensor: uint8 or floating (n, h, w, c).
        bad_color: of pixels that are not a number; None, red, is the only one.
        max_images: the most images to write.
        name, family, step: as scalar's, whose value it has.

    Raises:
        NotImplementedError: there is another bad_color.
    """
    if bad_color is not None:
        raise NotImplementedError(
            f"contrib.summary.image: bad_color is {bad_color!r}; pixels that are not a number are "
            "red: leave bad_color out"
        )
    return _recorded(
        "ImageSummary", name, family, step, lambda: [convert_to_tensor(tensor), most(max_images)]
    )


@api_guard.makes_variables
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int,
    family: str | None = None,
    step: Any = None,
) -> Any:
    """Writes sounds, as tf.summary.audio.

    Args:
        tensor: float32 (n, frames, channels) or (n, frames) in [-1, 1].
        sample_rate: frames a second, a scalar.
        max_outputs: the most sounds to write.
        name, family, step: as scalar's, whose value it has.
    """

    def inputs() -> list[Tensor]:
        rate = convert_to_tensor(sample_rate, dtypes.float32)
        return [convert_to_tensor(tensor, dtypes.float32), rate, most(max_outputs)]

    return _recorded("AudioSummaryV2", name, family, step, inputs)


@api_guard.makes_variables
def generic(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Writes a tensor.

    Args:
        tensor: of any dtype and shape.
        metadata: a SummaryMetadata or its bytes, a tensor; None: none.
        name, family, step: as scalar's, whose value it has.
    """

    def inputs() -> list[Tensor]:
        serialize = getattr(metadata, "SerializeToString", None)
        content = b"" if metadata is None else serialize() if serialize else metadata
        return [convert_to_tensor(tensor), convert_to_tensor(content, dtypes.string)]

    return _recorded("TensorSummaryV2", name, family, step, inputs)


@api_guard.makes_variables
def graph(param: Any, step: Any = None, name: str | None = None) -> Operation:
    """Writes a graph for TensorBoard, in each run.

    Args:
        param: a string scalar tensor: a serialized GraphDef.
        step: int64 scalar; None: the global step, made if there is none.
        name: of the operation.

    Raises:
        TypeError: it is not a tensor.
    """
    if not isinstance(param, Tensor):
        raise TypeError(
            f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}"
        )
    writer = current_writer()
    return no_op() if writer is None else write_graph(writer, _step(step), param, name)


@api_guard.guarded
def import_event(tensor: Any, name: str | None = None) -> Operation:
    """Writes a serialized tf.Event, a string scalar.

    Raises:
        RuntimeError: there is no default writer.
    """
    writer = current_writer()
    if writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    return write_event(writer, tensor, name)


@api_guard.guarded
def all_summary_ops() -> list[Any]:
    """The operations of the default graph that write summaries, but for graphs and events."""
    return scopes.get_default_graph().get_collection(_WRITING)


@api_guard.guarded
def initialize(graph: Any = None, session: Any = None) -> None:
    """Opens the writers of the default graph.

    Args:
        graph: a Graph or GraphDef to write at step 0; None: none.
        session: None: the default one.

    Raises:
        RuntimeError: there is no default writer.
        ValueError: there is no session.
    """
    writer = current_writer()
    if writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    chosen = get_default_session() if session is None else session
    if chosen is None:
        raise ValueError("session must be passed if no default session exists")
    chosen.run(summary_writer_initializer_op())
    if graph is not None:
        show_graph(chosen, writer, graph)


@api_guard.unguarded
def eval_dir(model_dir: str, name: str | None = None) -> str:
    """The folder of an evaluation: eval, or eval_ and its name, in that of the model."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")
