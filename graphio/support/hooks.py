"""Functions that a package calls and one above it has.

Packages import only those below them. Where one below needs a function of one above, it calls a
hook, and the root of graphio, which may import every package, says where the function is. Its
module is loaded by the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["Hook", "import_tensorflow_nodes", "saver_of", "summary_function"]

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """A function of a package above, which is loaded when it is called first."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._load: Callable[[], Callable[P, R]] | None = None
        self._function: Callable[P, R] | None = None

    def provide(self, load: Callable[[], Callable[P, R]]) -> None:
        """Says how the function is loaded."""
        self._load, self._function = load, None

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        """What the function gives.

        Raises:
            RuntimeError: no package has provided it.
        """
        if self._function is None:
            if self._load is None:
                raise RuntimeError(f"no package provides the hook for {self._what}")
            self._function = self._load()
        return self._function(*arguments, **options)


#: from a message of schema.model_pb2.Saver and the variables by their names in the file to a Saver;
#: None where variables are missing
saver_of: Hook[[Any, Mapping[str, Any]], Any] = Hook("Savers of imported graphs")
#: from the name of a host function in a file to what Graph.add_host_function takes
summary_function: Hook[[str], Callable[[Any], Callable[..., Any]] | None] = Hook(
    "summaries of imported graphs"
)
#: from a GraphDef of TensorFlow's, tensors by the values that they replace and the names wanted to
#: values and operations by name
import_tensorflow_nodes: Hook[[Any, Mapping[str, Any], Sequence[str]], Any] = Hook(
    "nodes of TensorFlow's GraphDef"
)
