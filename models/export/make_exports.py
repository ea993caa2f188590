"""Exports tiny, randomly initialised transformers models with both of torch's exporters.

    python -m models.export.make_exports -o models/export/data

Needs torch and transformers, which nothing else here does (see README.md for how to install them without CUDA wheels).
For every model it writes `<name>.onnx`, and `<name>.npz` with the inputs and PyTorch's own outputs.
"""

import argparse
import contextlib
import platform
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
import transformers

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 100,
}
BATCH, SEQUENCE = 3, 7


class FirstOutputs(torch.nn.Module):
    """Returns the named outputs as a tuple: the exporters cannot name the fields of a ModelOutput."""

    def __init__(self, model, names):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, input_ids, attention_mask=None):
        inputs = {"input_ids": input_ids}
        if attention_mask is not None:
            inputs["attention_mask"] = attention_mask
        result = self.model(**inputs, return_dict=True)
        return tuple(result[name] for name in self.names)


class WithTokenTypes(FirstOutputs):
    """The same for BERT, whose token types are a graph input."""

    def forward(self, input_ids, attention_mask, token_type_ids):
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        result = self.model(**inputs, return_dict=True)
        return tuple(result[name] for name in self.names)


@dataclass(frozen=True)
class Architecture:
    """A class of transformers with its configuration, and what its graph takes and returns."""

    make: object
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def _bert(attention):
    config = transformers.BertConfig(**SIZES, max_position_embeddings=64, attn_implementation=attention)
    return transformers.BertModel(config)


def _roberta(attention):
    config = transformers.RobertaConfig(
        **SIZES, max_position_embeddings=66, type_vocab_size=1, layer_norm_eps=1e-5, attn_implementation=attention
    )
    return transformers.RobertaModel(config)


def _distilbert(attention):
    config = transformers.DistilBertConfig(
        dim=32, n_layers=2, n_heads=4, hidden_dim=64, vocab_size=100, max_position_embeddings=64,
        attn_implementation=attention,
    )  # fmt: skip
    return transformers.DistilBertModel(config)


def _clip(attention):
    # eos_token_id 2 selects the old pooling by ArgMax of the ids, which SD 1.5's text encoder has.
    config = transformers.CLIPTextConfig(
        **SIZES, max_position_embeddings=64, eos_token_id=2, attn_implementation=attention
    )
    return transformers.CLIPTextModel(config)


ARCHITECTURES = {
    "tiny": Architecture(
        _bert, ("input_ids", "attention_mask", "token_type_ids"), ("last_hidden_state", "pooler_output")
    ),
    "roberta-tiny": Architecture(_roberta, ("input_ids", "attention_mask"), ("last_hidden_state", "pooler_output")),
    "distilbert-tiny": Architecture(_distilbert, ("input_ids", "attention_mask"), ("last_hidden_state",)),
    "clip-tiny": Architecture(_clip, ("input_ids",), ("last_hidden_state", "pooler_output")),
}
# form of models/onnxgen/forms.py -> (dynamo?, opset, transformers' attention implementation)
EXPORTS = {
    "ts11": (False, 11, "eager"),
    "ts14": (False, 14, "eager"),
    "ts14-sdpa": (False, 14, "sdpa"),
    "ts17-eager": (False, 17, "eager"),
    "ts17": (False, 17, "sdpa"),
    "dynamo18": (True, 18, "sdpa"),
    "dynamo20": (True, 20, "sdpa"),
    "dynamo23": (True, 23, "sdpa"),
}
if int(transformers.__version__.split(".")[0]) >= 5:
    # Its masks are boolean; the other forms come from version 4.
    EXPORTS = {"dynamo20-bool": (True, 20, "sdpa"), "dynamo23-bool": (True, 23, "sdpa")}


def example_inputs(names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """int64 [BATCH, SEQUENCE]; ids avoid RoBERTa's padding id 1, masks keep 7, 5 and 4 tokens."""
    rng = np.random.default_rng(0)
    lengths = np.array([[7], [5], [4]])
    values = {
        "input_ids": rng.integers(3, SIZES["vocab_size"], (BATCH, SEQUENCE)),
        "attention_mask": (np.arange(SEQUENCE) < lengths).astype(np.int64),
        "token_type_ids": rng.integers(0, 2, (BATCH, SEQUENCE)),
    }
    return {name: values[name] for name in names}


def export(name: str, form: str, folder: Path) -> None:
    """Writes one model. Weights depend on the architecture only: seed 0."""
    architecture = ARCHITECTURES[name]
    dynamo, opset, attention = EXPORTS[form]
    torch.manual_seed(0)
    wrap = WithTokenTypes if "token_type_ids" in architecture.inputs else FirstOutputs
    model = wrap(architecture.make(attention), architecture.outputs).eval()
    feeds = example_inputs(architecture.inputs)
    tensors = tuple(torch.from_numpy(value) for value in feeds.values())
    path = folder / f"{name}-{form}.onnx"
    options = {"input_names": list(feeds), "output_names": list(architecture.outputs), "opset_version": opset}
    if dynamo:
        axes = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("sequence", min=2, max=64)}
        options |= {"dynamo": True, "dynamic_shapes": tuple(axes for _ in feeds), "external_data": False}
    else:
        names = {0: "batch", 1: "sequence"}
        every = [*feeds, "last_hidden_state"]
        options |= {"dynamo": False, "dynamic_axes": {value: names for value in every}}
        options["dynamic_axes"] |= {value: {0: "batch"} for value in architecture.outputs[1:]}
    with torch.no_grad():
        outputs = model(*tensors)
        torch.onnx.export(model, tensors, str(path), **options)
    strip_debug_data(path)
    expected = {f"output:{key}": value.numpy() for key, value in zip(architecture.outputs, outputs)}
    np.savez_compressed(path.with_suffix(".npz"), **{f"input:{k}": v for k, v in feeds.items()}, **expected)


def strip_debug_data(path: Path) -> None:
    """Removes doc strings and per-node metadata: stack traces with local paths, four times the size of the graph."""
    model = onnx.load(str(path))
    for node in model.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    for value in [*model.graph.value_info, *model.graph.input, *model.graph.output, *model.graph.initializer]:
        del value.metadata_props[:]
    onnx.save(model, str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description="Export tiny transformers models with torch.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", default="", help="only names that contain this")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    done, failed = 0, []
    for name in ARCHITECTURES:
        for form in EXPORTS:
            if args.only not in f"{name}-{form}":
                continue
            with contextlib.suppress(FileNotFoundError):
                (args.output / f"{name}-{form}.onnx").unlink()
            try:
                export(name, form, args.output)
                done += 1
            except Exception as error:  # an exporter's refusal is a result to report, whatever its type
                failed.append(f"{name}-{form}: {type(error).__name__}: {str(error).splitlines()[0][:160]}")
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    print(f"{versions}\n{done} exported, {len(failed)} failed", *failed, sep="\n")


if __name__ == "__main__":
    main()
