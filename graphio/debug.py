"""tf.debug: a session that keeps every value of a run, and finds where the first NaN was made;"""

from graphio.observe.debug import (
    DebugDump,
    DebugSession,
    DebugTensor,
    Hit,
    NonFinite,
    Stepper,
    Visit,
    Watch,
    has_inf_or_nan,
    listing,
    watch,
)

__all__ = [
    "DebugDump",
    "DebugSession",
    "DebugTensor",
    "Hit",
    "NonFinite",
    "Stepper",
    "Visit",
    "Watch",
    "has_inf_or_nan",
    "listing",
    "watch",
]
