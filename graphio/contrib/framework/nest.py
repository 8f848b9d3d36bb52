"""Nested structures with the paths of their leaves, and up to the leaves of a shallower one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from graphio.framework import nest
from graphio.framework.composite import Composite
from graphio.framework.nest import (
    assert_same_structure,
    flatten,
    is_nested,
    map_structure,
    pack_sequence_as,
)
from graphio.support import api_guard

__all__ = [
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "flatten_with_tuple_paths",
    "flatten_with_tuple_paths_up_to",
    "get_traverse_shallow_structure",
    "is_nested",
    "is_sequence",
    "is_sequence_or_composite",
    "map_structure",
    "map_structure_up_to",
    "map_structure_with_paths",
    "map_structure_with_tuple_paths",
    "map_structure_with_tuple_paths_up_to",
    "pack_sequence_as",
    "yield_flat_paths",
]

Path = tuple[Any, ...]
is_sequence = is_nested


def _is_nested(value: Any, expand_composites: bool) -> bool:
    return nest.is_nested(value) or (expand_composites and isinstance(value, Composite))


@api_guard.unguarded
def is_sequence_or_composite(seq: Any) -> bool:
    """Whether seq is a nested structure, a SparseTensor or IndexedSlices."""
    return _is_nested(seq, True)


def _children(structure: Any) -> list[tuple[Any, Any]]:
    """The keys and the content, one level down."""
    if isinstance(structure, Composite):
        return list(enumerate(structure.parts()))
    parts = nest.children(structure)
    if isinstance(structure, Mapping):
        return list(zip(sorted(structure), parts, strict=True))
    return list(zip(getattr(structure, "_fields", range(len(parts))), parts, strict=True))


def _with_paths(structure: Any, expand_composites: bool = False) -> Iterator[tuple[Path, Any]]:
    if not _is_nested(structure, expand_composites):
        yield (), structure
        return
    for key, child in _children(structure):
        for path, leaf in _with_paths(child, expand_composites):
            yield (key, *path), leaf


@api_guard.unguarded
def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[Path]:
    """The path of each leaf, in flatten's order: keys, names of fields, and positions."""
    return (path for path, _ in _with_paths(nest, expand_composites))


@api_guard.unguarded
def flatten_with_tuple_paths(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Pairs of the path of each leaf, and the leaf."""
    return list(_with_paths(structure, expand_composites))


@api_guard.unguarded
def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """As flatten_with_tuple_paths, the paths as text."""
    pairs = _with_paths(structure, expand_composites)
    return [(separator.join(map(str, path)), leaf) for path, leaf in pairs]


@api_guard.unguarded
def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """tf.nest.map_structure whose function gets the path of the leaves first.

    Args:
        func: takes a path and a leaf of each structure.
        structure: at least one.
        kwargs: check_types and expand_composites, as in tf.nest.assert_same_structure.

    Raises:
        As tf.nest.map_structure.
    """
    expand = bool(kwargs.get("expand_composites", False))
    paths = iter([path for path, _ in _with_paths(structure[0], expand)] if structure else [])
    return nest.map_structure(lambda *leaves: func(next(paths), *leaves), *structure, **kwargs)


@api_guard.unguarded
def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """As map_structure_with_tuple_paths, the path as text, joined by "/"."""
    return map_structure_with_tuple_paths(
        lambda path, *leaves: func("/".join(map(str, path)), *leaves), *structure, **kwargs
    )


@api_guard.unguarded
def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """A dict whose keys may be structures, with a key for each leaf.

    Args:
        dictionary: from structures or leaves to structures of the same shape.

    Raises:
        TypeError: dictionary is not a dict.
        ValueError: a key and its value differ in shape, or a leaf comes twice.
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    made: dict[Any, Any] = {}
    for key, value in dictionary.items():
        if nest.is_nested(key):
            nest.assert_same_structure(key, value, check_types=False)
        keys, values = (nest.flatten(key), nest.flatten(value)) if nest.is_nested(key) else (
            [key], [value])  # fmt: skip
        for one, other in zip(keys, values, strict=True):
            if one in made:
                raise ValueError(f"Could not flatten dictionary: key {one} is not unique.")
            made[one] = other
    return made


# ---- up to the leaves of a shallower structure ----


def _up_to(
    shallow: Any, given: Any, check_types: bool, expand: bool, path: Path = ()
) -> Iterator[tuple[Path, Any]]:
    """The paths and parts of given that are where shallow has its leaves."""
    if not _is_nested(shallow, expand):
        yield path, given
        return
    if not _is_nested(given, expand):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. "
            f"Input has type: {type(given)}."
        )
    if check_types and not _alike(shallow, given):
        raise TypeError(
            f"the two structures have sequences of different types: {type(shallow).__name__} and "
            f"{type(given).__name__}"
        )
    below, above = _children(shallow), dict(_children(given))
    if len(below) != len(above):
        raise ValueError(
            f"the two structures don't have the same sequence length: {len(above)} and {len(below)}"
        )
    values = list(above.values())
    for i, (key, child) in enumerate(below):
        if isinstance(shallow, Mapping) and key not in above:
            raise ValueError(f"the input has no key {key!r}, its keys are {sorted(above)}")
        part = above[key] if isinstance(shallow, Mapping) else values[i]
        yield from _up_to(child, part, check_types, expand, (*path, key))


def _alike(one: Any, two: Any) -> bool:
    both = isinstance(one, Mapping) and isinstance(two, Mapping)
    return both or type(one) is type(two)


@api_guard.unguarded
def assert_shallow_structure(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Checks that input_tree has the nesting of shallow_tree, and maybe more below its leaves.

    Args:
        shallow_tree, input_tree: structures.
        check_types: whether a list differs from a tuple.
        expand_composites: as in tf.nest.flatten.

    Raises:
        TypeError: the types of sequences differ. ValueError: lengths or keys differ.
    """
    list(_up_to(shallow_tree, input_tree, check_types, expand_composites))


@api_guard.unguarded
def flatten_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """The parts of input_tree that are where shallow_tree has its leaves; errors as in
    assert_shallow_structure."""
    return [part for _, part in _up_to(shallow_tree, input_tree, check_types, expand_composites)]


@api_guard.unguarded
def flatten_with_tuple_paths_up_to(
    shallow_tree: Any, input_tree: Any, check_types: bool = True, expand_composites: bool = False
) -> list[Any]:
    """As flatten_up_to, pairs of path and part."""
    return list(_up_to(shallow_tree, input_tree, check_types, expand_composites))


@api_guard.unguarded
def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """func of the path and the parts of inputs, in the shape of shallow_tree.

    Args:
        shallow_tree: a structure.
        func: takes a path and a part of each input.
        inputs: at least one structure.
        kwargs: check_types and expand_composites, as in assert_shallow_structure.

    Raises:
        As assert_shallow_structure; ValueError: no input is given.
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check, expand = kwargs.pop("check_types", True), kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(f"the keyword arguments {sorted(kwargs)} are unknown")
    columns = [list(_up_to(shallow_tree, one, check, expand)) for one in inputs]
    results = [
        func(parts[0][0], *(part for _, part in parts)) for parts in zip(*columns, strict=True)
    ]
    return nest.pack_sequence_as(shallow_tree, results, expand)


@api_guard.unguarded
def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """As map_structure_with_tuple_paths_up_to, without the path."""
    return map_structure_with_tuple_paths_up_to(
        shallow_tree, lambda _, *parts: func(*parts), *inputs, **kwargs
    )


@api_guard.unguarded
def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """The shallow structure of the parts that a function says to go into.

    Args:
        traverse_fn: from a part to a bool, or to bools of its content.
        structure: a structure.
        expand_composites: as in tf.nest.flatten.

    Returns:
        A structure of False where it ends, and True for leaves that are gone into.

    Raises:
        TypeError: traverse_fn gives neither a bool nor bools.
    """
    goes = traverse_fn(structure)
    if not _is_nested(structure, expand_composites):
        if not isinstance(goes, bool):
            raise TypeError(f"traverse_fn returned structure: {goes!r} for non-structure input")
        return goes
    parts = [part for _, part in _children(structure)]
    if isinstance(goes, bool):
        if not goes:
            return False
        answers: Any = [True] * len(parts)
    else:
        answers = nest.flatten(goes)
        if any(not isinstance(answer, bool) for answer in answers):
            raise TypeError(f"traverse_fn returned {goes!r}, expected bools")
    below = [
        get_traverse_shallow_structure(traverse_fn, part, expand_composites) if answer else False
        for answer, part in zip(answers, parts, strict=True)
    ]
    return nest.like(structure, below)
