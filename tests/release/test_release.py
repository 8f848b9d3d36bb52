"""The version is one wherever it stands, the changelog is in order; the check finds what is not."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from folders import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import release


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that the check reads, to be changed."""
    for name in (*release.POSITIONS, release.CHANGELOG):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_the_checkout_is_in_order() -> None:
    assert release.problems(ROOT) == []


@pytest.mark.parametrize("name", list(release.POSITIONS)[1:])
def test_a_version_of_its_own_is_found(name: str, copy: Path) -> None:
    match = release.found(copy, name)
    assert match is not None
    at = match.end(len(match.groups())) - 1
    text = match.string
    (copy / name).write_text(text[:at] + str(int(text[at]) + 1) + text[at + 1 :])
    (problem,) = release.problems(copy)
    assert problem.startswith(f"{name}: version")


@pytest.mark.parametrize("name", release.POSITIONS)
def test_a_position_without_a_version_is_found(name: str, copy: Path) -> None:
    (copy / name).write_text("")
    assert f"{name}: no version found" in release.problems(copy)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ("## 0.0.9 (2026)", "is not '## [1.2.3] - 2030-12-31'"),
        ("## [0.0.9]", "is not '## [1.2.3] - 2030-12-31'"),
        ("## [99.0.0] - 2026-01-01", "99.0.0 is newer"),
        ("## [0.0.1] - 2026-01-01\n## [0.0.2] - 2026-01-02", "0.0.2 is newer"),
        ("### News", "is none of Added"),
    ],
)
def test_a_changelog_out_of_order_is_found(section: str, problem: str, copy: Path) -> None:
    with (copy / release.CHANGELOG).open("a") as file:
        file.write(f"\n{section}\n")
    (found,) = release.problems(copy)
    assert problem in found and found.startswith(f"{release.CHANGELOG}:")


def test_a_version_that_is_described_at_too_great_a_length_is_found(copy: Path) -> None:
    lines = "- An entry.\n" * (release.MOST_LINES - 3)
    with (copy / release.CHANGELOG).open("a") as file:
        file.write(f"\n## [0.0.1] - 2026-01-01\n\n### Fixed\n{lines}")
    assert release.problems(copy) == []
    with (copy / release.CHANGELOG).open("a") as file:
        file.write("- One more.\n")
    (found,) = release.problems(copy)
    assert f"has {release.MOST_LINES + 1} lines, expected at most" in found


def test_a_changelog_needs_a_section_for_what_comes(copy: Path) -> None:
    replace(copy / release.CHANGELOG, release.UNRELEASED, "## [0.0.1] - 2026-01-01")
    assert release.problems(copy) == [
        f"{release.CHANGELOG}: begins with another section than ## [Unreleased]"
    ]


def test_a_release_writes_its_version_everywhere(copy: Path) -> None:
    release.write(copy, "1.20.3", "2031-02-03")
    assert release.problems(copy) == []
    for name in release.POSITIONS:
        match = release.found(copy, name)
        assert match is not None and ".".join(match.groups()) == "1.20.3"
    changelog = (copy / release.CHANGELOG).read_text()
    assert "## [Unreleased]\n\n## [1.20.3] - 2031-02-03\n\n### Added\n" in changelog


def test_the_bill_of_materials_is_valid_and_of_this_version() -> None:
    validators = pytest.importorskip("cyclonedx.validation.json", reason="cyclonedx-bom")
    from cyclonedx.schema import SchemaVersion

    text = (ROOT / "tools" / "graphio-ml.cdx.json").read_text()
    assert validators.JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bom = json.loads(text)
    version = re.search(
        r'graphio_version = "(.+)"', (ROOT / "graphio/support/version.py").read_text()
    )
    assert version is not None
    parts = [bom["metadata"]["component"], *bom["components"]]
    assert {part["name"]: part["version"] for part in parts} == {
        "graphio-ml": version[1],
        "cinfer": version[1],
    }
