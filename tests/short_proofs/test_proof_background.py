"""Proof R24 in short: saves in the background."""

from __future__ import annotations

from pathlib import Path

import engines
import pytest
from proofs import background


@pytest.mark.parametrize(("mode", "count"), [("moments", 8), ("failures", 40), ("memory", 2)])
def test_a_save_in_the_background_keeps_its_promises(mode: str, count: int, tmp_path: Path) -> None:
    engines.module("cinfer")
    found = getattr(background, mode)(1, count, tmp_path)
    assert found.lost == []
    assert found.counts["saves"] == count
    assert mode != "failures" or found.counts["failed calls"] > 10
