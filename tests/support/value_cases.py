"""Tables of small programs and the values that TensorFlow gives for them.

A program builds in a fresh graph and returns what is fetched, or a pair of that and a feed_dict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphio as tf

TARGETS = ("runtime", "cinfer")
Program = Callable[[], Any]
Table = dict[str, tuple[Program, Any]]


def gives(table: Table, expected: Any) -> Callable[[Program], Program]:
    """Puts a program into the table with the value expected of it."""

    def register(program: Program) -> Program:
        table[program.__name__.strip("_")] = program, expected
        return program

    return register


def result(program: Program, target: str) -> Any:
    """The value of the program in an engine, its variables initialized before."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        made = program()
        fetches, feed = (
            made if isinstance(made, tuple) and isinstance(made[1], dict) else (made, {})
        )
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(fetches, feed)


def check(table: Table, name: str, target: str) -> None:
    """Compares values and their dtypes' kinds."""
    program, expected = table[name]
    found = np.asarray(result(program, target))
    expected_values = np.asarray(expected)
    if found.dtype.kind in "fc":
        np.testing.assert_allclose(
            found, expected_values, rtol=2e-3 if found.itemsize == 2 else 1e-5
        )
    else:
        np.testing.assert_array_equal(found, expected_values)
    assert found.shape == expected_values.shape
