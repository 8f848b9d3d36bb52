"""Proofs of what docs/reliability.md promises: commands with seeds, counts and a log."""

import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parent.parent / "support")
if SUPPORT not in sys.path:  # `python -m` knows the folder tests alone
    sys.path.append(SUPPORT)
