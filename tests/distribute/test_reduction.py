"""Sums over shards: one tree, whatever rank computes a shard."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranks_in_threads import Rank, on_ranks

from graphio.distribute import tree
from graphio.distribute.reduction import Group, Reduction
from graphio.support import errors

GROUPS = [Group(np.dtype(np.float32), 11), Group(np.dtype(np.float64), 3), Group(np.dtype("i4"), 2)]


def of_shard(shard: int) -> list[np.ndarray]:
    """Numbers whose sum depends on the order."""
    draw = np.random.default_rng(shard)
    scale = 10.0 ** draw.integers(-4, 8)
    return [
        (draw.standard_normal(11) * scale).astype(np.float32),
        draw.standard_normal(3) * scale,
        draw.integers(-9, 9, 2, dtype=np.int32),
    ]


def sum_of(values: list[np.ndarray]) -> np.ndarray:
    """The tree of the definition: 2^k values, the greatest power below their number, and others."""
    if len(values) == 1:
        return values[0]
    half = 1
    while 2 * half < len(values):
        half *= 2
    return sum_of(values[:half]) + sum_of(values[half:])


def reduced(rank: Rank, shards: int) -> list[np.ndarray]:
    reduction = Reduction(rank, shards, GROUPS)
    reduction(of_shard)
    found = reduction(of_shard)  # in the buffers of the first
    assert found is not None
    return [vector.copy() for vector in found]


@settings(max_examples=40, deadline=None)
@given(shards=st.integers(1, 40), data=st.data())
def test_every_rank_gets_the_bits_of_the_tree(shards: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, min(shards, 5)))
    expected = [sum_of([of_shard(s)[g] for s in range(shards)]) for g in range(3)]
    for found in on_ranks(size, lambda rank: reduced(rank, shards)):
        assert not isinstance(found, Exception), found
        for mine, right in zip(found, expected, strict=True):
            assert mine.tobytes() == right.tobytes()


def test_the_order_of_the_sum_shows_in_its_bits() -> None:
    values = [of_shard(s)[0] for s in range(8)]
    assert sum_of(values).tobytes() != np.sum(values, axis=0).tobytes()


@settings(deadline=None)
@given(shards=st.integers(1, 200), size=st.integers(1, 200))
def test_the_runs_of_the_ranks_are_all_shards_once_and_even(shards: int, size: int) -> None:
    runs = [tree.run_of(rank, size, shards) for rank in range(size)]
    assert [s for a, b in runs for s in range(a, b)] == list(range(shards))
    assert max(b - a for a, b in runs) - min(b - a for a, b in runs) <= 1


@settings(deadline=None)
@given(shards=st.integers(1, 300), data=st.data())
def test_a_run_is_covered_by_few_subtrees(shards: int, data: st.DataObject) -> None:
    lo = data.draw(st.integers(0, shards - 1))
    hi = data.draw(st.integers(lo + 1, shards))
    found = tree.greatest_inside((lo, hi), (0, shards))
    assert [s for a, b in found for s in range(a, b)] == list(range(lo, hi))
    assert len(found) <= max(1, 2 * shards.bit_length())


def test_where_runs_are_subtrees_a_rank_sends_what_a_ring_sends() -> None:
    length, shards = 4096, 8
    groups = [Group(np.dtype(np.float32), length)]

    def sent(rank: Rank) -> int:
        reduction = Reduction(rank, shards, groups)
        reduction(lambda shard: [np.zeros(length, np.float32)])
        return rank.sent

    for size in (2, 4):
        ring = 2 * (size - 1) / size * 4 * length  # bytes of a ring's all-reduce
        for bytes_sent in on_ranks(size, sent):
            assert isinstance(bytes_sent, int)
            assert abs(bytes_sent - ring) <= 8 * size + 16  # headers


def test_more_ranks_than_shards_are_refused_on_each() -> None:
    for found in on_ranks(3, lambda rank: Reduction(rank, 2, GROUPS)):
        assert isinstance(found, ValueError)
        assert "3 ranks share 2 shards" in str(found) and "shards=3" in str(found)


def test_a_failure_of_one_rank_ends_the_step_of_all_with_its_words() -> None:
    def work(rank: Rank) -> None:
        reduction = Reduction(rank, 4, GROUPS)

        def leaf(shard: int) -> list[np.ndarray]:
            if shard == 1:
                raise OSError("no image 17")
            return of_shard(shard)

        reduction(leaf)

    first, second, third = on_ranks(3, work)
    assert isinstance(second, OSError) or isinstance(first, OSError)
    others = [found for found in (first, second, third) if not isinstance(found, OSError)]
    assert len(others) == 2
    for found in others:
        assert isinstance(found, errors.AbortedError)
        assert "OSError: no image 17" in str(found)


@pytest.mark.parametrize("ending", ["stop", "end of data"])
def test_when_one_rank_stops_none_applies_the_step(ending: str) -> None:
    def leaf(shard: int) -> list[np.ndarray]:
        if shard == 3:
            raise errors.OutOfRangeError(message="End of sequence")
        return of_shard(shard)

    def work(rank: Rank) -> object:
        reduction = Reduction(rank, 4, GROUPS)
        if ending == "stop":
            return reduction(None if rank.rank == 1 else of_shard)
        return reduction(leaf)

    assert on_ranks(2, work) == [None, None]


def test_a_rank_that_fails_beside_the_sums_meets_those_that_sum() -> None:
    def work(rank: Rank) -> object:
        reduction = Reduction(rank, 4, GROUPS)
        if rank.rank == 0:
            return reduction.agree(RuntimeError("the disk is full"))
        return reduction(of_shard)

    first, second = on_ranks(2, work)
    assert isinstance(first, RuntimeError)
    assert isinstance(second, errors.AbortedError)
    assert "rank 0 failed: RuntimeError: the disk is full" in str(second)
