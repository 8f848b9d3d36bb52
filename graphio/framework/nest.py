"""Nested structures of Python: sequences, named tuples, dicts and views of them, attrs classes, and
classes that take themselves apart (`__tf_flatten__`, `__tf_unflatten__`).

A dict's leaves come in the order of its sorted keys, as TensorFlow's do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MappingView, Sequence
from typing import Any

from graphio.framework import objects
from graphio.framework.composite import Composite
from graphio.support import api_guard

__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]


_STRINGS = (str, bytes, bytearray, memoryview)


@api_guard.unguarded
def is_nested(seq: Any) -> bool:
    """Whether seq has leaves below it: a list, tuple, dict, another sequence or a view of a dict,
    or an object of objects.py."""
    if isinstance(seq, (list, tuple, Mapping)):
        return True
    if isinstance(seq, (Sequence, MappingView)):
        return not isinstance(seq, _STRINGS)
    return objects.is_object(seq)


def children(structure: Any) -> list[Any]:
    """The content of a nested structure, one level down."""
    if isinstance(structure, Mapping):
        return [structure[key] for key in sorted(structure)]
    return objects.parts(structure) if objects.is_object(structure) else list(structure)


def like(structure: Any, parts: Sequence[Any]) -> Any:
    """A structure as a nested one, with other children."""
    kind = type(structure)
    if isinstance(structure, Mapping):
        return mapping_like(structure, dict(zip(sorted(structure), parts, strict=True)))
    if objects.is_object(structure):
        return objects.with_parts(structure, parts)
    if hasattr(kind, "_fields"):
        return kind(*parts)
    return list(parts) if isinstance(structure, (MappingView, range)) else kind(parts)


@api_guard.unguarded
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves in order; a leaf alone gives a list of one.

    Args:
        structure: nested lists, tuples and dicts.
        expand_composites: True: a SparseTensor or IndexedSlices is not a leaf, its tensors are.
    """
    if expand_composites and isinstance(structure, Composite):
        return structure.parts()
    if not is_nested(structure):
        return [structure]
    return [leaf for child in children(structure) for leaf in flatten(child, expand_composites)]


@api_guard.unguarded
def pack_sequence_as(
    structure: Any, flat_sequence: list[Any], expand_composites: bool = False
) -> Any:
    """The leaves of flat_sequence in the shape of structure; expand_composites as in flatten.

    Raises:
        TypeError: flat_sequence is not a sequence.
        ValueError: flat_sequence has another number of leaves.
    """
    if not is_nested(flat_sequence):
        raise TypeError(f"flat_sequence is {flat_sequence!r}, expected a sequence of leaves")
    expected = len(flatten(structure, expand_composites))
    if expected != len(flat_sequence):
        raise ValueError(
            f"the structure has {expected} leaves, but {len(flat_sequence)} were given"
        )
    return _pack(structure, iter(flat_sequence), expand_composites)


def _pack(structure: Any, leaves: Iterator[Any], expand_composites: bool) -> Any:
    if expand_composites and isinstance(structure, Composite):
        return structure.with_parts([next(leaves) for _ in structure.parts()])
    if not is_nested(structure):
        return next(leaves)
    packed = [_pack(child, leaves, expand_composites) for child in children(structure)]
    return like(structure, packed)


def mapping_like(structure: Mapping[Any, Any], values: Mapping[Any, Any]) -> Any:
    """A mapping of structure's class with its keys, in their order, and other values."""
    pairs = [(key, values[key]) for key in structure]
    if isinstance(structure, defaultdict):
        return type(structure)(structure.default_factory, pairs)
    return type(structure)(pairs)  # type: ignore[call-arg]


@api_guard.unguarded
def map_structure(
    function: Callable[..., Any],
    *structures: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    **others: Any,
) -> Any:
    """function applied leaf by leaf to structures of equal shape.

    Args:
        function: takes a leaf of each structure.
        structures: at least one; the result is as the first.
        check_types, expand_composites: as in assert_same_structure.
        others: are refused.

    Raises:
        TypeError: function is none; the structures hold the same in sequences of different types.
        ValueError: no structure is given, they differ, or another keyword argument is given.
    """
    if not callable(function):
        raise TypeError(f"map_structure: func is {function!r}, expected something callable")
    if others or not structures:
        found = f"the keyword arguments {sorted(others)}" if others else "none"
        raise ValueError(
            "map_structure: expected at least one structure, and only check_types and "
            f"expand_composites as keyword arguments; got {found}"
        )
    for other in structures[1:]:
        assert_same_structure(structures[0], other, check_types, expand_composites)
    columns = zip(*(flatten(s, expand_composites) for s in structures), strict=True)
    results = [function(*column) for column in columns]
    return pack_sequence_as(structures[0], results, expand_composites)


@api_guard.unguarded
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that two structures have the same nesting, keys and number of leaves.

    Args:
        nest1, nest2: the structures.
        check_types: whether a list, a tuple, a named one and a mapping differ, and keys count.
        expand_composites: as in flatten.

    Raises:
        TypeError: they hold the same in sequences of different types; or a flag is a tensor.
        ValueError: they differ otherwise.
    """
    check_types = bool(check_types)  # a tensor has no truth value, which leaves report, too
    if expand_composites and isinstance(nest1, Composite) != isinstance(nest2, Composite):
        raise ValueError(f"the structures differ: {nest1!r} and {nest2!r}")
    if is_nested(nest1) != is_nested(nest2):
        raise ValueError(f"the structures differ: {nest1!r} and {nest2!r}")
    if not is_nested(nest1):
        return
    if check_types and not _of_one_type(nest1, nest2):
        raise TypeError(
            f"the structures have sequences of different types: {type(nest1).__name__} {nest1!r} "
            f"and {type(nest2).__name__} {nest2!r}"
        )
    if check_types and isinstance(nest1, Mapping) and set(nest1) != set(nest2):
        raise ValueError(f"the keys differ: {sorted(nest1)} and {sorted(nest2)}")
    first, second = children(nest1), children(nest2)
    if len(first) != len(second):
        raise ValueError(f"the structures differ in length: {len(first)} and {len(second)}")
    for a, b in zip(first, second, strict=True):
        assert_same_structure(a, b, check_types, expand_composites)


def _of_one_type(one: Any, two: Any) -> bool:
    """Mappings are, of whatever classes, and named tuples of one name and fields."""
    if isinstance(one, Mapping) and isinstance(two, Mapping) or type(one) is type(two):
        return True
    names = [(type(s).__name__, getattr(s, "_fields", None)) for s in (one, two)]
    return names[0] == names[1] and names[0][1] is not None
