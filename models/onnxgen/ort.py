"""Graphs as ONNX Runtime's optimisers leave them: com.microsoft operators among standard ones.

`OrtCore` is the C++ optimiser at level "all" (it fuses no attention in these models), `OrtTransformers` the Python tool
onnxruntime.transformers.optimizer. Operator signatures: onnxruntime/docs/ContribOperators.md. Both tools leave
LayerNormalization in the default domain at opset 14, which onnx.checker rejects and onnxruntime accepts.
"""

import numpy as np
from onnx import TensorProto

from .torchscript import TorchScript

MICROSOFT = "com.microsoft"


class OrtCore(TorchScript):
    """Fusions BiasGelu, QuickGelu, FusedMatMul (scale and transposition inside) and FusedGemm."""

    def constant(self, value: np.ndarray) -> str:
        """The optimiser lifts Constant nodes to initialisers and shares equal ones."""
        return self.graph.shared_constant(value, "ortshared_")

    def fused(self, op_type: str, *inputs: str, **attributes):
        return self.op(op_type, *inputs, domain=MICROSOFT, **attributes)

    def linear_2d(self, x, name, inputs, outputs, activation=None):
        if activation is None:
            return super().linear_2d(x, name, inputs, outputs)
        weight = self.parameter(f"{name}.weight", (outputs, inputs), "linear")
        return self.fused("FusedGemm", x, weight, self.bias(name, outputs), transB=1, activation=activation)

    def tied_linear(self, x, table, rows, width, bias_name):
        weight = self.parameter(table, (rows, width), "embedding")
        return self.op("Add", self.fused("FusedMatMul", x, weight, transB=1), self.bias(bias_name, rows))

    def dense_activate(self, x, name, inputs, outputs, kind):
        if kind != "gelu":
            return super().dense_activate(x, name, inputs, outputs, kind)
        return self.fused("BiasGelu", self.matmul(x, name, inputs, outputs), self.bias(name, outputs))

    def gelu(self, x):
        return self.fused("Gelu", x)

    def quick_gelu(self, x):
        return self.fused("QuickGelu", x, alpha=1.702)

    def attention(self, query, key, value, layout, mask):
        """FusedMatMul carries 1/sqrt(d) as alpha and the transposition of k's last two axes as transB."""
        query, key, value = (self.split_heads(x, layout) for x in (query, key, value))
        scores = self.fused("FusedMatMul", query, key, alpha=layout.size**-0.5, transB=1)
        probabilities = self.softmax(self.op("Add", scores, mask))
        return self.merge_heads(self.op("MatMul", probabilities, value), layout)

    def padding_mask(self, mask, style, ids):
        # DistilBERT's spelling of masks is not among the recorded forms; the additive one is equivalent.
        return super().padding_mask(mask, "bert", ids)


class OrtTransformers(OrtCore):
    """Adds EmbedLayerNormalization, Attention with packed QKV weights, and SkipLayerNormalization."""

    fuses_default_positions = True

    def padding_mask(self, mask, style, ids):
        """Attention takes the raw mask, int32 [b, s]."""
        return self.cast(mask, TensorProto.INT32)

    def causal_mask(self, ids):
        """No input: the `unidirectional` attribute says it."""
        return ""

    def embed_and_norm(self, lookups, width, norm, eps):
        """EmbedLayerNormalization: all ids int32; RoBERTa's own position ids are the ninth input.

        lookups: (table, rows, ids) of words, types (absent in DistilBERT) and positions.
        """
        words, *types, positions = lookups
        tables = [self.parameter(table, (rows, width), "embedding") for table, rows, _ in (words, positions)]
        type_ids = self.cast(types[0][2], TensorProto.INT32) if types else ""
        type_table = self.parameter(types[0][0], (types[0][1], width), "embedding") if types else ""
        inputs = [self.cast(words[2], TensorProto.INT32), type_ids, *tables, type_table]
        inputs += self.norm_parameters(norm, width)
        if positions[2]:
            inputs += ["", self.cast(positions[2], TensorProto.INT32)]
        output, _ = self.fused("EmbedLayerNormalization", *inputs, outputs=2, epsilon=eps)
        return output

    def dense_add_norm(self, x, dense, inputs, residual, norm, width, eps):
        scale, shift = self.norm_parameters(norm, width)
        product = self.matmul(x, dense, inputs, width)
        arguments = (product, residual, scale, shift, self.bias(dense, width))
        return self.fused("SkipLayerNormalization", *arguments, epsilon=eps)

    def self_attention(self, x, projections, width, heads, mask, style):
        """com.microsoft.Attention(x, weight [h, 3h], bias [3h], mask) on packed query, key and value projections."""
        weights = [(f"{name}.weight", (width, width), "linear") for name in projections]
        biases = [(f"{name}.bias", (width,), "bias") for name in projections]
        packed = f"{projections[0]}_qkv"
        weight = self.derived(f"{packed}_weight", (width, 3 * width), weights, lambda *w: np.vstack(w).T)
        bias = self.derived(f"{packed}_bias", (3 * width,), biases, lambda *b: np.concatenate(b))
        attributes = {"num_heads": heads, "mask_filter_value": self.dtype.lowest, "unidirectional": int(not mask)}
        inputs = (x, weight, bias, mask) if mask else (x, weight, bias)
        return self.fused("Attention", *inputs, **attributes)
