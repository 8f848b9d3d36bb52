"""How the gradients of samples reach a distribution's parameters."""

from __future__ import annotations

__all__ = ["FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "ReparameterizationType"]


class ReparameterizationType:
    """A kind of samples: the two that exist are compared by identity.

    Args:
        rep_type: its name.
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


#: samples have gradients by all parameters
FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
#: samples have no gradients by some of the parameters
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")
