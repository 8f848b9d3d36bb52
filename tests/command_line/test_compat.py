"""graphio compat: the names of TensorFlow that programs use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from graphio.command_line import app

PROGRAM = """import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.framework import ops
from tensorflow.keras import layers as K
import helper
session = tf.Session
nn = tf.nn
y = nn.softmax(tf.estimator.Estimator(tf.float32.name))
y = v1.nn.no_such_function(ops.reset_default_graph).foo
z = K.Dense(tf.flags.FLAGS.value.other, tf.estimator.RunConfig)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("import tensorflow as tf\ntf.estimator.ModeKeys\n")
    (tmp_path / "whole.py").write_text("import tensorflow as tf\ntf.Session\n")
    (tmp_path / "through.py").write_text("import helper\nimport tensorflow as tf\ntf.Session\n")
    (tmp_path / "other.py").write_text("print('no tensors')\n")
    cells = [
        {"cell_type": "markdown", "source": ["tf.text"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "import tensorflow as tf\n"]},
        {"cell_type": "code", "source": ["tf.xla.experimental"]},
    ]
    (tmp_path / "book.ipynb").write_text(json.dumps({"cells": cells}))
    return tmp_path


def facts(capsys: pytest.CaptureFixture[str], path: Path) -> tuple[int, Any]:
    code = app.main(["compat", str(path), "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_missing_names_have_their_lines_and_a_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = facts(capsys, folder / "program.py")
    assert code == 1
    (file,) = found["files"]
    missing = {row["name"]: row for row in file["missing"]}
    assert {name: row["lines"] for name, row in missing.items()} == {
        "estimator": [8, 10],
        "keras.layers": [4],
        "keras.layers.Dense": [10],
        "nn.no_such_function": [9],
    }
    assert "MonitoredTrainingSession" in missing["estimator"]["reason"]
    assert missing["nn.no_such_function"]["reason"] == "TensorFlow 1.15 has no such name either"


def test_a_folder_has_the_files_that_would_lack_nothing_with_more_names(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = facts(capsys, folder)
    assert code == 1
    files = {file["file"]: file for file in found["files"]}
    assert sorted(files) == ["book.ipynb", "helper.py", "program.py", "through.py", "whole.py"]
    assert files["through.py"]["missing"] == []
    assert files["through.py"]["through"] == ["helper.py"]
    assert [row["lines"] for row in files["book.ipynb"]["missing"]] == [[3]]
    assert found["complete"] == 1
    first, *_ = found["gains"]
    assert first == {"names": "estimator", "used_by": 3, "complete": 3}
    assert found["gains"][-1]["complete"] == 5


def test_a_program_that_lacks_nothing_is_answered_with_0(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["compat", str(folder / "whole.py")]) == 0
    assert capsys.readouterr().out == "1 of 1 files lack nothing\n"


def test_the_text_names_files_names_and_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "old.py").write_text("import tensorflow\nprint 'two'\n")
    assert app.main(["compat", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert "old.py: not Python 3: line 2: Missing parentheses" in shown
    assert "  estimator (line 2): write the loop" in shown
    assert "through.py: 0 of 1 names are missing; and in helper.py" in shown
    assert "1 of 6 files lack nothing" in shown


def test_a_path_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["compat", "none.py"]) == 3
    assert "there is no file or folder 'none.py'" in capsys.readouterr().err
