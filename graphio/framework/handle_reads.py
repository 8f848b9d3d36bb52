"""Reads for what TensorFlow does at a resource variable's handle: adding to it, scattering into it.

Without a value such an operation does not find its resource there, and says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.undo import Table
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.framework.operation import Operation
    from graphio.framework.tensor import Tensor

__all__ = ["as_reported", "by_handle"]

#: the reads at a handle
_READS: Attachment[Table[Operation, bool]] = attachments.table("handle_reads")


def by_handle(read: Tensor, use_resource: bool) -> Tensor:
    """The read of a variable, for an operation at its handle; use_resource: whether it has one."""
    if use_resource:
        _READS.of(read.graph)[read.op] = True
    return read


def as_reported(error: errors.OpError, operation: Operation) -> errors.OpError:
    """The error of an operation in the form in which the program sees it."""
    where = operation.node_def, operation
    lacking = isinstance(error, errors.FailedPreconditionError)
    if lacking and operation in _READS.of(operation.graph):
        return errors.NotFoundError(*where, f"Resource does not exist. {error.message}")
    return type(error)(*where, error.message, error.error_code)
