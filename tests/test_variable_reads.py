"""When a variable is read: each case in both engines, by a session and from a saved file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from read_programs import differences
from variable_reads import CASES, Case

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


def initialized(target: str) -> tf.Session:
    session = tf.Session(target)
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    return session


def feeds_of(case: Case) -> list[dict[str, Any]]:
    return list(case.feeds) or [{}] * len(case.expected)


@EVERY
@TARGETS
def test_a_run_of_a_session_reads_by_the_rule(case: Case, target: str) -> None:
    fetches = case.build()
    with initialized(target) as session:
        for expected, feeds in zip(case.expected, feeds_of(case), strict=True):
            found = session.run(fetches, feeds)
            for label, value in expected.items():
                np.testing.assert_allclose(found[label], value, err_msg=label)
        for name, value in case.after.items():
            np.testing.assert_allclose(session.run(f"{name}:0"), value, err_msg=name)


@EVERY
@TARGETS
def test_a_saved_signature_reads_by_the_rule(case: Case, target: str, tmp_path: Path) -> None:
    fetches, state = case.build(), None
    targets = [value for value in fetches.values() if isinstance(value, tf.Operation)]
    outputs = {key: value for key, value in fetches.items() if value not in targets}
    with initialized("runtime") as session:
        for i, (expected, feeds) in enumerate(zip(case.expected, feeds_of(case), strict=True)):
            given = {f"x{k}": session.graph.get_tensor_by_name(n) for k, n in enumerate(feeds)}
            path = tmp_path / f"{i}.gio"
            tf.saved_model.save(path, session, {"run": (given, outputs, targets)})
            engine = target.replace("runtime", "")
            model = tf.saved_model.load(path, engine, state=state)
            state = model.state
            found = model.signature("run")(
                **{key: np.float32(v) for key, v in zip(given, feeds.values(), strict=True)}
            )
            for label, value in expected.items():
                np.testing.assert_allclose(found[label], value, err_msg=label)
    for name, value in case.after.items():
        np.testing.assert_allclose(state.get(name), value, err_msg=name)


def test_random_programs_read_by_the_rule() -> None:
    """python tests/read_programs.py looks at more of them."""
    assert differences(2000) == []
