"""S16: reading executes, imports and unpickles nothing, whatever names a file has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import folders
import loaded_formats
import pytest

Found = dict[str, tuple[dict[str, str], list[str]]]
#: names that would do something if they were more than data
NAMES = {
    "a call": "__import__('os').system('touch ran')",
    "a function": "os.system",
    "a module": "antigravity",
    "of ours": "graphio.evil",
    "a library": "./evil.so",
    "a template": "{{7*7}}${7*7}%s%n",
}
#: the files with a plain name that cannot be read, and why
REFUSED = {
    "ONNX": "operator benign_name.benign_name is not",
    "a GraphDef": "calls the function 'benign_name'",
    "a SavedModel": "graphio does not read the operator benign_name",
    "safetensors": "has the dtype 'benign_name'",
    "Hugging Face": "has the dtype 'benign_name'",
    ".npz": "pickled Python objects, which are never read",
    ".npy": "pickled Python objects, which are never read",
    "torch.save, a call": "nothing from a file is imported or executed",
    "torch.save, a global": "nothing from a file is imported or executed",
    "Hugging Face, a bad index": "which its index names, is missing",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Of each name what came of every reader, and what Python did meanwhile."""
    folder = tmp_path_factory.mktemp("formats")
    for what, name in NAMES.items():
        loaded_formats.written(folder / what, name)
    done = subprocess.run(
        [sys.executable, loaded_formats.__file__, str(folder)],
        cwd=folder, env=folders.environment(), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(Path(folder).rglob("ran")) and not Path("/tmp/graphio_was_here").exists()
    outcomes: Found = json.loads(done.stdout)
    return outcomes


def test_plain_names_are_read(found: Found) -> None:
    outcomes, _ = found["benign"]
    assert outcomes.keys() == loaded_formats.READERS.keys()
    assert {what for what, text in outcomes.items() if text} == REFUSED.keys()
    for what, text in REFUSED.items():
        assert text in outcomes[what]


@pytest.mark.parametrize("name", ["benign", *NAMES])
def test_reading_does_nothing_but_open_files(name: str, found: Found) -> None:
    outcomes, events = found[name]
    assert len(outcomes) == len(loaded_formats.READERS) and not events


def test_the_watch_sees_what_is_forbidden(
    found: Found,
) -> None:
    _, events = found["forbidden"]
    kinds = {event.split(" ")[0] for event in events}
    assert kinds >= {"import", "exec", "compile", "open", "pickle.find_class", "os.system"}
