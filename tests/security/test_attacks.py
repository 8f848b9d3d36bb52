"""Untrusted files: every named attack, and a share of the generated ones, in both engines.

docs/security.md: S1, S3, S6, S7, S8, S10, S11.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from attacks import graphs, values, wire  # noqa: F401 - they register attacks
from attacks.changes import attacks as attacks_of
from attacks.named import ANSWERED, NAMED, REFUSED, Named
from attacks.subjects import subjects
from engines import module
from folders import TESTS

from graphio.support import errors

CASES = [
    pytest.param(attack, engine, id=f"{attack.name}-{engine}")
    for attack in NAMED.values()
    for engine in attack.engines
]
SECTIONS = {
    "size arithmetic", "counts", "element types", "indices", "division", "missing parts",
    "aliasing", "recursion", "resource exhaustion",
}  # fmt: skip


CAPACITY = 1 << 32  # bytes that a run may take: the Python runtime has no limit


@contextlib.contextmanager
def little_memory() -> Iterator[None]:
    """Limits the process's further memory: a request for all memory is refused and not killed."""
    resource = pytest.importorskip("resource", reason="POSIX systems limit memory")
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        pytest.skip("only Linux tells how much memory a process has")
    pages = int(statistics.read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + CAPACITY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def outcome(attack: Named, engine: str) -> tuple[str, str]:
    """The kind of outcome, and the message."""
    try:
        with little_memory():
            signature = module(engine).load(attack.file()).signature()
            signature.run(list(attack.feeds.values()))
    except errors.OpError as error:
        return REFUSED, error.message
    return ANSWERED, ""


def test_every_class_of_attack_has_its_named_ones() -> None:
    assert {attack.section for attack in NAMED.values()} == SECTIONS
    assert len(NAMED) >= 150


@pytest.mark.parametrize(("attack", "engine"), CASES)
def test_a_named_attack_ends_as_it_must_and_the_message_names_the_position(
    attack: Named, engine: str
) -> None:
    ends, message = outcome(attack, engine)
    assert ends == attack.ends, message
    assert re.search(attack.words, message, re.DOTALL), message


def test_every_operator_attribute_and_input_is_attacked() -> None:
    for (_, op), found in subjects().items():
        names = defaultdict(set)
        for subject in found:
            for each in attacks_of(subject):
                names[each.name.split(" ")[0]].add(each.kind)
        for attribute, spec in found[0].row.attributes.items():
            assert {"missing", "wrong kind", spec.kind} <= names[attribute], (op, attribute)
        most = max(len(subject.node.input) for subject in found)
        assert most == 0 or "missing" in names["input"], op
        assert sum(map(len, names.values())) >= 6, op


@pytest.mark.parametrize(("attacks", "share"), [("generated", "150"), ("empty", "60")])
def test_a_share_of_the_attacks_ends_the_same_in_both_engines(attacks: str, share: str) -> None:
    pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    pytest.importorskip("resource", reason="the attacks limit memory as POSIX systems do")
    command = [sys.executable, "-m", f"attacks.{attacks}", "--share", share]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TESTS)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    count = re.search(r"^(\d+) attacks, 0 findings", done.stdout, re.MULTILINE)
    assert count is not None and int(count[1]) > 300, done.stdout[-1000:]
