"""Spellings of the TorchScript exporter (torch.onnx.export with dynamo=False), opsets 11 to 17."""

import math

import numpy as np
from onnx import TensorProto

from .dtypes import ONNX_OF_NUMPY
from .exporter import Dim, Exporter

INT64_MAX = 2**63 - 1


class TorchScript(Exporter):
    """Literals are Constant nodes; every `.size()` of the traced Python code becomes its own Shape and Gather."""

    def constant(self, value: np.ndarray) -> str:
        return self.graph.constant_node(value)

    def _runtime_dim(self, value: str, axis: int, extent: str) -> str:
        return self.op("Gather", self.op("Shape", value), self.int_scalar(axis), axis=0)

    def dim_as_vector(self, dim: Dim) -> str:
        return self.ints(dim) if isinstance(dim, int) else self.unsqueeze(dim, 0)

    def dim_as_scalar(self, dim: Dim) -> str:
        return self.int_scalar(dim) if isinstance(dim, int) else dim

    def expand(self, value: str, dims) -> str:
        """symbolic_opset9.expand lets -1 mean "keep": Where(Equal(shape, -1), 1, shape), with -1 made by arithmetic."""
        if all(isinstance(d, int) for d in dims):
            return super().expand(value, dims)
        shape = self.shape_vector(dims)
        ones = self.op("ConstantOfShape", self.ints(len(dims)), value=_vector(1, np.int64))
        minus_ones = self.op("Mul", ones, self.int_scalar(-1))
        return self.op("Expand", value, self.op("Where", self.op("Equal", shape, minus_ones), ones, shape))

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        product = self.matmul(x, name, inputs, outputs)
        return self.op("Add", self.bias(name, outputs), product)  # bias first: aten::add(bias, matmul)

    def layer_norm(self, x: str, name: str, width: int, eps: float) -> str:
        if self.form.has_layer_norm_op:
            return super().layer_norm(x, name, width, eps)
        scale, shift = self.norm_parameters(name, width)
        return self.op("Add", self.op("Mul", self._normalised(x, eps), scale), shift)

    def _normalised(self, x: str, eps: float) -> str:
        """symbolic_opset9.native_layer_norm: in fp16 the part from the square on is done in fp32."""
        centred = self.op("Sub", x, self.reduce_mean_last(x))
        is_half = self.dtype.onnx == TensorProto.FLOAT16
        if is_half:
            centred = self.cast(centred, TensorProto.FLOAT)
        literal = (lambda v: self.constant(np.array(v, np.float32))) if is_half else self.scalar
        variance = self.reduce_mean_last(self.op("Pow", centred, literal(2.0)))
        deviation = self.op("Sqrt", self.op("Add", variance, literal(eps)))
        normalised = self.op("Div", centred, deviation)
        return self.to_compute_type(normalised) if is_half else normalised

    # --- masks ------------------------------------------------------------------------------------------------------

    def causal_mask(self, ids: str) -> str:
        """transformers' _make_causal_mask: full(finfo.min), zero where column < row + 1, expand to [b, 1, s, s].

        Literals follow the trace: the shape of ConstantOfShape, Range(0, s, 1), `(arange + 1).view(s, 1)`.
        """
        with self.scope("mask"):
            batch, sequence = self.batch_and_sequence(ids)
            square = self.shape_vector((sequence, sequence))
            full = self._full(square, self.dtype.lowest)
            columns = self.op("Range", self.int_scalar(0), self.dim_as_scalar(sequence), self.int_scalar(1))
            rows = self.reshape(self.op("Add", columns, self.int_scalar(1)), (sequence, 1))
            mask = self.op("Where", self.op("Less", columns, rows), self.scalar(0.0), full)
            return self.expand(self.unsqueeze(self.unsqueeze(mask, 0), 1), (batch, 1, sequence, sequence))

    def _full(self, shape: str, value: float) -> str:
        """ConstantOfShape of the compute type; it takes no bfloat16 before opset 20, so that goes through fp32."""
        is_bfloat = self.dtype.onnx == TensorProto.BFLOAT16
        filled = self.op("ConstantOfShape", shape, value=_vector(value, np.float32 if is_bfloat else self.dtype.numpy))
        return self.to_compute_type(filled) if is_bfloat else filled

    # --- attention --------------------------------------------------------------------------------------------------

    def attention(self, query, key, value, width, heads, mask, style):
        if self.form.attention == "sdpa":
            return self._sdpa(query, key, value, width, heads, mask)
        eager = {"bert": self._eager_bert, "distilbert": self._eager_distilbert, "clip": self._eager_clip}
        return eager[style](query, key, value, width, heads, mask)

    def _eager_bert(self, query, key, value, width, heads, mask):
        """BertSelfAttention: softmax(q k^T / sqrt(d) + mask) v. The two Transposes of k are merged by the exporter."""
        size = width // heads
        query, value = (self.split_heads(x, heads, size) for x in (query, value))
        key = self.split_heads(key, heads, size, perm=(0, 2, 3, 1))
        scores = self.op("Div", self.op("MatMul", query, key), self.scalar(math.sqrt(size)))
        probabilities = self.softmax(self.op("Add", scores, mask))
        return self.merge_heads(self.op("MatMul", probabilities, value), width)

    def _eager_distilbert(self, query, key, value, width, heads, mask):
        """MultiHeadSelfAttention of DistilBERT: q is scaled, and the [b, s] mask is filled in with -inf.

        As in optimum-onnx's committed export: Equal(mask, 0), Reshape, Expand(Shape(scores)), Cast, Where(-inf).
        """
        size = width // heads
        batch, sequence = self.batch_and_sequence(query)
        query, value = (self.split_heads(x, heads, size) for x in (query, value))
        key = self.split_heads(key, heads, size, perm=(0, 2, 3, 1))
        query = self.op("Div", query, self.scalar(math.sqrt(size)))
        scores = self.op("MatMul", query, key)
        padding = self.reshape(self.op("Equal", mask, self.int_scalar(0)), (batch, 1, 1, sequence))
        padding = self.op("Expand", padding, self.op("Shape", scores))
        padding = self.cast(padding, TensorProto.BOOL)
        probabilities = self.softmax(self.op("Where", padding, self.scalar(-math.inf), scores))
        return self.merge_heads(self.op("MatMul", probabilities, value), width)

    def _eager_clip(self, query, key, value, width, heads, mask):
        """CLIPAttention before transformers 4.48: q scaled, everything through [b*H, s, d] and bmm."""
        size = width // heads
        batch, sequence = self.batch_and_sequence(query)
        query = self.op("Mul", query, self.scalar(size**-0.5))
        query, key, value = (self._flat_heads(x, heads, size) for x in (query, key, value))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 2, 1]))
        scores = self.op("Add", self.reshape(scores, (batch, heads, sequence, sequence)), mask)
        scores = self.reshape(scores, (-1, sequence, sequence))
        probabilities = self.op("Softmax", scores, axis=2 if self.form.opset < 13 else -1)
        context = self.op("MatMul", probabilities, value)
        return self.merge_heads(self.reshape(context, (batch, heads, sequence, size)), width)

    def _flat_heads(self, x: str, heads: int, size: int) -> str:
        """[b, s, h] -> [b*H, s, d]."""
        _, sequence = self.batch_and_sequence(x)
        return self.reshape(self.split_heads(x, heads, size), (-1, sequence, size))

    def _sdpa(self, query, key, value, width, heads, mask):
        """symbolic_opset14.scaled_dot_product_attention: both factors are scaled by the square root of the scale."""
        size = width // heads
        query, value = (self.split_heads(x, heads, size) for x in (query, value))
        key = self.split_heads(key, heads, size, perm=(0, 2, 3, 1))
        scale = self._sdpa_scale(query, size)
        query, key = (self.op("Mul", x, self.op("Sqrt", scale)) for x in (query, key))
        scores = self.op("Add", self.op("MatMul", query, key), mask)
        return self.merge_heads(self.op("MatMul", self.softmax(scores), value), width)

    def _sdpa_scale(self, query: str, size: int) -> str:
        """1/sqrt(d) as [1], read from the shape; constant folding removes that when every axis is static."""
        if None not in self.extents.values():
            return self.constant(np.array([size**-0.5], self.dtype.numpy))
        last = self.op("Slice", self.op("Shape", query), self.ints(-1), self.ints(INT64_MAX))
        root = self.op("Sqrt", self.to_compute_type(last))
        one = self.constant(np.array([1.0], self.dtype.numpy))
        return self.to_compute_type(self.op("Div", one, root))


def _vector(value: float, dtype) -> TensorProto:
    """The one-element tensor that ConstantOfShape takes as attribute."""
    array = np.array([value], dtype)
    return TensorProto(dims=[1], data_type=ONNX_OF_NUMPY[array.dtype], raw_data=array.tobytes())
