"""Staging areas: elements that one run puts and another takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.contrib.staging import MapStagingArea, StagingArea

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


@TARGETS
def test_a_run_takes_what_the_run_before_has_put(target: str) -> None:
    x = tf.placeholder(tf.float32, [2])
    area = StagingArea([tf.float32, tf.float32], shapes=[[2], []], names=["x", "sum"])
    put = area.put({"x": 2 * x, "sum": tf.reduce_sum(x)})
    taken = area.get()
    scaled = taken["x"] * taken["sum"]
    assert taken["x"].shape.as_list() == [2]
    with tf.Session(target) as session:
        session.run(put, {x: [0, 1]})
        for i in range(1, 4):
            found = session.run([put, scaled], {x: [i, i + 1]})[1]
            before = np.array([i - 1, i])
            np.testing.assert_allclose(found, 2 * before * before.sum())


def test_peek_leaves_elements_and_clear_removes_them() -> None:
    x, at = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    area = StagingArea([tf.int32])
    put, peek, size, clear = area.put([x]), area.peek(at), area.size(), area.clear()
    with tf.Session() as session:
        for i in range(3):
            session.run(put, {x: 10 * i})
        assert [session.run(peek, {at: i})[0] for i in (2, 0, 1)] == [20, 0, 10]
        assert session.run(size) == 3
        session.run(clear)
        assert session.run(size) == 0


def started(session: Any, fetches: Any, feeds: Any) -> threading.Thread:
    thread = threading.Thread(target=session.run, args=(fetches, feeds), daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("limits", [{"capacity": 2}, {"memory_limit": 8}])
def test_a_run_waits_for_capacity_and_goes_on_when_there_is_some(limits: dict[str, int]) -> None:
    x = tf.placeholder(tf.int32, [])
    area = StagingArea([tf.int32], **limits)
    put, taken, size = area.put(x), area.get()[0], area.size()
    with tf.Session() as session:
        for i in range(2):
            session.run(put, {x: i})
        thread = started(session, put, {x: 2})
        thread.join(0.05)
        assert thread.is_alive() and session.run(size) == 2
        assert session.run(taken) == 0
        thread.join(20)
        assert not thread.is_alive()
        assert [session.run(taken), session.run(taken)] == [1, 2]


def test_an_element_that_never_fits_is_refused() -> None:
    put = StagingArea([tf.int32], memory_limit=8).put([tf.zeros([3], tf.int32)])
    with tf.Session() as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="size of '12' bytes"):
            session.run(put)


def test_a_run_that_waits_ends_with_its_session() -> None:
    area = StagingArea([tf.int32])
    taken, errors = area.get(), []
    session = tf.Session()

    def run() -> None:
        with pytest.raises(tf.errors.CancelledError) as found:
            session.run(taken)
        errors.append(found)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(0.05)
    session.close()
    thread.join(20)
    assert len(errors) == 1


def test_areas_of_one_name_are_one_in_a_session() -> None:
    put = StagingArea([tf.int32], shared_name="shared").put([3])
    taken = StagingArea([tf.int32], shared_name="shared").get()
    with tf.Session() as session:
        session.run(put)
        assert session.run(taken) == [3]
    assert [StagingArea([tf.int32]).name for _ in range(2)] == ["StagingArea", "StagingArea_1"]


@TARGETS
@pytest.mark.parametrize(("ordered", "order"), [(True, [1, 3, 7]), (False, [7, 1, 3])])
def test_elements_are_taken_by_key_or_in_an_order(
    target: str, ordered: bool, order: list[int]
) -> None:
    key, x = tf.placeholder(tf.int64, []), tf.placeholder(tf.float32, [])
    area = MapStagingArea([tf.float32], ordered=ordered)
    put, peeked = area.put(key, [x], [0]), area.peek(key)
    _, taken = area.get(key)
    item, size = area.get(), area.size()
    with tf.Session(target) as session:
        for k in (7, 1, 5, 3):
            session.run(put, {key: k, x: k / 2})
        assert session.run(peeked, {key: 5}) == [2.5]
        assert session.run(taken, {key: 5}) == [2.5]
        assert session.run(size) == 3
        assert [session.run(item) for _ in range(3)] == [(k, [k / 2]) for k in order]


def test_parts_of_an_element_come_and_go_one_by_one() -> None:
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    area = MapStagingArea([tf.float32, tf.float32], names=["a", "b"])
    put_a, put_b = area.put(0, {"a": a}), area.put(0, {"b": b})
    (_, taken_b), (_, taken_a) = area.get(0, ["b"]), area.get(0, [0])
    counts = [area.size(), area.incomplete_size()]
    with tf.Session() as session:
        session.run(put_a, {a: 1})
        assert session.run(counts) == [0, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="was already initialized"):
            session.run(put_a, {a: 1})
        session.run(put_b, {b: 2})
        assert session.run(counts) == [1, 0]
        assert session.run(taken_b) == {"b": 2}
        with pytest.raises(tf.errors.InvalidArgumentError, match="has already been removed"):
            session.run(taken_b)
        assert session.run(taken_a) == {"a": 1}
        assert session.run(counts) == [0, 0]


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: StagingArea([tf.int32], shapes=[[], []]), ValueError, "shapes must be the same"),
        (lambda: StagingArea([tf.int32], shared_name=3), ValueError, "shared_name must be"),
        (lambda: StagingArea([tf.int32], capacity=-1).put([1]), ValueError, "capacity is -1"),
        (lambda: StagingArea([tf.int32], memory_limit=-1).get(), ValueError, "memory_limit is -1"),
        (lambda: MapStagingArea([tf.int32], capacity=-1).size(), ValueError, "capacity is -1"),
        (lambda: StagingArea([tf.int32]).put([1.0]), ValueError, "Datatypes do not match"),
        (lambda: StagingArea([tf.int32], shapes=[[2]]).put([1]), ValueError, "are incompatible"),
        (lambda: StagingArea([tf.int32]).put({"a": 1}), ValueError, "must have names"),
        (lambda: StagingArea([tf.int32], names=["a"]).put([1]), ValueError, "a dictionary"),
        (lambda: StagingArea([tf.int32] * 2).put([1]), ValueError, "number of inputs"),
        (lambda: StagingArea([tf.int32]).peek([1]), ValueError, "must be scalar"),
        (lambda: MapStagingArea([tf.int32]).put(1, [1]), ValueError, "Indices must be supplied"),
        (lambda: MapStagingArea([tf.int32]).get(1, "a"), TypeError, "Invalid indices type"),
        (lambda: MapStagingArea([tf.int32]).get(1, []), ValueError, "Empty indices"),
        (lambda: MapStagingArea([tf.int32]).get(1, ["a"]), ValueError, "without names|with names"),
    ],
)
def test_what_does_not_fit_an_area_is_refused(build: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        build()
