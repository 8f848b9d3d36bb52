"""Imports stay small: nothing is imported before it is used."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import json, pkgutil, sys
import numpy
before = set(sys.modules)
import graphio
counts = {"graphio": sorted(set(sys.modules) - before)}
graphio.constant
counts["builder"] = [name for name in sys.modules if name.startswith("graphio.contrib")]
graphio.data, graphio.train  # which parts of contrib build on
import graphio.contrib
for part in sorted(one.name for one in pkgutil.iter_modules(graphio.contrib.__path__)):
    before = set(sys.modules)
    getattr(graphio.contrib, part)
    counts[part] = sorted(set(sys.modules) - before)
print(json.dumps(counts))
"""


def test_an_import_adds_few_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    added = json.loads(done.stdout)
    assert added.pop("builder") == []  # a program without tf.contrib loads nothing of it
    own = added.pop("graphio")
    assert len(own) <= 10  # so that the import stays below 2 ms
    assert not [name for name in own if name.startswith(("graphio.ops", "graphio.framework.graph"))]
    assert len(added) >= 22
    for part, modules in added.items():
        assert len(modules) <= 130, part
        foreign = {name.partition(".")[0] for name in modules} - {"graphio", "runtime"}
        assert not foreign & {"PIL", "scipy", "sklearn", "pandas", "matplotlib"}, part
