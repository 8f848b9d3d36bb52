"""tf.variable_creator_scope: functions that make a program's variables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphio as tf


def test_the_innermost_creator_is_called_first_with_all_arguments() -> None:
    calls: list[tuple[str, set[str]]] = []

    def creator(title: str) -> Any:
        def create(next_creator: Any, **kwargs: Any) -> Any:
            calls.append((title, set(kwargs)))
            kwargs["name"] = f"{kwargs['name']}_{title}"
            return next_creator(**kwargs)

        return create

    with tf.Graph().as_default():
        with tf.variable_creator_scope(creator("outer")):
            with tf.variable_creator_scope(creator("inner")):
                one = tf.Variable(1.0, name="one")
            two = tf.get_variable("two", [2], use_resource=True)
        three = tf.Variable(3.0, name="three")
        assert [v.op.name for v in (one, two, three)] == ["one_inner_outer", "two_outer", "three"]
        assert [title for title, _ in calls] == ["inner", "outer", "outer"]
        # the arguments of TensorFlow 1.15
        assert calls[0][1] == {
            "initial_value", "trainable", "collections", "validate_shape", "caching_device",
            "name", "variable_def", "dtype", "expected_shape", "import_scope", "constraint",
            "use_resource", "synchronization", "aggregation", "shape",
        }  # fmt: skip
        assert two.use_resource


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
def test_what_a_creator_gives_is_the_variable(target: str) -> None:
    def doubled(next_creator: Any, **kwargs: Any) -> Any:
        assert kwargs["synchronization"] is tf.VariableSynchronization.AUTO
        return next_creator(**{**kwargs, "initial_value": 2.0 * kwargs["initial_value"]}) * 1.5

    with tf.Graph().as_default(), tf.Session(target) as session:
        with tf.variable_creator_scope(doubled):
            made = tf.Variable(np.float32([1.0, 2.0]))
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(made), np.float32([3.0, 6.0]))


def test_scopes_of_creators_are_left_in_order() -> None:
    with tf.Graph().as_default():
        outer, inner = (tf.variable_creator_scope(lambda n, **k: n(**k)) for _ in range(2))
        outer.__enter__()
        inner.__enter__()
        with pytest.raises(RuntimeError, match="without proper nesting"):
            outer.__exit__(None, None, None)
