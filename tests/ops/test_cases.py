"""tf.case, tf.switch_case and tf.smart_cond, in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from control_flow_builds import TARGETS, refused, run

import graphio as tf


@TARGETS
def test_case_takes_the_first_that_holds(target: str) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.int32, [], name="x")
        pairs = [(x < 0, lambda: tf.constant(-1)), (x < 10, lambda: tf.constant(1))]
        return tf.case(pairs, default=lambda: tf.constant(100))

    assert [int(run(target, build, {"x": v})) for v in (-5, 5, 50)] == [-1, 1, 100]


@TARGETS
def test_case_fails_where_none_or_several_hold(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.int32, [])
        pairs = [(x < 0, lambda: tf.constant(-1)), (x < 10, lambda: tf.constant(1))]
        alone, strict = tf.case(pairs), tf.case(pairs, lambda: tf.constant(0), exclusive=True)
        assert [int(session.run(alone, {x: v})) for v in (-5, 5)] == [-1, 1]
        assert [int(session.run(strict, {x: v})) for v in (5, 50)] == [1, 0]
        for fetch, value, word in ((alone, 50, "None of"), (strict, -5, "exclusive")):
            with pytest.raises(tf.errors.InvalidArgumentError, match=word):
                session.run(fetch, {x: value})


@TARGETS
@pytest.mark.parametrize("count", [6, 7, 8, 40])
def test_of_many_functions_the_first_that_holds_is_taken(target: str, count: int) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        holds, number = tf.placeholder(tf.bool, [count]), tf.placeholder(tf.int32, [])
        x = tf.constant(3.0)
        made = []

        def function(i: int) -> Callable[[], tf.Tensor]:
            def build() -> tf.Tensor:
                made.append(i)
                return x * float(i)

            return build

        pairs = [(holds[i], function(i)) for i in range(count)]
        case = tf.case(pairs, function(-1))
        assert sorted(made) == list(range(-1, count))
        slope = tf.gradients(case, x)[0]
        made.clear()
        switch = tf.switch_case(number, [f for _, f in pairs], function(-1))
        assert sorted(made) == list(range(-1, count))
        for i in range(count):
            given = np.arange(count) >= i
            feeds = {holds: given, number: i}
            assert session.run([case, slope, switch], feeds) == [3 * i, i, 3 * i]
        for outside in (-1, count, -(2**31), 2**31 - 1):
            feeds = {holds: np.zeros(count, bool), number: outside}
            assert session.run([case, slope, switch], feeds) == [-3, -1, -3]


def test_branches_nest_as_deep_as_a_model_can() -> None:
    def nested(depth: int) -> tf.Tensor:
        x = tf.constant(1.0)
        return x if depth == 0 else tf.cond(x > 0, lambda: nested(depth - 1) + 1.0, lambda: x)

    for target in ("runtime", "cinfer"):
        with tf.Graph().as_default(), tf.Session(target) as session:
            assert session.run(nested(16)) == 17
    with tf.Graph().as_default():
        refused(lambda: nested(17), ValueError, "nested deeper than 16")


@TARGETS
def test_switch_case_takes_the_function_of_a_number(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        n = tf.placeholder(tf.int32, [])
        functions = [lambda k=k: tf.constant(10 * k) for k in range(3)]
        last = tf.switch_case(n, functions)
        other = tf.switch_case(n, {1: functions[1], 0: functions[0]}, lambda: tf.constant(-1))
        found = session.run([last, other], {n: 1})
        assert found == [10, 10]
        assert session.run([last, other], {n: 7}) == [20, -1]


def test_malformed_cases_are_refused() -> None:
    p, one = (lambda: tf.placeholder(tf.bool, [])), (lambda: tf.constant(1))
    refused(lambda: tf.case(3), TypeError, "list, tuple, or dict")
    refused(lambda: tf.case([(True, one)]), TypeError, "Python bool")
    refused(lambda: tf.case([(tf.constant(1), one)]), TypeError, "int32")
    refused(lambda: tf.case([(p(), one)], default=3), TypeError, "callable")
    refused(lambda: tf.case([]), ValueError, "at least one")
    refused(lambda: tf.switch_case(1, [one]), TypeError, "Tensor")
    refused(lambda: tf.switch_case(tf.constant(1), {1: one}), ValueError, "contiguous")
    refused(lambda: tf.switch_case(tf.constant(1), []), ValueError, "at least one")
    refused(lambda: tf.smart_cond(None, one, one), TypeError, "expected a bool")


def test_smart_cond_needs_no_branch_where_pred_is_known() -> None:
    with tf.Graph().as_default() as graph:
        for pred in (True, 1, tf.constant(True)):
            assert tf.smart_cond(pred, lambda: "yes", lambda: "no") == "yes"
        p = tf.placeholder(tf.bool, [])
        tf.smart_cond(p, lambda: tf.constant(1), lambda: tf.constant(2))
        assert [op.op for op in graph.get_operations()].count("If") == 1
