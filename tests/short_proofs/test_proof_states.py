"""R2, short: each state that a crash can leave has what was saved; see tests/proofs/states.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof_folders import quick  # noqa: F401
from proofs import contenders, states

SAFE = [name for name, mode in states.MODES.items() if not mode.control]
CONTROLS = [name for name, mode in states.MODES.items() if mode.control]


@pytest.fixture(autouse=True)
def few_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contenders, "PLAYS", 6)


@pytest.mark.parametrize("mode", SAFE)
def test_every_state_that_a_crash_can_leave_has_what_was_saved(
    mode: str, quick_folder: Path
) -> None:
    result = states.MODES[mode].run(1, 1, quick_folder)
    assert result.lost == []
    assert result.counts["distinct states"] > 100


@pytest.mark.parametrize("mode", CONTROLS)
def test_orders_that_are_not_safe_lose_something(
    mode: str, quick_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(states, "SAVES", 2)
    monkeypatch.setattr(states, "MOST", 1000)
    assert states.MODES[mode].run(1, 0, quick_folder).lost
