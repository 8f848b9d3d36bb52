"""Imports stay small: nothing is imported before it is used."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import importlib.util, json, os, pkgutil, sys
import numpy
before = set(sys.modules)
import graphio
counts = {"graphio": sorted(set(sys.modules) - before)}
graphio.constant
counts["builder"] = [name for name in sys.modules if name.startswith("graphio.contrib")]
before = set(sys.modules)
folders = importlib.util.find_spec("graphio.contrib").submodule_search_locations
parts = [one.name for one in pkgutil.iter_modules(folders)]
for name in parts + ["slim.conv2d", "slim.learning.train", "learn.run_n", "data.map_and_batch"]:
    end, start = os.pipe()
    if os.fork() == 0:  # so that no part has what another loaded
        found = graphio.contrib
        for step in name.split("."):
            found = getattr(found, step)
        os.write(start, "\\n".join(set(sys.modules) - before).encode())
        os._exit(0)
    os.close(start)
    with os.fdopen(end) as pipe:
        counts[name] = sorted(pipe.read().split())
    assert os.wait()[1] == 0, name
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
    assert len(added) >= 26
    for part, modules in added.items():
        assert 9 <= len(modules) <= (120 if "." in part else 50), (part, len(modules))
        foreign = {name.partition(".")[0] for name in modules} - {"graphio", "runtime"}
        assert not foreign & {"PIL", "scipy", "sklearn", "pandas", "matplotlib"}, part
