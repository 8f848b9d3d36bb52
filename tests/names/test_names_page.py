"""docs/names.md and the tables of TensorFlow's names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from folders import ROOT

import graphio as tf
from graphio.python import names


def test_every_name_of_tensorflow_is_there_or_has_a_reason() -> None:
    forgotten = [
        path
        for path in names.table()
        if (found := names.status(path)).how == "unknown" or (found.how == "not" and not found.why)
    ]
    assert forgotten == []


def test_the_page_is_what_the_tables_say() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/names_page.py", "--check"], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("path", "how", "why"),
    [
        ("nn.conv2d", "there", ""),
        ("train.Saver", "there", ""),
        ("errors.OutOfRangeError", "there", ""),
        ("tpu.rewrite", "not", "no engine runs on TPUs"),
        ("tpu.no_such_name", "not", "no engine runs on TPUs"),
        ("no_such_name", "unknown", ""),
        ("python.framework.ops.reset_default_graph", "there", ""),
        ("python.framework.ops.none", "not", "tensorflow.python.framework.ops.none is not part"),
        ("core.protobuf.config_pb2.ConfigProto", "there", ""),
    ],
)
def test_a_name_is_there_or_not(path: str, how: str, why: str) -> None:
    found = names.status(path)
    assert found.how == how
    assert found.why.startswith(why)


def test_missing_arguments_and_methods_are_found() -> None:
    def given(a: int, b: int) -> int:
        return a + b

    class Given:
        """Has one method, and an attribute that another sets."""

        def __init__(self, a: int) -> None:
            self.number = a

        def there(self) -> None: ...

    assert names._missing(given, ["a", "b", "c", "*"]) == ["c"]
    assert names._missing(lambda **more: None, ["a"]) == []
    assert names._missing(Given, ["a", "z", "there()", "number()", "none()"]) == ["z", "none()"]
    assert names._missing(tf.float32, None) == []
