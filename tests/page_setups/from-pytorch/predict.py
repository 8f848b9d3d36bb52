import os
import shutil

shutil.copy(f"{os.environ['GRAPHIO_ROOT']}/examples/finetune/digits.onnx", "digits.onnx")
