"""Engines of others: OpenVINO, LiteRT, ncnn, torch, scikit-learn, tl2cgen."""

from __future__ import annotations

import ctypes
import glob
import os
from pathlib import Path
from typing import Any

import numpy as np

from .engines import Engine, Native, Unfit
from .models import Array, Case, classifier, torch_module

TREES = ("forest", "boosting")


def _options(threads: int) -> dict[str, str]:
    """OpenVINO's for one request at a time in float32; bfloat16 is its default where that runs."""
    return {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": str(threads),
        "INFERENCE_PRECISION_HINT": "f32",
    }


class OpenVino(Engine):
    """OpenVINO from Python, one request used again, results shared."""

    name = "openvino, Python"

    def load(self, case: Case, threads: int) -> None:
        if case.model.family in TREES:
            raise Unfit
        import openvino

        path = os.fspath(case.onnx)
        compiled = openvino.Core().compile_model(path, "CPU", _options(threads))
        self.request = compiled.create_infer_request()
        self.count = len(compiled.outputs)
        for i, array in enumerate(case.inputs.values()):
            self.request.set_input_tensor(i, openvino.Tensor(array, shared_memory=True))

    def call(self) -> None:
        self.request.infer(share_outputs=True)

    def results(self) -> list[Array] | None:
        return [self.request.get_output_tensor(i).data for i in range(self.count)]


class _Shape(ctypes.Structure):
    """ov_shape_t."""

    _fields_ = (("rank", ctypes.c_int64), ("dims", ctypes.POINTER(ctypes.c_int64)))


class OpenVinoC(Native):
    """OpenVINO from C, one request used again."""

    name = "openvino, C"

    def load(self, case: Case, threads: int) -> None:
        if case.model.family in TREES:
            raise Unfit
        import openvino

        folder = os.path.dirname(openvino.__file__)
        self.library = ctypes.CDLL(glob.glob(f"{folder}/libs/libopenvino_c.so*")[0])
        self.core, self.network, self.compiled = (ctypes.c_void_p() for _ in range(3))
        self.argument = ctypes.c_void_p()
        self._do("ov_core_create", ctypes.byref(self.core))
        path = os.fsencode(case.onnx)
        self._do("ov_core_read_model", self.core, path, None, ctypes.byref(self.network))
        options = [text.encode() for pair in _options(threads).items() for text in pair]
        count, compiled = ctypes.c_size_t(len(options)), ctypes.byref(self.compiled)
        self._do(
            "ov_core_compile_model", self.core, self.network, b"CPU", count, compiled, *options
        )
        request = ctypes.byref(self.argument)
        self._do("ov_compiled_model_create_infer_request", self.compiled, request)
        self.function = self.library.ov_infer_request_infer
        self.inputs, self.expected = case.inputs, list(case.expected.values())
        for i, array in enumerate(case.inputs.values()):
            self._set(i, array)

    def _do(self, function: str, *arguments: Any) -> None:
        code = getattr(self.library, function)(*arguments)
        if code:
            raise RuntimeError(f"{function} gave {code}")

    def _set(self, index: int, array: Array) -> None:
        types = {"float32": 4, "int64": 10}  # of ov_element_type_e
        dims = (ctypes.c_int64 * array.ndim)(*array.shape)
        tensor, data = ctypes.c_void_p(), ctypes.c_void_p(array.ctypes.data)
        self._do(
            "ov_tensor_create_from_host_ptr",
            types[array.dtype.name],
            _Shape(array.ndim, dims),
            data,
            ctypes.byref(tensor),
        )
        number = ctypes.c_size_t(index)
        self._do("ov_infer_request_set_input_tensor_by_index", self.argument, number, tensor)

    def results(self) -> list[Array] | None:
        found = []
        for i, expected in enumerate(self.expected):
            tensor, data = ctypes.c_void_p(), ctypes.c_void_p()
            get = "ov_infer_request_get_output_tensor_by_index"
            self._do(get, self.argument, ctypes.c_size_t(i), ctypes.byref(tensor))
            self._do("ov_tensor_data", tensor, ctypes.byref(data))
            kind = ctypes.c_float * expected.size
            flat = np.ctypeslib.as_array(kind.from_address(data.value or 0))
            found.append(flat.reshape(expected.shape).copy())
        return found


class LiteRt(Engine):
    """TFLite's invoke() with the input in place, on the twin that twins.py makes."""

    name = "tflite, Python"

    def load(self, case: Case, threads: int) -> None:
        path = case.stem.with_suffix(".tflite")
        if not path.exists():
            raise Unfit
        from ai_edge_litert.interpreter import Interpreter

        self.interpreter = Interpreter(os.fspath(path), num_threads=threads)
        self.interpreter.allocate_tensors()
        (found,) = self.interpreter.get_input_details()
        (self.out,) = self.interpreter.get_output_details()
        (x,) = case.inputs.values()
        x = np.moveaxis(x, 1, -1) if x.ndim == 4 else x
        x = np.ascontiguousarray(x.reshape(found["shape"]))
        self.interpreter.set_tensor(found["index"], x)
        self.same_weights = case.model.maker == "nodes"

    def call(self) -> None:
        self.interpreter.invoke()

    def results(self) -> list[Array] | None:
        found = self.interpreter.get_tensor(self.out["index"])
        return [found] if self.same_weights else None


class Torch(Engine):
    """torch, eager, in inference mode."""

    name = "torch"

    def load(self, case: Case, threads: int) -> None:
        if case.model.family in TREES:
            raise Unfit
        import torch

        torch.set_num_threads(threads)
        self.mode = torch.inference_mode
        self.inputs = [torch.from_numpy(array) for array in case.inputs.values()]
        self.function = self.prepared(torch_module(case.model, case.onnx))

    def prepared(self, module: Any) -> Any:
        """The module as it is called."""
        return module

    def call(self) -> None:
        with self.mode():
            self.found = self.function(*self.inputs)

    def results(self) -> list[Array] | None:
        found = self.found if isinstance(self.found, tuple) else (self.found,)
        return [tensor.numpy() for tensor in found]


class TorchCompiled(Torch):
    """torch.compile with the weights as constants."""

    name = "torch.compile"

    def prepared(self, module: Any) -> Any:
        import torch
        import torch._inductor.config as config

        config.freezing = True
        return torch.compile(module)


class Ncnn(Engine):
    """ncnn in float32, converted from torch by pnnx."""

    name = "ncnn"
    families = ("tiny", "mlp", "cnn", "lstm", "gru", "mobilenetv2", "resnet50")

    def load(self, case: Case, threads: int) -> None:
        x, recurrent = next(iter(case.inputs.values())), case.model.family in ("lstm", "gru")
        if case.model.family not in self.families or (len(x) > 1 and not recurrent):
            raise Unfit
        import ncnn

        stem = _converted(case)
        self.net = ncnn.Net()
        options = self.net.opt
        options.num_threads = threads
        options.use_fp16_storage = options.use_fp16_packed = options.use_bf16_storage = False
        if self.net.load_param(f"{stem}.ncnn.param") or self.net.load_model(f"{stem}.ncnn.bin"):
            raise RuntimeError("ncnn does not load the model")
        self.input = ncnn.Mat(np.ascontiguousarray(x[:, 0] if recurrent else x[0])).clone()
        (self.expected,) = case.expected.values()

    def call(self) -> None:
        with self.net.create_extractor() as extractor:
            extractor.input("in0", self.input)
            _, self.found = extractor.extract("out0")

    def results(self) -> list[Array] | None:
        return [np.array(self.found).reshape(self.expected.shape)]


def _converted(case: Case) -> Path:
    """Stem of the model's files for ncnn."""
    stem = case.stem.parent / "ncnn" / case.name
    if not Path(f"{stem}.ncnn.param").exists():
        import pnnx
        import torch

        class Named(torch.nn.Module):
            """pnnx writes Python, where the numbers of a Sequential are not names."""

            def __init__(self, net: torch.nn.Module) -> None:
                super().__init__()
                self.net = net

            def forward(self, x: Any) -> Any:
                return self.net(x)

        stem.parent.mkdir(exist_ok=True)
        inputs = tuple(torch.from_numpy(array) for array in case.inputs.values())
        module = Named(torch_module(case.model, case.onnx)).eval()
        pnnx.export(module, f"{stem}.pt", inputs, fp16=False)
    return stem


class ScikitLearn(Engine):
    """scikit-learn itself."""

    name, role = "scikit-learn", "other"

    def load(self, case: Case, threads: int) -> None:
        if case.model.family not in TREES:
            raise Unfit
        self.classifier = classifier(case.model.family)
        if hasattr(self.classifier, "n_jobs"):
            self.classifier.n_jobs = threads
        (self.x,) = case.inputs.values()

    def call(self) -> None:
        self.found = self.classifier.predict_proba(self.x)

    def results(self) -> list[Array] | None:
        return [self.classifier.classes_[self.found.argmax(1)], self.found]


class Tl2cgen(Engine):
    """Trees that treelite and tl2cgen turned into C."""

    name = "tl2cgen"

    def load(self, case: Case, threads: int) -> None:
        if case.model.family not in TREES:
            raise Unfit
        import tl2cgen
        import treelite

        library = case.stem.parent / f"{case.model.family}.tl2cgen.so"
        if not library.exists():
            model = treelite.sklearn.import_model(classifier(case.model.family))
            options = {"parallel_comp": 8}
            path = os.fspath(library)
            tl2cgen.export_lib(model, toolchain="gcc", libpath=path, params=options)
        self.predictor = tl2cgen.Predictor(os.fspath(library), nthread=threads)
        (x,) = case.inputs.values()
        self.rows, self.matrix = len(x), tl2cgen.DMatrix(x)

    def call(self) -> None:
        self.found = self.predictor.predict(self.matrix)

    def results(self) -> list[Array] | None:
        found = self.found.reshape(self.rows, -1)
        return [found.argmax(1), found]
