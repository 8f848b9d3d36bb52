"""tf.nest, and the structures that a session fetches."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from value_cases import TARGETS

import graphio as tf


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


class Pair:
    """As attrs makes classes: it lists its fields."""

    __attrs_attrs__ = tuple(collections.namedtuple("Field", "name")(n) for n in ("second", "first"))

    def __init__(self, second: Any, first: Any) -> None:
        self.second, self.first = second, first


@dataclasses.dataclass
class Masked:
    """A class that takes itself apart."""

    mask: bool
    value: Any

    def __tf_flatten__(self) -> tuple[Any, Any]:
        return (self.mask,), (self.value,)

    @classmethod
    def __tf_unflatten__(cls, metadata: Any, components: Any) -> Masked:
        return cls(metadata[0], components[0])


class Row(Sequence):
    """A sequence of a program's own."""

    def __init__(self, parts: Any) -> None:
        self.parts = list(parts)

    def __getitem__(self, index: Any) -> Any:
        return self.parts[index]

    def __len__(self) -> int:
        return len(self.parts)


ORDERED = collections.OrderedDict(z=1, a=2)
FLAT: dict[str, tuple[Any, list[Any]]] = {
    "an attrs class": (Pair([1, 2], 3), [1, 2, 3]),
    "a class that takes itself apart": ({"k": Masked(True, (4, 5))}, [4, 5]),
    "a sequence": (Row([1, Row([2])]), [1, 2]),
    "values of a dict, in their order": (ORDERED.values(), [1, 2]),
    "keys of a dict": (ORDERED.keys(), ["z", "a"]),
    "items of a dict": (ORDERED.items(), ["z", 1, "a", 2]),
    "a dict, by its keys": (ORDERED, [2, 1]),
    "text": (["ab", b"cd", bytearray(b"e")], ["ab", b"cd", bytearray(b"e")]),
}


@pytest.mark.parametrize("what", FLAT)
def test_flatten_gives_the_leaves_in_order(what: str) -> None:
    structure, leaves = FLAT[what]
    assert tf.nest.flatten(structure) == leaves


def test_map_structure_keeps_the_classes() -> None:
    made = tf.nest.map_structure(lambda x: x + 1, [Pair(1, (2,)), Masked(False, 3), Row([4])])
    assert isinstance(made[0], Pair) and (made[0].second, made[0].first) == (2, (3,))
    assert made[1] == Masked(False, 4) and isinstance(made[2], Row) and made[2].parts == [5]
    assert tf.nest.pack_sequence_as(ORDERED.values(), [5, 6]) == [5, 6]
    assert tf.nest.map_structure(max, [1, 4], (2, 3), check_types=False) == [2, 4]
    assert tf.nest.is_nested(Row([])) and not tf.nest.is_nested({1, 2})


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no structure": (lambda: tf.nest.map_structure(abs), ValueError, "at least one structure"),
    "another option": (
        lambda: tf.nest.map_structure(abs, [1], types=False),
        ValueError,
        r"\['types'\]",
    ),
    "other types": (lambda: tf.nest.map_structure(max, [1], (2,)), TypeError, "different types"),
    "no function": (lambda: tf.nest.map_structure("f", [1]), TypeError, "callable"),
    "a string of leaves": (lambda: tf.nest.pack_sequence_as([1, 2], "ab"), TypeError, "sequence"),
    "too many leaves": (lambda: tf.nest.pack_sequence_as(1, [1, 2]), ValueError, "1 leaves"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_call_is_refused(what: str) -> None:
    call, kind, message = REFUSED[what]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("target", TARGETS)
def test_a_session_fetches_structures_of_a_programs_classes(target: str) -> None:
    a, b = tf.constant(1), tf.constant([2, 3])
    with tf.Session(target) as session:
        pair = session.run(Pair(a, {"k": Masked(True, b)}))
        other = session.run(Masked(False, b))
        again = session.run(Masked(True, b))
        values = session.run(collections.OrderedDict(z=a, a=b).values())
        fed = session.run(Pair(a, b), {b: [7, 8]})
    assert isinstance(pair, Pair) and pair.second == 1 and pair.first["k"].mask is True
    assert pair.first["k"].value.tolist() == [2, 3]
    assert (other.mask, again.mask) == (False, True)
    assert values[0] == 1 and values[1].tolist() == [2, 3]
    assert fed.first.tolist() == [7, 8]
