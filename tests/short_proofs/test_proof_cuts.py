"""R3, short: power cuts of real file systems lose nothing; see tests/proofs/cuts.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof_folders import quick  # noqa: F401
from proofs import cuts

from graphio.storage import files

TRIALS = 4


@pytest.mark.parametrize("mode", cuts.MODES)
def test_a_power_cut_loses_nothing_that_was_acknowledged(mode: str, quick_folder: Path) -> None:
    trouble = cuts.why_not("xfs" if "xfs" in mode else "ext4")
    if trouble:
        pytest.skip(trouble)
    result = cuts.MODES[mode].run(1, TRIALS, quick_folder)
    assert result.counts["cuts"] == TRIALS
    assert bool(result.lost) == cuts.MODES[mode].control, result.lost


def test_a_file_system_that_has_shut_itself_down_is_no_success(quick_folder: Path) -> None:
    """The fsync of a folder of XFS says yes then."""
    if trouble := cuts.why_not("xfs"):
        pytest.skip(trouble)
    disk = cuts.Disk("xfs", quick_folder)
    with disk.mounted() as point:
        (point / "new").touch()
        disk.shut_down(cuts.FLAGS["log lost"])
        with pytest.raises(OSError, match="write the folder"):
            files.sync_folder(files.SYSTEM, str(point))
