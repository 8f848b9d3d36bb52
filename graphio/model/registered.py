"""Functions of the packages above that reading a graph calls; they are registered here.

See graphio.support.registration; graphio/__init__.py has the module of each name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.support.registration import Registered

__all__ = ["import_tensorflow_nodes", "queue_runner_of", "saver_of", "summary_function"]

#: from an item of a file's collection of queue runners and the operations by their names in the
#: file to a QueueRunner; None where it is not one, or operations are missing
queue_runner_of: Registered[[bytes, Mapping[str, Any]], Any] = Registered("queue_runner_of")
#: from a message of schema.model_pb2.Saver and the variables by their names in the file to a Saver;
#: None where variables are missing
saver_of: Registered[[Any, Mapping[str, Any]], Any] = Registered("saver_of")
#: from the name of a host function in a file to what Graph.add_host_function takes
summary_function: Registered[[str], Callable[[Any], Callable[..., Any]] | None] = Registered(
    "summary_function"
)
#: from a GraphDef of TensorFlow, tensors by the values that they replace and the requested names to
#: values and operations by name
import_tensorflow_nodes: Registered[[Any, Mapping[str, Any], Sequence[str]], Any] = Registered(
    "import_tensorflow_nodes"
)
