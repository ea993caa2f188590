"""Picks the exporter of a form and writes the finished graph with that form's file conventions."""

from pathlib import Path

from .dtypes import FLOAT_TYPES
from .dynamo import Dynamo
from .exporter import Exporter
from .forms import FORMS
from .ort import MICROSOFT, OrtCore, OrtTransformers
from .torchscript import TorchScript
from .weights import ParameterSource

# Declared by ONNX Runtime in every optimised model, used or not; an importer must not demand to know them.
ORT_DOMAINS = {
    MICROSOFT: 1,
    "ai.onnx.ml": 4,
    "ai.onnx.training": 1,
    "ai.onnx.preview.training": 1,
    "com.microsoft.experimental": 1,
    "com.microsoft.nchwc": 1,
    "org.pytorch.aten": 1,
}


def make_exporter(name: str, form: str, dtype: str, parameters: ParameterSource, extents: dict) -> Exporter:
    """An exporter with an empty graph. Raises ValueError when the form cannot carry the type."""
    if not FORMS[form].supports(dtype):
        raise ValueError(f"form '{form}' cannot be written in {dtype} (bf16 needs opset >= 16 and standard operators)")
    families = {"torchscript": TorchScript, "dynamo": Dynamo, "ort": OrtCore}
    family = OrtTransformers if form == "ort" else families[FORMS[form].exporter]
    return family(name, FORMS[form], FLOAT_TYPES[dtype], parameters, extents)


def save(exporter: Exporter, path: Path, external: bool) -> None:
    """Writes the model. External data follow optimum (`<name>.onnx_data`) or torch (`<name>.onnx.data`)."""
    form = exporter.form
    domains = {} if form.is_standard_onnx else ORT_DOMAINS
    suffix = (".data" if form.exporter == "dynamo" else "_data") if external else None
    exporter.graph.save(path, {"": form.opset, **domains}, form.ir_version, suffix)
