"""R30, short: several processes save to one prefix at once; see tests/proofs/writers.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof_folders import quick  # noqa: F401
from proofs import c_writer, writers

ROUNDS = 50


@pytest.mark.parametrize("mode", [name for name, mode in writers.MODES.items() if not mode.control])
def test_what_several_writers_acknowledge_restores(mode: str, quick_folder: Path) -> None:
    if "C" in mode and c_writer.why_not():
        pytest.skip(str(c_writer.why_not()))
    result = writers.MODES[mode].run(1, ROUNDS, quick_folder)
    assert result.lost == []
    assert result.counts["rounds"] == ROUNDS
    assert result.counts["acknowledged"] > ROUNDS


def test_a_writer_that_removes_what_it_does_not_know_loses_something(quick_folder: Path) -> None:
    (mode,) = [mode for mode in writers.MODES.values() if mode.control]
    assert mode.run(1, 3 * ROUNDS, quick_folder).lost
