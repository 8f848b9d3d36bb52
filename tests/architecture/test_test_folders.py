"""The folders of the tests: each file is in one, none is crowded, and no name is there twice."""

from __future__ import annotations

from collections import Counter

from folders import TESTS

FILES = list(TESTS.rglob("test_*.py"))


def test_only_what_all_tests_share_is_outside_of_the_folders() -> None:
    assert {path.name for path in TESTS.glob("*.*") if path.is_file()} == {
        "README.md",
        "conftest.py",
    }


def test_no_folder_of_tests_has_more_than_35_files() -> None:
    folders = {path.parent for path in FILES}
    counts = {str(f.relative_to(TESTS)): sum(p.is_file() for p in f.iterdir()) for f in folders}
    assert len(counts) > 20 and {name: n for name, n in counts.items() if n > 35} == {}


def test_the_name_of_a_test_file_or_a_helper_is_unique() -> None:
    """They are modules without packages."""
    names = Counter(path.name for path in (*FILES, *(TESTS / "support").glob("*.py")))
    assert [name for name, count in names.items() if count > 1] == []
