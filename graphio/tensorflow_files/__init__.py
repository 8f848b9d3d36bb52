"""Files that a real TensorFlow wrote, read without it: frozen graphs and SavedModels.

model = graphio.tensorflow_files.load("exported_model", "cinfer")
scores = model.signature("serving_default")(x=images)["output_0"]
"""

from __future__ import annotations

from graphio.tensorflow_files.conversion import convert, load
from graphio.tensorflow_files.models import Imported, Signature, import_model
from graphio.tensorflow_files.reading import read_graph

__all__ = ["Imported", "Signature", "convert", "import_model", "load", "read_graph"]
