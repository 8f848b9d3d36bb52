"""Models of networks that the onnx package brings along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

Array = np.ndarray[Any, Any]
FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def bundled(name: str) -> tuple[Path, Array]:
    """The model's file and the output that the package expects."""
    path = FOLDER / f"light_{name}.onnx"
    if not path.exists():
        pytest.skip("this onnx package has no models")
    stored = path.with_name(f"light_{name}_output_0.pb").read_bytes()
    return path, numpy_helper.to_array(onnx.TensorProto.FromString(stored))
