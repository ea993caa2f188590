"""The floating-point types a model can be exported in."""

from dataclasses import dataclass

import ml_dtypes
import numpy as np
from onnx import TensorProto


@dataclass(frozen=True)
class FloatType:
    """A compute type: its ONNX code, its numpy type, and the most negative finite value (the exporters' mask fill)."""

    name: str
    onnx: int
    numpy: np.dtype
    lowest: float


FLOAT_TYPES = {
    "fp32": FloatType("fp32", TensorProto.FLOAT, np.dtype(np.float32), float(np.finfo(np.float32).min)),
    "fp16": FloatType("fp16", TensorProto.FLOAT16, np.dtype(np.float16), -65504.0),
    "bf16": FloatType(
        "bf16", TensorProto.BFLOAT16, np.dtype(ml_dtypes.bfloat16), float(ml_dtypes.finfo(ml_dtypes.bfloat16).min)
    ),
}

ONNX_OF_NUMPY = {
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.bool_): TensorProto.BOOL,
    **{t.numpy: t.onnx for t in FLOAT_TYPES.values()},
}
