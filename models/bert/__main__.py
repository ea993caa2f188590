"""Command line: python -m models.bert --config base --form ts17 -o bert.onnx"""

import argparse
import sys
from pathlib import Path

from ..onnxgen.dtypes import FLOAT_TYPES
from ..onnxgen.forms import FORMS
from ..onnxgen.weights import SeededParameters
from .build import ModelSpec, build
from .config import CONFIGS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m models.bert", description="Write a BERT-class model as ONNX.")
    tasks = sorted({task for config in CONFIGS.values() for task in config.family.tasks})
    parser.add_argument("--config", choices=CONFIGS, default="tiny")
    parser.add_argument("--task", choices=tasks, default="feature")
    forms = "; ".join(f"{form.name}: {form.summary}" for form in FORMS.values())
    parser.add_argument("--form", choices=FORMS, default="ts17", help=forms)
    parser.add_argument("--dtype", choices=FLOAT_TYPES, default="fp32")
    parser.add_argument("--axes", choices=("static", "dynamic"), default="dynamic")
    parser.add_argument("--batch", type=int, help="extent when static (default 1)")
    parser.add_argument("--seq", type=int, help="extent when static (default 16)")
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    parser.add_argument("--external", action="store_true", help="put weights beside the model, streamed")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser


def main() -> int:
    parser = _parser()
    args = parser.parse_args()
    if args.axes == "dynamic" and (args.batch or args.seq):
        parser.error("--batch and --seq need --axes static (dynamic axes have no extent)")
    extents = (args.batch or 1, args.seq or 16) if args.axes == "static" else (None, None)
    spec = ModelSpec(args.config, args.task, args.form, args.dtype, *extents)
    try:
        build(spec, args.output, args.external, SeededParameters(args.seed))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
