"""docs/command-line.md has what the commands print."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from folders import ROOT


def test_the_page_has_what_the_commands_print(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    spec = importlib.util.spec_from_file_location("page", ROOT / "tools" / "command_line_page.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    made, kept = tool.page(tmp_path), (ROOT / "docs" / "command-line.md").read_text()
    for section in tool.SECTIONS:
        for step in section.steps:
            begin = f"```\n$ graphio {step.words}\n"
            blocks = [text.partition(begin)[2].partition("\n```")[0] for text in (made, kept)]
            if step.varies:
                blocks = [re.sub(r"[0-9.,]+", "#", block.split("\n")[0]) for block in blocks]
            assert blocks[0] == blocks[1] and blocks[0], step.words
    assert (tmp_path / "digits.svg").read_text() == (ROOT / "docs" / "digits.svg").read_text()
