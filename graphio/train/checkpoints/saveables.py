"""The contents of a Saver: its variables by their names in the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphio.framework import scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.graph import Graph
from graphio.framework.saved_parts import SavedParts
from graphio.variables.partitioned_variables import PartitionedVariable
from graphio.variables.variables import Variable, variables_of

__all__ = ["Saveables", "of_message", "of_session", "of_var_list"]


#: TensorFlow's key for the one variable that an object stands for, among its own
_OWN_VALUE = "VARIABLE_VALUE"


class Saveables(NamedTuple):
    """Variables, iterators and other state to save.

    Attributes:
        variables: by their names in the checkpoint.
        iterators: whether the variables given include iterators.
        parted: state that checkpoints have as several tensors, such as a lookup table, by the
            beginning of their names.
    """

    variables: dict[str, Variable]
    iterators: bool = False
    parted: Mapping[str, SavedParts] = {}


def of_var_list(var_list: Any, allow_empty: bool) -> Saveables:
    """The argument var_list of a Saver.

    Raises:
        ValueError: no variable to save, or one twice.
        TypeError: it is not a dict or list, or holds something other than variables.
    """
    if var_list is None:
        graph = scopes.get_default_graph()
        var_list = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
        var_list = var_list + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
    if not isinstance(var_list, (Mapping, list, tuple, set, frozenset)):
        raise TypeError(
            f"Variables to save should be passed in a dict or a list. Got {_described(var_list)}"
        )
    if not var_list and not allow_empty:
        raise ValueError("No variables to save")
    items = var_list.items() if isinstance(var_list, Mapping) else [(None, v) for v in var_list]
    named: dict[str, Variable] = {}
    parted: dict[str, SavedParts] = {}
    seen: set[int] = set()
    iterators = False
    for key, value in sorted(items, key=_key) if isinstance(var_list, Mapping) else items:
        if isinstance(value, SavedParts):
            _add_parts(parted, key, value)
            continue
        if _is_iterator(value):
            iterators = True
            continue
        _add(named, seen, key, value)
    _check_wholes(named)
    for name in (f"{t}{part}" for t, one in parted.items() for part in one.declared()):
        if name in named:
            raise ValueError(
                f"At least two variables have the same name: {name}, a variable and a part of a "
                "lookup table or an opaque vector"
            )
    return Saveables(named, iterators, parted)


def _add_parts(parted: dict[str, SavedParts], key: str | None, one: SavedParts) -> None:
    name = key or one.saved_name
    if name in parted:
        raise ValueError(
            f"At least two variables have the same name: {name}, of two lookup tables or "
            "opaque vectors; give them different names, or the Saver a dict"
        )
    parted[name] = one


def _check_wholes(named: Mapping[str, Variable]) -> None:
    """Refuses a variable that is called like a partitioned variable whose parts are saved, too."""
    for name, variable in named.items():
        part = variable._save_slice_info
        if part is not None and name == variable.op.name and part.full_name in named:
            raise ValueError(
                f"At least two variables have the same name: {part.full_name}, which is a variable "
                f"and the partitioned variable of which {name} is a part"
            )


def _key(item: tuple[Any, Any]) -> str:
    key = item[0]
    if not isinstance(key, str) or not key:
        raise TypeError(
            "names_to_saveables must be a dict mapping string names to variables. Name is not a "
            f"string: {key!r}"
        )
    return key


def _add(named: dict[str, Variable], seen: set[int], key: str | None, value: Any) -> None:
    if isinstance(value, (PartitionedVariable, list, tuple)) and len(value):
        whole = value.name if isinstance(value, PartitionedVariable) and key is None else key
        for i, part in enumerate(value):
            own = whole and _key_of_part(whole, part, f"/part_{i}" if len(value) > 1 else "")
            _add(named, seen, own, part)
        return
    if hasattr(value, "_gather_saveables_for_checkpoint"):
        for attribute, held in value._gather_saveables_for_checkpoint().items():
            suffix = "" if attribute == _OWN_VALUE else f"_{attribute}"
            _add(named, seen, key and key + suffix, held)
        return
    if not isinstance(value, Variable):
        raise TypeError(
            f"Variable to save is not a Variable: {_described(value)}. Give variables, as "
            "tf.global_variables() lists them, or a dict from names to variables"
        )
    name = key or value.op.name
    if name in named:
        raise ValueError(f"At least two variables have the same name: {name}")
    if id(value) in seen:
        raise ValueError(f"The same saveable will be restored with two names: {name}")
    seen.add(id(value))
    named[name] = value


def _key_of_part(key: str, part: Any, otherwise: str) -> str:
    """The name of a part of what is called key in the checkpoint; otherwise: the end of its name
    where it does not begin like that of the partitioned variable."""
    info = part._save_slice_info if isinstance(part, Variable) else None
    if info is None:
        raise TypeError(
            f"'{key}' is a list with {_described(part)}, expected the parts of a partitioned "
            "variable"
        )
    own, whole = part.op.name, f"{info.full_name}/"
    return key + (own[len(whole) - 1 :] if own.startswith(whole) else otherwise)


def _described(value: Any) -> str:
    return f"{value!r} ({type(value).__name__})"


def _is_iterator(saveable: Any) -> bool:
    if isinstance(saveable, Variable):
        return False
    from graphio.data.iterator import IteratorSaveable  # tf.data is loaded where it is used

    return isinstance(saveable, IteratorSaveable)


def of_message(keys: Any, names: Any, import_scope: str | None) -> Saveables:
    """The variables of the default graph that a saver_def names.

    Args:
        keys: their names in the checkpoint; none: as the variables.
        names: of the variables; none: all of the graph.
        import_scope: that they are in.

    Raises:
        ValueError: the graph lacks one.
    """
    if not names:
        return of_var_list(None, False)
    graph: Graph = scopes.get_default_graph()
    known = variables_of(graph.root)
    prefix = f"{import_scope}/" if import_scope else ""
    missing = [name for name in names if prefix + name not in known]
    if missing:
        raise ValueError(
            f"the saver_def saves variables that the graph does not have: {', '.join(missing)}"
        )
    pairs = zip(keys or names, names, strict=True)
    return Saveables({key: known[prefix + name] for key, name in pairs})


def of_session(session: Any, variables: Mapping[str, Variable]) -> dict[str, Variable]:
    """The variables as the session has them: of a session of another graph those of the same name.

    Raises:
        TypeError: it is not a session, or its graph lacks a variable.
        RuntimeError: it is closed.
    """
    if not hasattr(session, "state") or not hasattr(session, "graph"):
        raise TypeError(f"'sess' must be a Session; {session}")
    if session.closed:
        raise RuntimeError("Attempted to use a closed Session.")
    root = session.graph.root
    if all(variable.graph.root is root for variable in variables.values()):
        return dict(variables)
    known = variables_of(root)
    missing = sorted({v.op.name for v in variables.values()} - set(known))
    if missing:
        raise TypeError(
            "the session runs another graph than the one of the Saver's variables, and that graph "
            f"has none of the name {', '.join(missing)}: make the Saver and the Session for the "
            "same graph"
        )
    return {key: known[variable.op.name] for key, variable in variables.items()}
