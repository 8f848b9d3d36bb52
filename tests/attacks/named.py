"""The register of named attacks: what section of attacks each belongs to, and how it must end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

REFUSED, ANSWERED = "refused", "answered"


@dataclass(frozen=True)
class Named:
    """One attack.

    Attributes:
        section: the class of attack, as in the table of docs/security.md.
        name: reads as a sentence.
        file: makes the bytes.
        feeds: in the signature's order.
        words: a regular expression that both engines' messages match; "": the model is answered.
        engines: that are attacked here; cinfer/tests/attack.c, which sets limits of memory and
            steps, is attacked with all.
    """

    section: str
    name: str
    file: Callable[[], bytes]
    feeds: Mapping[str, Array] = field(default_factory=dict)
    words: str = ""
    engines: tuple[str, ...] = ("runtime", "cinfer")

    @property
    def ends(self) -> str:
        """Whether it must be refused or answered."""
        return REFUSED if self.words else ANSWERED


NAMED: dict[str, Named] = {}


def add(attack: Named) -> None:
    """Registers one; names are unique."""
    assert attack.name not in NAMED, attack.name
    NAMED[attack.name] = attack
