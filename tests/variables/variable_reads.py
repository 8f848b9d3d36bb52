"""When variables are read: small programs, what a run fetches, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import graphio as tf

#: tensors and operations that are fetched, by a label
Fetches = dict[str, Any]


@dataclass
class Case:
    """A program and what its runs give.

    Attributes:
        build: makes the graph, and gives what is fetched.
        expected: the numbers of each run, by the labels of the fetches that are tensors.
        after: the values of variables after the last run, by name.
        feeds: what each run feeds, by the tensor's name.
    """

    build: Callable[[], Fetches]
    expected: Sequence[dict[str, Any]]
    after: dict[str, Any]
    feeds: Sequence[dict[str, Any]] = ()


CASES: dict[str, Case] = {}


def case(
    *expected: dict[str, Any], feeds: Sequence[dict[str, Any]] = (), **after: Any
) -> Callable[[Callable[[], Fetches]], Callable[[], Fetches]]:
    """Adds a program to the cases; its function's name says what holds."""

    def add(build: Callable[[], Fetches]) -> Callable[[], Fetches]:
        CASES[build.__name__] = Case(build, expected, after, feeds)
        return build

    return add


def variable(value: Any, name: str, **options: Any) -> tf.Variable:
    return tf.Variable(value, name=name, **options)


def descent(loss: tf.Tensor, rate: float = 1.0, **options: Any) -> tf.Operation:
    return tf.train.GradientDescentOptimizer(rate).minimize(loss, **options)


# ---- variables that are fetched themselves ----


@case({"step": 1}, {"step": 2}, step=2)
def the_step_is_that_of_after_the_update() -> Fetches:
    w, step = variable(1.0, "w"), variable(0, "step", trainable=False)
    return {"train": descent(w * w, 0.1, global_step=step), "step": step}


@case({"v": -5.0, "value": -5.0, "read": -5.0, "same": -5.0, "start": 5.0}, v=-5.0)
def a_variable_and_its_aliases_show_the_end_and_an_expression_the_start() -> Fetches:
    v = variable(5.0, "v")
    found = {"v": v, "value": v.value(), "same": tf.identity(v), "start": v * 1.0}
    found["read"] = tf.get_default_graph().get_tensor_by_name("v/read:0")
    found["train"] = descent(v * v)
    return found


@case({"row": [6.0, 7.0], "part": [[9.0]], "all": [[6.0, 7.0], [8.0, 9.0]], "sum": 10.0})
def indexed_parts_of_a_variable_show_the_end() -> Fetches:
    v, i = variable([[1.0, 2.0], [3.0, 4.0]], "v"), tf.constant(0)
    found = {"row": v[i], "part": v[1:, None, 1], "all": v[...], "sum": tf.reduce_sum(v)}
    return {**found, "add": v.assign_add([[5.0, 5.0], [5.0, 5.0]]).op}


@case({"v": 1.0, "same": 1.0, "add": 3.0}, v=3.0)
def a_resource_variable_shows_the_start() -> Fetches:
    v = variable(1.0, "v", use_resource=True)
    return {"v": v, "same": tf.identity(v), "add": v.assign_add(2.0).value()}


@case({"v": 7.0, "w": 3.0}, v=7.0, w=3.0)
def an_assignment_in_a_branch_shows_in_what_is_fetched() -> Fetches:
    v, w = variable(1.0, "v"), variable(3.0, "w")
    done = tf.cond(w > 2.0, lambda: v.assign(7.0), lambda: w.assign(8.0))
    return {"v": v, "w": w, "done": done.op}


@case({"same": [5.0, 6.0]}, {"same": [5.0, 6.0]}, v=[5.0, 6.0])
def an_identity_under_a_dependency_runs_what_it_waits_for() -> Fetches:
    v = variable([2.0, 2.0], "v")
    with tf.control_dependencies([v.assign([5.0, 6.0])]):
        return {"same": tf.identity(v)}


@case({"value": 5.0, "row": 5.0}, v=5.0)
def a_resource_variable_under_a_dependency_shows_what_it_waits_for() -> Fetches:
    with tf.variable_scope("", use_resource=True):
        v = tf.get_variable("v", [], initializer=tf.constant_initializer(2.0))
    with tf.control_dependencies([v.assign(5.0)]):
        return {"value": v.value(), "row": v[...]}


@case({"slot": [2.0], "v": [-1.0], "scattered": [1.0, 9.0]})
def slots_and_scattered_rows_show_the_end() -> Fetches:
    v, rows = variable([1.0], "v"), variable([1.0, 1.0], "rows", trainable=False)
    optimizer = tf.train.MomentumOptimizer(1.0, 0.9)
    train = optimizer.minimize(v * v)
    update = tf.scatter_add(rows, [1], [8.0])
    return {
        "slot": optimizer.get_slot(v, "momentum"), "v": v, "scattered": rows, "train": train,
        "update": update.op,
    }  # fmt: skip


# ---- values computed from the start ----


@case({"rate": 0.5, "inc": 1}, {"rate": 0.25, "inc": 2})
def a_learning_rate_is_that_of_the_old_step() -> Fetches:
    step = variable(0, "step")
    inc = tf.assign_add(step, 1)
    return {"inc": inc, "rate": tf.train.exponential_decay(0.5, step, 1, 0.5)}


@case({"loss": 8.0, "twice": 8.0}, v=0.0)
def what_is_computed_of_a_variable_after_a_step_was_built_is_of_the_start() -> Fetches:
    v = variable(4.0, "v")
    train = descent(v * v / 2.0)
    return {"train": train, "loss": tf.nn.l2_loss(v), "twice": v * 2.0}


@case({}, v=-5.0)
def two_steps_of_one_loss_are_both_from_the_start() -> Fetches:
    v = variable(5.0, "v")
    return {"both": tf.group(*[descent(v * v / 2.0) for _ in range(2)])}


@case({}, v=0.0, w=-10.0)
def a_second_loss_built_after_the_first_step_is_from_the_start() -> Fetches:
    v, w = variable(4.0, "v"), variable(6.0, "w")
    first = descent(v * v / 2.0, var_list=[v])
    return {"first": first, "second": descent(v * v * w, var_list=[w])}


@case({"m": 0.0, "u": 3.0, "n": 0.0}, {"m": 3.0, "u": 16.0 / 3, "n": 2.0},
      feeds=[{"x:0": [2.0, 4.0]}, {"x:0": [10.0]}])  # fmt: skip
def the_value_of_a_metric_is_that_of_before_its_update() -> Fetches:
    x = tf.placeholder(tf.float32, [None], name="x")
    m, u = tf.metrics.mean(x)
    n, more = tf.metrics.true_positives(x, x)
    return {"m": m, "u": u, "n": n, "more": more.op}


# ---- values that assignments compute from the present ----


@case({}, v=-1.0)
def clipping_built_after_a_step_keeps_the_step() -> Fetches:
    v = variable(5.0, "v")
    train = descent(v * v / 2.0 + v)
    return {"train": train, "clip": v.assign(tf.clip_by_value(v, -3.0, 3.0)).op}


@case({}, w=-5.0, part=[0.0, -5.0])
def a_copy_built_after_a_step_is_of_the_new_value() -> Fetches:
    v, w, part = variable(5.0, "v"), variable(0.0, "w"), variable([0.0, 0.0], "part")
    train = descent(v * v, var_list=[v])
    return {"train": train, "copy": w.assign(v).op, "row": tf.scatter_update(part, [1], [v]).op}


@case({"average": 2.0})
def an_average_built_after_a_step_follows_the_new_value() -> Fetches:
    v = variable(4.0, "v")
    train = descent(v * v / 2.0)
    averages = tf.train.ExponentialMovingAverage(0.5)
    update = averages.apply([v])
    return {"train": train, "update": update, "average": averages.average(v)}


@case({"average": 0.9}, step=1.0)
def the_number_of_updates_of_an_average_is_that_of_the_start() -> Fetches:
    v, step = variable(0.0, "v"), variable(0.0, "step")
    inc = tf.group(step.assign_add(1.0), v.assign_add(1.0))
    averages = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    return {"inc": inc, "update": averages.apply([v]), "average": averages.average(v)}


@case({}, w=3.0)
def a_branch_that_assigns_computes_from_the_present() -> Fetches:
    v, w = variable(1.0, "v"), variable(0.0, "w")
    add = v.assign_add(2.0)
    twice = tf.cond(tf.constant(True), lambda: w.assign(v * 1.0), lambda: w.assign_sub(v))
    return {"add": add.op, "twice": twice.op}


# ---- under a control dependency ----


@case({"same": [2.0, 3.0], "row": 3.0, "gathered": [2.0], "more": [3.0, 4.0], "value": [2.0, 3.0]})
def a_use_under_a_dependency_on_an_assignment_sees_it() -> Fetches:
    v = variable([1.0, 2.0], "v")
    with tf.control_dependencies([v.assign_add([1.0, 1.0])]):
        return {
            "same": tf.identity(v), "row": v[1] * 1.0, "gathered": tf.gather(v, [0]),
            "more": v + 1.0, "value": v.value() * 1.0,
        }  # fmt: skip


@case({"behind": 5.0, "before": 1.0})
def a_read_under_a_dependency_is_not_shared_outside_of_it() -> Fetches:
    v = variable(1.0, "v")
    with tf.control_dependencies([v.assign(5.0)]):
        behind = v * 1.0
    return {"behind": behind, "before": v * 1.0}


@case({"branch": 6.0, "count": 5})
def a_dependency_outside_of_a_body_is_waited_for_in_front_of_it() -> Fetches:
    v = variable(2, "v")
    with tf.control_dependencies([v.assign(5)]):
        branch = tf.cond(tf.constant(True), lambda: v + 1, lambda: v - 1)
        count = tf.while_loop(lambda i: i < v, lambda i: i + 1, [0])
    return {"branch": branch, "count": count}


# ---- bodies that assign ----


@case({"rounds": 3, "last": 3.0}, v=3.0)
def a_loop_stops_when_its_condition_reads_what_its_body_assigned() -> Fetches:
    v = variable(0.0, "v")
    rounds, last = tf.while_loop(
        lambda i, x: v < 3.0, lambda i, x: (i + 1, v.assign_add(1.0)), [0, 0.0],
        maximum_iterations=10,
    )  # fmt: skip
    return {"rounds": rounds, "last": last}


@case({"last": 2.0}, v=3.0)
def a_body_that_reads_before_it_assigns_sees_the_iteration_before() -> Fetches:
    v = variable(0.0, "v")

    def body(i: Any, x: Any) -> Any:
        seen = v * 1.0
        with tf.control_dependencies([seen]):
            done = v.assign_add(1.0)
        with tf.control_dependencies([done]):
            return i + 1, tf.identity(seen)

    _, last = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0])
    return {"last": last}


@case({"before": 20.0, "behind": 7.0}, v=7.0)
def a_branch_reads_around_its_own_assignment() -> Fetches:
    v = variable(2.0, "v")

    def branch() -> Any:
        before = v * 10.0
        with tf.control_dependencies([v.assign(7.0)]):
            return before, v + 0.0

    before, behind = tf.cond(tf.constant(True), branch, lambda: (v + 0.0, v))
    return {"before": before, "behind": behind}


@case({"sums": [1.0, 3.0, 6.0]}, v=6.0)
def a_scan_reads_what_the_step_before_assigned() -> Fetches:
    v = variable(0.0, "v")
    return {"sums": tf.map_fn(lambda x: v.assign(v + x), tf.constant([1.0, 2.0, 3.0]))}


@case({"inner": 6.0}, v=6.0)
def a_branch_in_a_loop_counts_as_the_loops_assignment() -> Fetches:
    v = variable(0.0, "v")

    def body(i: Any, x: Any) -> Any:
        return i + 1, tf.cond(i < 2, lambda: v.assign(v + 3.0), lambda: v * 1.0)

    _, inner = tf.while_loop(lambda i, x: i < 3, body, [0, 0.0])
    return {"inner": inner}


# ---- feeding and gradients ----


@case({"plain": 10.0, "behind": 11.0}, {"plain": 20.0, "behind": 21.0}, v=1.0,
      feeds=[{"v:0": 10.0}, {"v/read:0": 20.0}])  # fmt: skip
def what_is_fed_for_a_variable_is_fed_for_all_plain_uses() -> Fetches:
    v, unused = variable(1.0, "v"), tf.constant(0.0)
    with tf.control_dependencies([unused]):
        behind = tf.cond(tf.constant(True), lambda: v + 1.0, lambda: v)
    return {"plain": v * 1.0, "behind": behind}


@case({"by_v": 14.0, "by_value": 14.0, "by_read": 14.0}, v=5.0)
def gradients_sum_over_all_plain_reads() -> Fetches:
    v = variable(2.0, "v")
    y = v * v
    with tf.control_dependencies([v.assign(5.0)]):
        z = y + v * v
    read = tf.get_default_graph().get_tensor_by_name("v/read:0")
    by = {"by_v": v, "by_value": v.value(), "by_read": read}
    return {label: tf.gradients(z, x)[0] for label, x in by.items()}
