"""Spellings of torch.onnx's dynamo exporter (torch.export + onnxscript's torchlib), opsets 18 to 23."""

import numpy as np
from onnx import TensorProto

from .exporter import Dim, Exporter


class Dynamo(Exporter):
    """Literals are deduplicated initialisers; extents are read once, by Shape(start, end), and shared (CSE)."""

    naming = "dynamo"

    def __init__(self, *args):
        super().__init__(*args)
        self._extent_values: dict[str, str] = {}

    def constant(self, value: np.ndarray) -> str:
        return self.graph.shared_constant(value, "val_")

    def folded_name(self, name: str) -> str:
        return f"{name}.weight_transposed"

    def _runtime_dim(self, value: str, axis: int, extent: str) -> str:
        if extent not in self._extent_values:
            self._extent_values[extent] = self.op("Shape", value, start=axis, end=axis + 1)
        return self._extent_values[extent]

    def dim_as_vector(self, dim: Dim) -> str:
        return self.ints(dim) if isinstance(dim, int) else dim

    def dim_as_scalar(self, dim: Dim) -> str:
        return self.int_scalar(dim) if isinstance(dim, int) else self.squeeze(dim, 0)

    def linear(self, x: str, name: str, inputs: int, outputs: int) -> str:
        return self.op("Add", self.matmul(x, name, inputs, outputs), self.bias(name, outputs))

    def gelu(self, x: str) -> str:
        """torchlib: Gelu from opset 20 on; before, Div, Erf, Add 1, Mul 0.5, Mul x."""
        if self.form.opset >= 20:
            return self.op("Gelu", x, approximate="none")
        erf = self.op("Erf", self.op("Div", x, self.scalar(1.4142135623730951)))
        return self.op("Mul", x, self.op("Mul", self.scalar(0.5), self.op("Add", erf, self.scalar(1.0))))

    # --- masks: transformers.masking_utils, where query and key positions are compared -------------------------------

    def _positions(self, extent: Dim, *axes: int) -> str:
        """arange(extent), unsqueezed to rank 4."""
        values = self.op("Range", self.int_scalar(0), self.dim_as_scalar(extent), self.int_scalar(1))
        return self.unsqueeze(values, *axes)

    def _boolean_padding_mask(self, mask: str) -> str:
        """bidirectional_mask(q) AND mask[b_idx, kv_idx] -> bool [b, 1, s, s]; advanced indexing becomes GatherND."""
        batch, sequence = self.batch_and_sequence(mask)
        everywhere = self.op("GreaterOrEqual", self._positions(sequence, 0, 1, 3), self.int_scalar(0))
        shape = (batch, 1, 1, sequence)
        indices = (self._positions(batch, 1, 2, 3), self._positions(sequence, 0, 1, 2))
        columns = [self.unsqueeze(self.expand(index, shape), 4) for index in indices]
        valid = self.op("GatherND", self.cast(mask, TensorProto.BOOL), self.op("Concat", *columns, axis=-1))
        return self.op("And", everywhere, valid)

    def causal_mask(self, ids: str) -> str:
        """Additive Where for a float mask, boolean otherwise; Attention-23 is causal by attribute and takes none."""
        if self.form.attention == "attention-op":
            return ""
        with self.scope("mask"):
            batch, sequence = self.batch_and_sequence(ids)
            queries, keys = self._positions(sequence, 0, 1, 3), self._positions(sequence, 0, 1, 2)
            allowed = self.expand(self.op("LessOrEqual", keys, queries), (batch, 1, sequence, sequence))
            return allowed if self.form.mask == "bool" else self._lowest_unless(allowed)

    def _lowest_unless(self, allowed: str) -> str:
        return self.op("Where", allowed, self.scalar(0.0), self.scalar(self.dtype.lowest))

    # --- attention --------------------------------------------------------------------------------------------------

    def attention(self, query, key, value, width, heads, mask, style):
        query, key, value = (self.split_heads(x, heads, width // heads) for x in (query, key, value))
        compute = self._attention_op if self.form.attention == "attention-op" else self._sdpa
        return self.merge_heads(compute(query, key, value, width // heads, mask), width)

    def _attention_op(self, query, key, value, size, mask):
        """One Attention-23 on rank-4 values: no head-count attributes; scale always given by transformers."""
        inputs = (query, key, value, mask) if mask else (query, key, value)
        return self.op("Attention", *inputs, scale=size**-0.5, is_causal=int(not mask))

    def _sdpa(self, query, key, value, size, mask):
        """torchlib's aten_scaled_dot_product_attention: k is transposed as [-1, s, d]; both factors * sqrt(scale)."""
        batch, sequence = self.batch_and_sequence(query)
        flat = self.op("Transpose", self.reshape(key, (-1, sequence, size)), perm=[0, 2, 1])
        key = self._restore_heads(flat, key, batch, size, sequence)
        root = self.scalar(size**-0.25)
        scores = self.op("MatMul", self.op("Mul", query, root), self.op("Mul", key, root))
        is_bool = self.form.mask == "bool"
        weights = self.softmax(self.op("Add", scores, self._lowest_unless(mask) if is_bool else mask))
        if is_bool:
            # Rows that attend to nothing must give zeros and not NaN.
            weights = self.op("Where", self.op("IsNaN", weights), self.scalar(0.0), weights)
        return self.op("MatMul", weights, value)

    def _restore_heads(self, flat: str, key: str, batch: Dim, size: int, sequence: Dim) -> str:
        """[b*H, d, s] -> [b, H, d, s]; the leading extents come from Shape(key, end=-2)."""
        if isinstance(batch, int) and isinstance(sequence, int):
            return self.reshape(flat, (batch, -1, size, sequence))
        leading = self.op("Shape", key, start=0, end=-2)
        parts = [leading, self.ints(size), self.dim_as_vector(sequence)]
        return self.op("Reshape", flat, self.op("Concat", *parts, axis=0))
