"""The log of the proofs and the page that is written from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from proofs import log, slices
from proofs.slices import Mode, Result

sys.path.insert(0, str(log.ROOT / "tools"))

import proofs_page


def line(code: str, seed: int, trials: int, losses: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "proof": "R1",
        "mode": "same prefix",
        "seed": seed,
        "counts": {"kills": trials},
        "losses": losses,
        "code": code,
        "date": f"2026-01-01 00:0{seed}",
        **more,
    }


def test_only_the_newest_sources_count_and_each_seed_once() -> None:
    lines = [line("old", 1, 100, 7), line("new", 2, 10), line("new", 3, 20), line("new", 3, 30)]
    ((key, found),) = proofs_page.newest(lines).items()
    assert key == ("R1", "same prefix")
    assert [row["counts"]["kills"] for row in found] == [10, 30]


@pytest.fixture
def own_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "log.jsonl"
    monkeypatch.setattr(log, "LOG", path)
    monkeypatch.setattr(log, "code", lambda: "0123456789ab")
    return path


def run(lost: list[str], control: bool, own_log: Path, count: int = 5) -> tuple[int, list[int]]:
    """The result of the command line, and the seeds that it ran."""
    seeds = []

    def one(seed: int, trials: int, folder: Path) -> Result:
        assert list(folder.iterdir()) == []
        seeds.append(seed)
        return Result({"trials": trials}, lost)

    modes = {"mode": Mode(one, control=control)}
    arguments = ["--count", str(count), "--folder", str(own_log.parent)]
    code = slices.main("R1", "", modes, count=9, slice_count=2, arguments=arguments)
    return code, seeds


def test_a_run_goes_on_where_it_stopped(own_log: Path) -> None:
    assert run([], False, own_log, count=4) == (0, [1, 2])
    assert run([], False, own_log, count=5) == (0, [3])
    written = log.lines()
    assert [(row["seed"], row["counts"]["trials"]) for row in written] == [(1, 2), (2, 2), (3, 1)]
    assert {"date", "commit", "code", "command", "machine", "seconds"} < set(written[0])


@pytest.mark.parametrize(
    ("lost", "control", "code"),
    [([], False, 0), (["a"], False, 1), (["a"], True, 0), ([], True, 1)],
)
def test_a_loss_is_a_failure_and_none_is_one_of_a_control(
    lost: list[str], control: bool, code: int, own_log: Path
) -> None:
    assert run(lost, control, own_log)[0] == code
    assert log.lines()[0]["losses"] == len(lost)
    assert log.lines()[0].get("control", False) is control
