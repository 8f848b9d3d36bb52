"""Attacks: untrusted input in model files and in feeds (docs/security.md).

Generated ones: `subjects.py` has valid models of every operator, `changes.py` what is done to them,
`generated.py` runs all of it in both engines. Named ones: a builder each, in `wire.py` (bytes),
`tensors.py`, `graphs.py` and `values.py` (runs); tests/security/test_attacks.py runs them.
"""

import sys
from pathlib import Path

SUPPORT = str(Path(__file__).resolve().parent.parent / "support")
if SUPPORT not in sys.path:  # `python -m` knows the folder tests alone
    sys.path.append(SUPPORT)
