"""tf.test: what its assertions accept and refuse."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf


class _Case(tf.test.TestCase):
    __test__ = False

    def runTest(self) -> None:
        """Nothing: its assertions are called from outside."""


@pytest.fixture
def case() -> Iterator[Any]:
    made = _Case()
    made.setUp()
    yield made
    made.tearDown()


FAILING: dict[str, Any] = {
    "other keys": lambda c: c.assertAllClose({"a": 1}, {"b": 1}),
    "complex numbers have no order": lambda c: c.assertAllInRange(np.array([1j]), 0, 1),
    "bools have no order": lambda c: c.assertAllInRange(tf.constant([True]), 0, 1),
    "strings have no order": lambda c: c.assertAllInRange(tf.constant(["a"]), 0, 1),
    "other devices": lambda c: c.assertDeviceEqual("/cpu:0", "/device:CPU:1"),
    "length": lambda c: c.assertLen([1, 2], 3),
    "not empty": lambda c: c.assertEmpty("a"),
    "empty": lambda c: c.assertNotEmpty({}),
    "between": lambda c: c.assertBetween(3, 1, 2),
    "elements": lambda c: c.assertSameElements([1, 2], [1, 1]),
    "subset": lambda c: c.assertContainsSubset([1, 3], [1, 2]),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_assertion_fails(case: Any, name: str) -> None:
    with pytest.raises(AssertionError):
        FAILING[name](case)


def test_assertions_hold(case: Any) -> None:
    case.assertDeviceEqual("/cpu:0", "/device:CPU:0")
    case.assertDeviceEqual(None, "")
    case.assertAllInRange(tf.constant([1, 2]), 1, 2)
    case.assertAllInRange(tf.constant([0.5], tf.bfloat16), 0, 1)
    case.assertLen("ab", 2)
    case.assertEmpty([])
    case.assertNotEmpty([0])
    case.assertBetween(1, 1, 2)
    case.assertSameElements([1, 2, 2], [2, 1])
    case.assertContainsSubset([1], (2, 1))
    case.assertAllClose({"a": [1.0]}, {"a": tf.constant([1.0])})


def test_a_dict_is_not_compared_with_a_number(case: Any) -> None:
    for one, two in (({"a": 1}, 1), (1, {"a": 1})):
        with pytest.raises(ValueError, match="Can't compare dict to non-dict"):
            case.assertAllClose(one, two)


def test_the_error_of_a_thread_fails_the_test_that_joins_it(case: Any) -> None:
    seen: list[int] = []
    good = case.checkedThread(seen.append, args=(3,))
    good.start()
    good.join()
    bad = case.checkedThread(lambda: 1 // 0)
    bad.start()
    with pytest.raises(AssertionError, match="Error in checkedThread: integer division"):
        bad.join()
    assert seen == [3] and not good.is_alive()
    case.doCleanups()
    case.checkedThread(lambda: None)
    with pytest.raises(AssertionError, match="was not joined"):
        case._cleanups.pop()[0]()


def test_an_error_of_another_class_is_a_failure(case: Any) -> None:
    with (
        pytest.raises(AssertionError, match="Exception of type <class 'KeyError'>"),
        case.assertRaisesWithPredicateMatch(ValueError, ""),
    ):
        raise KeyError("x")


def test_what_a_process_writes_is_caught(case: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with capfd.disabled(), case.captureWritesToStream(sys.__stderr__) as caught:
        print("told", file=sys.__stderr__, flush=True)
        assert caught.contents() == "told\n"


def test_the_cached_session_is_one(case: Any) -> None:
    with case.cached_session() as first, case.cached_session(use_gpu=True) as second:
        assert first is second
    for other in ({"graph": tf.Graph()}, {"config": tf.ConfigProto()}, {"force_gpu": True}):
        with (
            pytest.raises(ValueError, match=f"The {next(iter(other))} used"),
            case.cached_session(**other),
        ):
            pass


def _graph_def(names: str) -> Any:
    with tf.Graph().as_default() as graph:
        for name in names:
            tf.constant(5, name=name)
    return graph.as_graph_def()


def test_a_session_is_cached_where_a_class_has_its_own_set_up() -> None:
    class Own(_Case):
        def setUp(self) -> None:
            self.value = 3

    made: Any = Own()
    made.setUp()
    with tf.Graph().as_default(), made.test_session() as session:
        assert session.run(tf.constant(made.value)) == 3
    made.tearDown()
    assert made._cached is None


def test_a_test_runs_the_operations_of_a_gpu_on_the_processor(case: Any) -> None:
    with tf.Graph().as_default(), tf.device("/gpu:0"):
        x = tf.Variable(2.0)
        with case.test_session() as session:
            session.run(x.initializer)
            assert session.run(x * 2.0) == 4.0
        for given in ({"force_gpu": True}, {"config": tf.ConfigProto()}):
            with case.session(**given) as session, pytest.raises(tf.errors.InvalidArgumentError):
                session.run(x.initializer)


def test_graphs_are_equal_whatever_the_order_of_their_nodes() -> None:
    tf.test.assert_equal_graph_def(_graph_def("ab"), _graph_def("ba"))
    with pytest.raises(AssertionError, match="Found unexpected node '{{node b}}'"):
        tf.test.assert_equal_graph_def(_graph_def("ab"), _graph_def("a"))
    with pytest.raises(AssertionError, match="Did not find expected node '{{node b}}'"):
        tf.test.assert_equal_graph_def(_graph_def("a"), _graph_def("ab"))
    with tf.Graph().as_default() as graph:
        tf.constant(6, name="a")
    with pytest.raises(AssertionError, match="Node named 'a' differs"):
        tf.test.assert_equal_graph_def(graph.as_graph_def(), _graph_def("a"))
    with pytest.raises(TypeError, match="Expected tf.GraphDef for actual, got int"):
        tf.test.assert_equal_graph_def(1, _graph_def("a"))
