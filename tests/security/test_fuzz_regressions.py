"""The runner of the fuzz targets. The targets in C replay their seeds and regressions in the C
tests (test_build.py, under sanitizers); here it is seen that each has some and is among these."""

from __future__ import annotations

import base64
import importlib.util
import json
import lzma
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from folders import ROOT

REPORT = """INFO: Seed: 17
#512\tINITED cov: 900 ft: 1100 corp: 20/30Kb exec/s: 0 rss: 60Mb
#8192\tpulse  cov: 1000 ft: 1500 corp: 25/40Kb lim: 8192 exec/s: 4096 rss: 61Mb
#9000\tDONE   cov: 1001 ft: 1502 corp: 26/40Kb lim: 8192 exec/s: 4096 rss: 61Mb
"""


def _runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_runner", ROOT / "tools/fuzz.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


fuzz: Any = _runner()
IN_C = [name for name, target in fuzz.TARGETS.items() if target.command is fuzz.c_program]


def test_the_targets_in_c_are_those_that_cmake_builds_and_replays() -> None:
    text = (fuzz.C_FUZZ / "targets.cmake").read_text()
    names = re.search(r"set\(FUZZ_TARGETS ([^)]*)\)", text)
    assert names is not None and names[1].split() == IN_C


@pytest.mark.parametrize("name", IN_C)
def test_a_target_has_seeds_that_fit_into_its_inputs(name: str) -> None:
    target = fuzz.TARGETS[name]
    seeds = fuzz.unpacked((target.folder / "corpus" / f"{name}.pack").read_bytes())
    (longest,) = (int(flag[9:]) for flag in target.flags if flag.startswith("-max_len="))
    assert seeds and all(0 < len(seed) <= longest for seed in seeds)


def test_regressions_are_of_targets_that_there_are() -> None:
    folders = {target.folder / "regressions" for target in fuzz.TARGETS.values()}
    found = {path.name for folder in folders if folder.is_dir() for path in folder.iterdir()}
    assert found and found <= set(fuzz.TARGETS)


def test_a_pack_gives_back_its_seeds() -> None:
    seeds = [b"", b"one", bytes(range(256)) * 300]
    assert fuzz.unpacked(fuzz.packed(seeds)) == seeds


def test_a_report_is_read() -> None:
    line = fuzz.line_of("wire", 17, REPORT + "stat::number_of_executed_units: 9001\n", 2.0, 0)
    expected = {"executions": 9001, "coverage": 1001, "features": 1502, "corpus": 26, "findings": 0}
    assert {key: line[key] for key in expected} == expected
    assert fuzz.line_of("wire", 17, REPORT, 2.0, 1)["executions"] == 9000


@pytest.mark.parametrize(("again", "ends"), [("sys.exit(0)", True), ("sys.exit(70)", False)])
def test_an_input_that_takes_long_and_ends_is_no_finding(
    tmp_path: Path, again: str, ends: bool
) -> None:
    slow, crash = tmp_path / "timeout-1", tmp_path / "crash-1"
    command = [sys.executable, "-c", f"import sys; {again}"]
    assert fuzz.ends(command, slow) is ends
    assert fuzz.ends(command, crash) is False


def test_a_finding_can_be_taken_out_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "crash-1"
    path.write_bytes(b"GRAPHIO" * 300)
    report = "noise\nnn.c:143:33: runtime error: overflow\n    #0 0x1 in ci_run_softmax\n"
    *where, packed = fuzz.shown(path, report).splitlines()
    assert where == report.splitlines()[1:]
    assert lzma.decompress(base64.b64decode(packed)) == path.read_bytes()


def test_slices_add_up_and_a_finding_starts_the_clean_count_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = fuzz.line_of("wire", 1, REPORT, 60.0, 0)
    found = [{**line, "findings": n} for n in (0, 1, 0, 0)]
    log = tmp_path / "fuzzing.jsonl"
    log.write_text("".join(json.dumps(each) + "\n" for each in found))
    monkeypatch.setattr(fuzz, "LOG", log)
    total = fuzz.totals()["wire"]
    assert (total["executions"], total["clean"], total["findings"]) == (36000, 18000, 1)
    assert total["seconds"] == 240 and "| 36,000 |" in fuzz.summary()
