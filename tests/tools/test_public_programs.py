"""The tool that runs public programs: its table, its data, and how it changes a program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT

from graphio.examples.tutorials.mnist import input_data

sys.path.insert(0, str(ROOT / "tools"))
import public_programs
import public_programs_data
from public_programs_table import COMMITS, PROGRAMS, number, turns

PAGE = ROOT / "docs/public_programs.md"


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("import tensorflow as tf", "import graphio as tf"),
        ("    import tensorflow as tf  # v1", "    import graphio as tf  # v1"),
        ("import tensorflow", "import graphio as tensorflow"),
        ("import tensorflow.compat.v1 as tf", "import graphio as tf"),
        ("from tensorflow.contrib import rnn", "from graphio.contrib import rnn"),
        ("import tensorflow.contrib.slim as slim", "import graphio.contrib.slim as slim"),
        ("import tensorflow_hub as hub", "import tensorflow_hub as hub"),
        ("x = 'import tensorflow'", "x = 'import tensorflow'"),
    ],
)
def test_only_the_lines_that_import_tensorflow_change(line: str, changed: str) -> None:
    text = f"import numpy as np\n{line}\nprint(1)\n"
    assert public_programs.change_imports(text) == f"import numpy as np\n{changed}\nprint(1)\n"


def test_a_rule_gives_a_constant_or_a_range_a_smaller_number() -> None:
    text = "n_epochs = 100\ndef f(epoch=1e4, epochs=3): return range(5000)\n"
    for pattern, replacement in (number("n_epochs", 2), number("epoch", 7), turns(5000, 9)):
        text = re.sub(pattern, replacement, text)
    assert text == "n_epochs = 2\ndef f(epoch=7, epochs=3): return range(9)\n"


def test_each_program_of_the_table_has_a_commit_and_rules_that_compile() -> None:
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    assert {program.repository for program in PROGRAMS} == set(COMMITS)
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in COMMITS.values())
    for program in PROGRAMS:
        for pattern, _ in program.rules:
            re.compile(pattern)


def test_the_page_has_programs_of_the_table_at_their_commits() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| [")]
    known = {
        f"| [{one.repository}](https://github.com/{one.repository}): {one.path} "
        f"| `{COMMITS[one.repository][:10]}` "
        for one in PROGRAMS
    }
    starts = {" | ".join(row.split(" | ")[:2]) + " " for row in rows}
    assert starts <= known
    assert len(rows) >= 40
    assert len({row.partition("]")[0] for row in rows}) >= 25


def test_the_data_are_what_programs_read(tmp_path: Path) -> None:
    public_programs_data.make(("digits:", "text:in/words.txt"), tmp_path)
    digits = input_data.read_data_sets(str(tmp_path / public_programs_data.DIGITS), one_hot=True)
    assert digits.train.images.shape == (1000, 784)
    assert digits.test.labels.shape == (500, 10)
    assert len((tmp_path / "in/words.txt").read_text().split()) == 4000


def test_packages_that_show_pictures_are_stood_in_for(tmp_path: Path) -> None:
    public_programs_data.stand_ins(tmp_path)
    program = (
        "import gym, matplotlib.pyplot as plt; from mpl_toolkits.mplot3d import Axes3D\n"
        "figure, axes = plt.subplots(2, 3); axes[0][1].plot([1], label='a'); plt.show()\n"
        "world = gym.make('CartPole-v0'); assert world.reset().shape == (4,)\n"
        "state, reward, done, _ = world.step(1); assert state.shape == (4,) and not done\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
