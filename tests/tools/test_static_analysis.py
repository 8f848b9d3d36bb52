"""tools/static_analysis.py: what it reads of compilers' files, and that it finds what it is for."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import static_analysis


def node(name: str, frame: int, kind: str = "static") -> str:
    position = f"{name}\\ncinfer/src/x.c:1:2\\n{frame} bytes ({kind})\\n0 dynamic objects"
    return f'node: {{ title: "cinfer/cinfer.c:{name}" label: "{position}" }}\n'


def edge(caller: str, called: str) -> str:
    names = f'sourcename: "cinfer/cinfer.c:{caller}" targetname: "cinfer/cinfer.c:{called}"'
    return f"edge: {{ {names} }}\n"


def stack_of(graph: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    functions = static_analysis.read_call_graph(graph)
    monkeypatch.setattr(static_analysis, "call_graph", lambda: functions)
    monkeypatch.setattr(static_analysis, "ENTRIES", ("main",))
    monkeypatch.setattr(static_analysis, "RECURSIONS", [])
    return [finding.text for finding in static_analysis.stack()]


def test_the_deepest_stack_is_the_longest_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = (
        node("main", 100) + node("a", 20) + node("b", 30) + edge("main", "a") + edge("main", "b")
    )
    assert stack_of(graph + node("c", 1000) + edge("b", "c"), monkeypatch) == []
    assert "main takes at most 1,130 bytes" in capsys.readouterr().out


def test_a_large_frame_and_one_without_bound_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = node("main", 2049) + node("grows", 8, "dynamic") + edge("main", "grows")
    large, dynamic = stack_of(graph, monkeypatch)
    assert large.startswith("main has 2049 bytes") and dynamic.startswith("grows has 8 bytes")


def test_functions_that_call_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = "".join(node(name, 8) for name in ("main", "a", "b")) + edge("main", "a")
    found = stack_of(graph + edge("a", "b") + edge("b", "a"), monkeypatch)
    assert found == ["a, b call each other without a known bound"]


def test_each_finding_needs_a_reason_and_each_reason_a_finding() -> None:
    (step, check, path), _ = next(iter(static_analysis.reasons().items()))
    known = static_analysis.Finding(check, path, 1, "known")
    other = static_analysis.Finding("-Wother", path, 1, "other")
    rows = [key for key in static_analysis.reasons() if key[0] == step]
    left = static_analysis.judged(step, [known, other], complete=True)
    assert other in left and known not in left
    assert len(left) == 1 + len(rows) - 1


def test_operators_pointers_lead_to_functions_that_there_are() -> None:
    kernels = static_analysis.ROOT / "cinfer/src/kernels"
    sources = "".join(path.read_text() for path in kernels.glob("*/*.c"))
    for prefix in static_analysis.INDIRECT.values():
        assert f"ci_status {prefix}" in sources, prefix


def test_a_value_that_another_file_may_leave_unset_is_found_when_files_are_linked_as_one(
    tmp_path: Path,
) -> None:
    """Neither file alone has a warning."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    prototype = (
        "int get(int which, int *value);\n"
        '__attribute__((visibility("default"))) int use(int which);\n'
    )
    (tmp_path / "get.c").write_text(
        f"{prototype}int get(int which, int *value) {{\n"
        "  if (which > 7) return 1;\n  *value = which;\n  return 0;\n}\n"
    )
    (tmp_path / "use.c").write_text(
        f"{prototype}int use(int which) {{\n  int value;\n"
        "  (void)get(which, &value);\n  return value;\n}\n"
    )
    parts = [tmp_path / "get.c", tmp_path / "use.c"]
    assert static_analysis.linked("gcc", [], parts) == []
    found = static_analysis.linked("gcc", ["-flto=auto"], parts)
    assert [(one.check, Path(one.path).name) for one in found] == [
        ("-Wmaybe-uninitialized", "use.c")
    ]
