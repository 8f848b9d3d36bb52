"""Fuzzing: targets that are handed bytes, what changes these bytes, and what was found."""

import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parent.parent / "support")
if SUPPORT not in sys.path:  # `python -m` knows the folder tests alone
    sys.path.append(SUPPORT)
