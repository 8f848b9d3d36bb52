import os
import shutil

os.makedirs("examples/finetune", exist_ok=True)
shutil.copy(f"{os.environ['GRAPHIO_ROOT']}/examples/finetune/digits.onnx", "examples/finetune")
