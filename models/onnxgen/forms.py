"""The exporter forms: which spelling of one and the same model a generator writes.

Sources: torch/onnx/symbolic_opset{9,11,14,17}.py (TorchScript exporter), torch/onnx/_internal/exporter/_torchlib and
onnxscript's torchlib (dynamo exporter), onnxruntime's C++ and Python optimisers. Counts measured on real exports are in
the project's knowledge file `models.md`, sections 1.1 to 1.7.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One spelling.

    exporter    "torchscript" | "dynamo" | "ort" (the family of op spellings and names)
    attention   "eager" | "sdpa" | "attention-op" (Attention-23) | "contrib" (com.microsoft.Attention)
    mask        "additive": (1-m)*lowest; "fill": Where(1-m, lowest); "bool": masking_utils' arithmetic on indices
    ir_version  as the exporters of that age write it
    """

    name: str
    exporter: str
    opset: int
    attention: str
    mask: str
    ir_version: int
    summary: str

    @property
    def has_layer_norm_op(self) -> bool:
        # onnxruntime writes its own LayerNormalization in the default domain at any opset (invalid for the checker).
        return self.opset >= 17 or self.exporter == "ort"

    @property
    def is_standard_onnx(self) -> bool:
        """False for forms that onnx.checker rejects by their nature (com.microsoft operators)."""
        return self.exporter != "ort"

    @property
    def is_transformers_5(self) -> bool:
        """Written from transformers 5's Python code, which brought boolean masks and some other reshapes."""
        return self.mask == "bool"

    def supports(self, dtype: str) -> bool:
        # Where, which masks need, takes bfloat16 from opset 16 on; com.microsoft kernels and schemas are fp32 and fp16.
        return dtype != "bf16" or (self.opset >= 16 and self.is_standard_onnx)


FORMS = {
    form.name: form
    for form in (
        Form("ts11", "torchscript", 11, "eager", "additive", 6, "TorchScript opset 11: axes as attributes, LN chain"),
        Form("ts14", "torchscript", 14, "eager", "additive", 7, "TorchScript opset 14: axes as inputs, LN chain"),
        Form("ts14-sdpa", "torchscript", 14, "sdpa", "fill", 7, "the same with scaled_dot_product_attention"),
        Form("ts17-eager", "torchscript", 17, "eager", "additive", 8, "TorchScript opset 17: LayerNormalization"),
        Form("ts17", "torchscript", 17, "sdpa", "fill", 8, "TorchScript opset 17 with SDPA (optimum's usual)"),
        Form("dynamo18", "dynamo", 18, "sdpa", "fill", 10, "torch.onnx dynamo, default opset"),
        Form("dynamo20", "dynamo", 20, "sdpa", "fill", 10, "dynamo with Gelu-20"),
        Form("dynamo20-bool", "dynamo", 20, "sdpa", "bool", 10, "the same with the boolean mask of transformers 5"),
        Form("dynamo23", "dynamo", 23, "attention-op", "fill", 10, "dynamo with Attention-23"),
        Form("dynamo23-bool", "dynamo", 23, "attention-op", "bool", 10, "the same with a boolean mask"),
        Form("ort-core", "ort", 14, "eager", "additive", 8, "after ONNX Runtime's C++ optimiser"),
        Form("ort", "ort", 14, "contrib", "raw", 8, "after onnxruntime.transformers.optimizer"),
    )
}
