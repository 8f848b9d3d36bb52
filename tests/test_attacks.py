"""Files of a stranger: every named attack, and a share of the generated ones, in both engines.

docs/security.md: S1, S3, S6, S7, S8, S10, S11.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from attacks import graphs, values, wire  # noqa: F401 - they register attacks
from attacks.named import ANSWERED, NAMED, REFUSED, Named
from engines import module

from graphio.schema import errors

CASES = [
    pytest.param(attack, engine, id=f"{attack.name}-{engine}")
    for attack in NAMED.values()
    for engine in attack.engines
]


def outcome(attack: Named, engine: str) -> tuple[str, str]:
    """How it ends, and what was said."""
    try:
        signature = module(engine).load(attack.file()).signature()
        signature.run(list(attack.feeds.values()))
    except errors.OpError as error:
        return REFUSED, error.message
    return ANSWERED, ""


@pytest.mark.parametrize(("attack", "engine"), CASES)
def test_a_named_attack_ends_as_it_must_and_the_message_names_the_place(
    attack: Named, engine: str
) -> None:
    ends, message = outcome(attack, engine)
    assert ends == attack.ends, message
    assert re.search(attack.words, message, re.DOTALL), message
