"""Proof R22 in short (R23 is test_restore_trees.py): differences are reported, nothing is set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import pytest
from proofs import restores


def test_every_difference_is_reported_at_once_and_nothing_is_assigned(tmp_path: Path) -> None:
    engines.module("cinfer")
    found = restores.differences(1, 25, tmp_path)
    assert found.lost == []
    assert found.counts["restores"] == 25 * len(restores.READERS)
    assert found.counts["differences"] > 50


def test_random_trees_have_a_slice(tmp_path: Path) -> None:
    found = restores.trees(1, 5, tmp_path)
    assert (found.lost, found.counts) == ([], {"trees": 5})


def test_a_reader_that_tells_nothing_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""

    def silent(graph: restores.Table) -> Any:
        return restores.by_state("runtime", graph)[0], lambda prefix: None

    monkeypatch.setattr(restores, "READERS", {"silent": silent})
    assert len(restores.differences(1, 3, tmp_path).lost) == 3
