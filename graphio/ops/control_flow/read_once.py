"""Elements of TensorArrays that one run may read once: TensorFlow clears them after the read.

Here nothing is cleared, so only reads are noted that are plainly of the same element: outside of
loops and branches, at indices that are known while the graph is built.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from graphio.framework.graph import Graph, Operation
from graphio.framework.graph_state.attachments import Attachment
from graphio.support import errors

__all__ = ["note", "refuse_second"]

#: by a read, its array and index
_READS: Attachment[dict[Operation, Any]] = Attachment("reads of arrays", lambda root: {})


def note(operation: Operation, array: object, index: int) -> None:
    """Notes that an operation reads an element, which no other operation of its run may read.

    Args:
        operation: of a root graph; of another one nothing is noted.
        array: what all arrays have in common that writes have made of one.
        index: of the element.
    """
    if operation.graph.outer is None:
        _READS.of(operation.graph)[operation] = (array, index)


def refuse_second(graph: Graph, operations: Collection[Operation]) -> None:
    """Refuses a run that reads an element of a TensorArray twice.

    Raises:
        InvalidArgumentError: it does.
    """
    known = _READS.find(graph)
    if not known:
        return
    first: dict[Any, Operation] = {}
    for operation, element in known.items():
        if operation in operations and first.setdefault(element, operation) is not operation:
            raise errors.InvalidArgumentError(
                message=f"TensorArray: '{first[element].name}' and '{operation.name}' of one run "
                f"read the element at index {element[1]}; could not read index {element[1]} twice "
                "because it was cleared after a previous read; give clear_after_read=False, or "
                "use the tensor that was read first"
            )
