"""ARCHITECTURE.md and the heads of the packages name files that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = next(
    folder for folder in Path(__file__).resolve().parents if (folder / "pyproject.toml").exists()
)
PACKAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for top in ("graphio", "runtime")
    for path in (ROOT / top).rglob("__init__.py")
    if path != ROOT / "graphio" / "__init__.py"
)
#: a line of a head that names modules: four spaces, names, at least two spaces, what they hold
ROW = re.compile(r"^    (\w+/?(?:, \w+/?)*)  +\S", re.MULTILINE)


def head(package: str) -> str:
    return ast.get_docstring(ast.parse((ROOT / package).read_text()), clean=False) or ""


def test_the_architecture_is_described_in_at_most_900_words() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().split()) <= 900


def test_every_path_in_the_architecture_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`((?:graphio|runtime|cinfer|schema|tests|docs)/[^`]*)`", text)
    assert len(named) > 20
    assert [name for name in named if not any(ROOT.glob(re.sub(r"<\w+>", "*", name)))] == []


def test_the_architecture_names_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    packages = [p.parent.name for p in (ROOT / "graphio").glob("*/__init__.py")]
    folders = [p.name for p in (ROOT / "cinfer/src").glob("*/")]
    assert [name for name in packages + folders if f"`{name}`" not in text] == []


@pytest.mark.parametrize(
    "package", [p for p in PACKAGES if p.count("/") == 2 and p.startswith("graphio/")]
)
def test_a_package_says_what_it_may_import(package: str) -> None:
    assert re.search(r"\bmay import\b", head(package), re.IGNORECASE), head(package)


def test_the_modules_that_heads_name_exist() -> None:
    missing, found = [], 0
    for package in PACKAGES:
        folder = (ROOT / package).parent
        for row in ROW.finditer(head(package)):
            for name in row[1].split(", "):
                found += 1
                if not ((folder / name.rstrip("/")).is_dir() or any(folder.glob(f"{name}.*"))):
                    missing.append(f"{package}: {name}")
    assert missing == []
    assert found > 100
