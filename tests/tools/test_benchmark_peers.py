"""The benchmark against other engines: its rows run and agree, and its verdicts are right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import ROOT

sys.path.insert(0, str(ROOT))

from benchmarks.peers import goals, latency, operators, report
from benchmarks.peers.engines import Engine
from benchmarks.peers.models import Case, prepare

PEERS = ["theirs", "others"]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "benchmarks.peers", *map(str, arguments)]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_every_row_of_the_short_form_runs_and_agrees(tmp_path: Path) -> None:
    stored = tmp_path / "found.json"
    done = command("--quick", "--folder", tmp_path / "models", "--json", stored)
    assert done.returncode == 0, done.stderr
    found = json.loads(stored.read_text())
    for row in ("tiny", "mlp", "cnn", "elementwise"):
        for engine in ("cinfer, C", "cinfer, Python", "Python runtime", "onnxruntime, Python"):
            assert found["models"][row][engine]["median"] > 0
            assert found["models"][row][engine]["note"] == "same"
    assert set(found["others"]) == {"first call tiny", "train perceptron", "node"}
    shown = command("--show", stored, "--compare", stored)
    assert shown.returncode == 0, shown.stderr
    assert "| perceptron 64-32-10 | cinfer, C |" in shown.stdout
    assert shown.stdout.count("cinfer, C") > 5


class Wrong(Engine):
    """An engine that is quick and wrong."""

    name = "wrong"

    def load(self, case: Case, threads: int) -> None:
        (self.right,) = case.expected.values()

    def call(self) -> None:
        pass

    def results(self) -> list[Any]:
        return [self.right + np.float32(0.01)]


class Failing(Wrong):
    """An engine that does not open the model."""

    name = "failing"

    def load(self, case: Case, threads: int) -> None:
        raise RuntimeError("no such operator")


def test_an_engine_that_is_wrong_or_fails_is_named_and_not_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency, "ENGINES", {"wrong": Wrong, "failing": Failing})
    prepare(tmp_path, "tiny")
    live, notes = latency.ready(["wrong", "failing"], Case(tmp_path, "tiny"), 1)
    assert live == {}
    assert notes["wrong"].startswith("differs by")
    assert notes["failing"] == "failed: RuntimeError: no such operator"


def engine(median: float) -> dict[str, Any]:
    return {"median": median, "min": median / 2, "note": "same"}


def test_a_goal_is_met_beside_the_fastest_peer_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "GOALS", (goals.Goal("tiny", "ours", goals.PEER, 0.5),))
    monkeypatch.setattr(goals, "LIMITS", ())
    rows = {"tiny": {"ours": engine(1.0), "theirs": engine(3.0), "others": engine(1.9)}}
    (verdict,) = goals.verdicts(rows, PEERS)
    assert verdict.reference == "others (best)"
    assert verdict.median == pytest.approx(1 / 1.9)
    assert not verdict.met
    rows["tiny"]["others"] = {"note": "differs by 0.1"}
    (verdict,) = goals.verdicts(rows, PEERS)
    assert verdict.reference == "theirs (best)" and verdict.met
    rows["tiny"]["ours"] = {"note": "failed"}
    (verdict,) = goals.verdicts(rows, PEERS)
    assert verdict.median is None and not verdict.met


def test_a_limit_is_the_row_s_own_or_the_table_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goals, "GOALS", ())
    limits = (goals.Limit("start", "ours", "peak MB"), goals.Limit("node", "ours", "median", 3e-6))
    monkeypatch.setattr(goals, "LIMITS", limits)
    start = {"ours": engine(1.0) | {"more": {"peak MB": 5.0}, "limits": {"peak MB": 4.0}}}
    peak, node = goals.verdicts({"start": start, "node": {"ours": engine(2e-6)}}, PEERS)
    assert (peak.median, peak.most, peak.met) == (5.0, 4.0, False)
    assert (node.median, node.most, node.met) == (2.0, 3.0, True)


@pytest.mark.parametrize(
    ("later", "expected"),
    [([1.0], None), ([1.5, 1.0], None), ([1.5, 1.4, 1.6, 1.5], 1.4)],
    ids=["as before", "slow once", "slow each time"],
)
def test_an_operator_is_slower_when_it_stays_so(later: list[float], expected: float | None) -> None:
    first, *again = later
    assert operators.slower(1.0, first, lambda _seconds: again.pop(0), 0.0) == expected


def test_the_ratchet_fails_for_a_slower_operator_and_for_no_other(tmp_path: Path) -> None:
    table = tmp_path / "table.json"

    def run(*more: str) -> None:
        words = ["--only", "Relu,Add", "--large", "--seconds", "0.01", "--table", str(table)]
        operators.main([*words, *more])

    run("--update")
    stored = json.loads(table.read_text())
    (cpu,) = stored
    assert set(stored[cpu]["ratios"]) == {"Relu 1M", "Add 1M"}
    stored[cpu]["ratios"] = {"Relu 1M": 100.0, "Add 1M": 100.0}
    table.write_text(json.dumps(stored))
    run()
    stored[cpu]["ratios"]["Relu 1M"] = 1e-3
    table.write_text(json.dumps(stored))
    with pytest.raises(SystemExit, match=r"Relu 1M: .* was 0\.00$"):
        run()
    table.write_text(json.dumps({"another": stored[cpu]}))
    with pytest.raises(SystemExit, match="is of another"):
        run()
    run("--update")
    assert set(json.loads(table.read_text())) == {"another", cpu}


def test_a_table_names_processors_whole_or_by_how_they_begin() -> None:
    stored = {"A, family 25 model 17": 1, "A, family 26": 1}
    assert operators.entry_of("A, family 25 model 17", stored) == "A, family 25 model 17"
    assert operators.entry_of("A, family 26 model 2", stored) == "A, family 26"
    assert operators.entry_of("A, family 25 model 1", stored) == "A, family 25 model 1"


def test_processors_of_one_name_are_distinguished() -> None:
    info = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"
    assert report.processor(info + "\nmodel\t: 1\n") == "AMD EPYC, family 25 model 17"
    assert report.processor("processor\t: 0\nBogoMIPS\t: 50.00\n") == ""


def test_a_name_of_a_large_case_is_not_that_of_an_operator() -> None:
    names = [case.name for case in operators.LARGE]
    assert len(set(names)) == len(names)
    assert all(" " in name for name in names)


def test_times_are_reported_with_three_digits_and_a_unit() -> None:
    reported = [report.duration(x) for x in (1.234e-7, 9.996e-7, 1.5e-5, 0.0123, 2.5)]
    assert reported == ["123 ns", "1 us", "15 us", "12.3 ms", "2.5 s"]


def test_a_page_gets_the_tables_between_its_marks_and_keeps_the_rest() -> None:
    page = "before\n" + "old".join(report.MARKS) + "\nafter\n"
    once = report.put(page, "| new |")
    assert once == report.put(once, "| new |")
    assert once.startswith("before\n") and once.endswith("\nafter\n")
    assert "old" not in once and "\n| new |\n" in once
    with pytest.raises(ValueError):
        report.put("no marks", "| new |")
