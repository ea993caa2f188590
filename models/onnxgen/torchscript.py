"""Spellings of the TorchScript exporter (torch.onnx.export with dynamo=False), opsets 11 to 17."""

import math

import numpy as np
from onnx import TensorProto

from .dtypes import ONNX_OF_NUMPY
from .exporter import Dim, Exporter, Extents

INT64_MAX = 2**63 - 1


class TorchScript(Exporter):
    """Literals are Constant nodes; every `.size()` of the traced Python code becomes its own Shape and Gather."""

    def constant(self, value: np.ndarray) -> str:
        return self.graph.constant_node(value)

    def buffer(self, name: str, value: np.ndarray) -> str:
        return self.constant(value)  # buffers that the trace slices are constants to it

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
        shape = self.op("Reshape", self.shape_vector(dims), self.ints(-1))
        ones = self.op("ConstantOfShape", self.op("Shape", shape), value=_vector(1, np.int64))
        minus_ones = self.op("Mul", ones, self.int_scalar(-1))
        return self.op("Expand", value, self.op("Where", self.op("Equal", shape, minus_ones), ones, shape))

    def rows_at(self, x: str, columns: str, ids: Extents) -> str:
        """symbolic_opset11.index with two index tensors: Gather on the flattened value, then two Reshapes."""
        batch = self.dim_as_scalar(Extents(self, x).batch)
        rows = self.op("Range", self.int_scalar(0), self.cast(batch, TensorProto.INT64), self.int_scalar(1))
        shape = self.op("Shape", x)
        length, width = (self.op("Gather", shape, self.ints(axis), axis=0) for axis in (1, 2))
        flat = self.op("Flatten", x, axis=2)
        index = self.op("Add", columns, self.op("Mul", rows, length))
        taken = self.op("Gather", flat, index, axis=0)
        index_shape = self.op("Shape", index)
        taken = self.op("Reshape", taken, self.op("Concat", self.ints(-1), width, axis=0))
        return self.op("Reshape", taken, self.op("Concat", index_shape, width, axis=0))

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

    def to_rank_four(self, mask: str) -> str:
        return self.unsqueeze(self.unsqueeze(mask, 1), 2)

    def _inverted_as_bool(self, inverted: str) -> str:
        # `.to(torch.bool)` and masked_fill's own conversion: the exporter does not merge them.
        return self.cast(self.cast(inverted, TensorProto.BOOL), TensorProto.BOOL)

    def causal_mask(self, ids: Extents) -> str:
        """transformers' AttentionMaskConverter._make_causal_mask, traced: full(finfo.min), zero where column < row + 1.

        The odd arithmetic (s + (s - s), the length read back from the filled matrix) is in the traces.
        """
        with self.scope("mask"):
            sequence = self.dim_as_scalar(ids.sequence)
            past = self.op("Sub", sequence, sequence)
            full = self._full(self.shape_vector((ids.sequence, ids.sequence)), self.dtype.lowest)
            length = self.cast(self._last_extent(full), TensorProto.INT64)
            columns = self.op("Range", self.int_scalar(0), length, self.int_scalar(1))
            rows = self.op("Add", columns, self.int_scalar(1))
            rows = self.reshape(rows, (self._last_extent(full), 1))
            allowed = self.cast(self.op("Less", columns, rows), TensorProto.BOOL)
            mask = self.to_compute_type(self.op("Where", allowed, self.scalar(0.0), full))
            mask = self.unsqueeze(self.unsqueeze(mask, 0), 1)
            return self.expand(mask, (ids.batch, 1, ids.sequence, self.op("Add", sequence, past)))

    def _last_extent(self, value: str) -> str:
        """`value.size(-1)`, int64 scalar: Slice of the Shape, Squeeze."""
        last = self.op("Slice", self.op("Shape", value), self.ints(-1), self.ints(INT64_MAX), self.ints(0))
        return self.squeeze(last, 0)

    def _full(self, shape: str, value: float) -> str:
        """ConstantOfShape of the compute type; it takes no bfloat16 before opset 20, so that goes through fp32."""
        is_bfloat = self.dtype.onnx == TensorProto.BFLOAT16
        filled = self.op("ConstantOfShape", shape, value=_vector(value, np.float32 if is_bfloat else self.dtype.numpy))
        return self.to_compute_type(filled) if is_bfloat else filled

    # --- attention --------------------------------------------------------------------------------------------------

    def attention(self, query, key, value, layout, mask):
        if self.form.attention == "sdpa":
            return self._sdpa(query, key, value, layout, mask)
        if layout.style == "distilbert":
            return self._eager_distilbert(query, key, value, layout, mask)
        if layout.style == "clip":
            eager = self._bmm_clip if self._uses_bmm else self._eager_clip
            return eager(query, key, value, layout, mask)
        return self._eager_bert(query, key, value, layout, mask)

    @property
    def _uses_bmm(self) -> bool:
        """Two generations of eager CLIP; the old one is what exports of Stable Diffusion 1.5 contain (opset 14)."""
        return self.form.attention == "eager" and self.form.opset < 17

    def _projected_heads(self, query, key, value, layout) -> tuple[str, str, str]:
        """q and v [b, H, s, d], k [b, H, d, s]: the exporter merges the two Transposes of k."""
        query, value = (self.split_heads(x, layout) for x in (query, value))
        return query, self.split_heads(key, layout, perm=(0, 2, 3, 1)), value

    def _eager_bert(self, query, key, value, layout, mask):
        """BertSelfAttention: softmax(q k^T / sqrt(d) + mask) v; the context's extents are read again for the merge."""
        query, key, value = self._projected_heads(query, key, value, layout)
        scores = self.op("Div", self.op("MatMul", query, key), self.scalar(math.sqrt(layout.size)))
        probabilities = self.softmax(self.op("Add", scores, mask))
        context = self.op("Transpose", self.op("MatMul", probabilities, value), perm=[0, 2, 1, 3])
        extents = Extents(self, context)
        return self.reshape(context, (extents.batch, extents.sequence, layout.width))

    def _eager_distilbert(self, query, key, value, layout, mask):
        """MultiHeadSelfAttention of DistilBERT: q is scaled, scores are filled where `mask` (bool [b, s]) is set.

        Reshape, Expand(Shape(scores)), Cast, Where. The filling is -inf in optimum-onnx's committed opset-11 export and
        finfo.min since transformers 4.5x.
        """
        query, key, value = self._projected_heads(query, key, value, layout)
        query = self.op("Div", query, self.scalar(math.sqrt(layout.size)))
        scores = self.op("MatMul", query, key)
        padding = self.reshape(mask, (layout.extents.batch, 1, 1, layout.extents.sequence))
        padding = self.cast(self.op("Expand", padding, self.op("Shape", scores)), TensorProto.BOOL)
        filling = -math.inf if self.form.opset < 13 else self.dtype.lowest
        probabilities = self.softmax(self.op("Where", padding, self.scalar(filling), scores))
        return self.merge_heads(self.op("MatMul", probabilities, value), layout)

    def _eager_clip(self, query, key, value, layout, mask):
        """CLIP's eager_attention_forward since transformers 4.48: scores * scale + mask, softmax in fp32."""
        query, key, value = self._projected_heads(query, key, value, layout)
        scores = self.op("Mul", self.op("MatMul", query, key), self.scalar(layout.size**-0.5))
        scores = self.op("Add", scores, mask)
        if self.dtype.onnx != TensorProto.FLOAT:
            scores = self.cast(scores, TensorProto.FLOAT)
        # softmax(dtype=float32) and .to(query.dtype) each leave a Cast, of no effect in fp32.
        probabilities = self.to_compute_type(self.cast(self.softmax(scores), TensorProto.FLOAT))
        return self.merge_heads(self.op("MatMul", probabilities, value), layout)

    def _bmm_clip(self, query, key, value, layout, mask):
        """CLIPAttention before transformers 4.48: q scaled, everything through [b*H, s, d] and bmm."""
        batch, sequence = layout.extents.batch, layout.extents.sequence
        query = self.op("Mul", query, self.scalar(layout.size**-0.5))
        flat = (-1, sequence, layout.size)
        query, key, value = (self.reshape(self.split_heads(x, layout), flat) for x in (query, key, value))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 2, 1]))
        scores = self.op("Add", self.reshape(scores, (batch, layout.heads, sequence, sequence)), mask)
        scores = self.reshape(scores, (-1, sequence, sequence))
        probabilities = self.op("Softmax", scores, axis=2 if self.form.opset < 13 else -1)
        context = self.op("MatMul", probabilities, value)
        return self.merge_heads(self.reshape(context, (batch, layout.heads, sequence, layout.size)), layout)

    def _merged_dims(self, context, layout):
        """CLIP takes even the width from the traced input, `b, s, h = hidden_states.shape`."""
        dims = super()._merged_dims(context, layout)
        if layout.style != "clip" or self._uses_bmm or isinstance(layout.extents.batch, int):
            return dims
        return (*dims[:2], layout.extents.traced_width)

    def _sdpa(self, query, key, value, layout, mask):
        """symbolic_opset14.scaled_dot_product_attention: both factors are scaled by the square root of the scale."""
        query, value = (self.split_heads(x, layout) for x in (query, value))
        key = self.reshape(key, layout.split_dims)
        mask = self._mask_of_keys(key, layout, mask)
        key = self.op("Transpose", key, perm=[0, 2, 3, 1])
        query, key = (self.op("Mul", x, root) for x, root in zip((query, key), self._scale_roots(query, layout)))
        scores = self.op("Add", self.op("MatMul", query, key), mask)
        return self.merge_heads(self.op("MatMul", self.softmax(scores), value), layout)

    def _mask_of_keys(self, key: str, layout, mask: str) -> str:
        """`attention_mask[:, :, :, :key.shape[-2]]` of CLIP's sdpa_attention_forward, which cuts off nothing.

        key: [b, s, H, d] before its Transpose to [b, H, s, d], which stays for the sake of its shape.
        """
        if layout.style != "clip" or None not in self.extents.values():
            return mask
        shape = self.op("Shape", self.op("Transpose", key, perm=[0, 2, 1, 3]))
        length = self.op("Gather", shape, self.int_scalar(2), axis=0)
        return self.op("Slice", mask, self.ints(0), self.unsqueeze(length, 0), self.ints(3), self.ints(1))

    def _scale_roots(self, query: str, layout) -> tuple[str, str]:
        """d^-1/4 twice. CLIP passes the scale, so that it folds; otherwise it comes from the shape of q at run time."""
        if layout.style == "clip" or None not in self.extents.values():
            return self.scalar(layout.size**-0.25), self.scalar(layout.size**-0.25)
        last = self.op("Slice", self.op("Shape", query), self.ints(-1), self.ints(INT64_MAX))
        one = self.constant(np.array([1.0], self.dtype.numpy))
        scale = self.to_compute_type(self.op("Div", one, self.op("Sqrt", self.to_compute_type(last))))
        return self.op("Sqrt", scale), self.op("Sqrt", scale)


def _vector(value: float, dtype) -> TensorProto:
    """The one-element tensor that ConstantOfShape takes as attribute."""
    array = np.array([value], dtype)
    return TensorProto(dims=[1], data_type=ONNX_OF_NUMPY[array.dtype], raw_data=array.tobytes())
