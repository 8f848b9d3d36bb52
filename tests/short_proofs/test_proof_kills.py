"""R1, short: no kill loses a checkpoint that was acknowledged; see tests/proofs/kills.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof_folders import quick  # noqa: F401
from proofs import c_writer, kills

TRIALS = 20


@pytest.mark.parametrize("mode", kills.MODES)
def test_no_kill_loses_an_acknowledged_checkpoint(mode: str, quick_folder: Path) -> None:
    if mode.startswith("C: ") and c_writer.why_not():
        pytest.skip(str(c_writer.why_not()))
    result = kills.MODES[mode].run(1, TRIALS, quick_folder)
    assert bool(result.lost) == kills.MODES[mode].control, result.lost
    assert result.counts["kills"] + len(result.lost) >= TRIALS
