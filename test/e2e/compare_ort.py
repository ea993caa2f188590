#!/usr/bin/env python3
"""Compiles and runs models with gaudi-run and compares every output with onnxruntime's.

    python test/e2e/compare_ort.py                                    the fast set (CTest `e2e`)
    python test/e2e/compare_ort.py --set every --filter dynamo23       all tiny combinations of one form
    python test/e2e/compare_ort.py --set full                          BERT-base, 7 forms x 3 batches x 6 sequences (CTest `e2e.full`)
    python test/e2e/compare_ort.py model.onnx --dim batch=1,2          given files

The measure is the largest absolute difference divided by the largest absolute value of the reference output, so that
outputs near zero do not count as infinitely wrong. Bounds:

    fp32  1e-4   both sides compute in fp32 and differ by the order of sums; 12 layers give about 1e-6 to 1e-5
    fp16  1e-2   against an fp32 reference with unrounded weights. Unit roundoff 2^-11 = 4.9e-4; onnxruntime's own fp16
                 runs of these models lie within 2.6e-3 of it, and the bound allows four times that
    bf16  8e-2   the same error analysis with a unit roundoff that is eight times larger (2^-8); measured: up to 1.9e-2

Cases listed in unsupported.txt must fail as unsupported (exit code 4) and are counted as skipped; a listed case that
works is a failure, so the list cannot rot. Exit code: 0 all passed, 1 a failure, 2 usage.
"""

import argparse
import fnmatch
import functools
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cases import SETS, Case, file_cases  # noqa: E402
from models import zoo  # noqa: E402
from models.gaudi_cli import EXIT_UNSUPPORTED, GaudiError, GaudiRun, default_binary  # noqa: E402
from models.onnxgen.inputs import sample_inputs  # noqa: E402

TOLERANCES = {"fp32": 1e-4, "fp16": 1e-2, "bf16": 8e-2}
UNSUPPORTED_LIST = Path(__file__).with_name("unsupported.txt")


def model_path(case: Case) -> Path:
    return case.path or zoo.ensure(case.spec)


@functools.lru_cache(maxsize=4)
def reference(case: Case) -> tuple[dict, dict]:
    """(inputs, expected outputs by name) of a case, by onnxruntime."""
    path = str(model_path(case))
    extents = dict(case.dims)
    feeds = sample_inputs(onnx.load(path, load_external_data=False), extents)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return feeds, dict(zip(names, session.run(names, feeds)))


def as_double(value: np.ndarray) -> np.ndarray:
    """numpy has no bfloat16: gaudi-run writes it as two raw bytes (V2)."""
    return (value.view(ml_dtypes.bfloat16) if value.dtype.kind == "V" else value).astype(np.float64)


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over largest expected magnitude; infinite when shapes differ or a NaN is not expected."""
    actual, expected = as_double(actual), as_double(expected)
    if actual.shape != expected.shape or not np.array_equal(np.isnan(actual), np.isnan(expected)):
        return np.inf
    largest = np.nanmax(np.abs(expected), initial=0.0)
    return float(np.nanmax(np.abs(actual - expected), initial=0.0) / (largest or 1.0))


def unsupported_reason(name: str) -> str | None:
    """The reason that unsupported.txt gives for a case; lines are `PATTERN  # reason`."""
    for line in UNSUPPORTED_LIST.read_text().splitlines():
        pattern, _, reason = line.partition("#")
        if pattern.strip() and fnmatch.fnmatch(name, pattern.strip()):
            return reason.strip()
    return None


def check(case: Case, gaudi: GaudiRun) -> tuple[str, str]:
    """("PASS" | "FAIL" | "SKIP", details) of one case."""
    reason = unsupported_reason(case.name)
    feeds, expected = reference(case.reference)
    try:
        actual, _ = gaudi.run(model_path(case), dict(case.dims), feeds, list(expected))
    except GaudiError as error:
        if reason and error.exit_code == EXIT_UNSUPPORTED:
            return "SKIP", reason
        return "FAIL", f"exit {error.exit_code}: {error}"
    if reason:
        return "FAIL", "works, but is listed in unsupported.txt: remove it there"
    errors = {name: relative_error(actual[name], expected[name]) for name in expected}
    worst = max(errors, key=errors.get)
    passed = errors[worst] <= TOLERANCES[case.dtype]
    verdict = f"{worst}: error {errors[worst]:.1e} (bound {TOLERANCES[case.dtype]:.0e})"
    return ("PASS" if passed else "FAIL"), verdict


def _dim_list(text: str) -> tuple[str, list[int]]:
    name, _, extents = text.partition("=")
    return name, [int(extent) for extent in extents.split(",")]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare gaudi-run with onnxruntime, output by output.")
    parser.add_argument("models", type=Path, nargs="*", help="files or folders instead of a generated set")
    parser.add_argument("--set", choices=SETS, default="fast")
    parser.add_argument("--full", dest="set", action="store_const", const="full", help="same as --set full")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--dim", type=_dim_list, action="append", default=[], help="for given files: NAME=N[,N...]")
    parser.add_argument("--gaudi-run", type=Path, default=default_binary())
    parser.add_argument("--cache-dir", type=Path, default=ROOT / "build" / "zoo-cache")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print the names of the cases and stop")
    return parser.parse_args()


def main() -> int:
    args = _parse()
    cases = file_cases(args.models, args.dim) if args.models else SETS[args.set]()
    cases = [case for case in cases if args.filter in case.name]
    if args.list:
        print("\n".join(case.name for case in cases))
        return 0
    if not args.gaudi_run.exists():
        print(f"error: {args.gaudi_run}: no such program", file=sys.stderr)
        print("hint: tools/dev/build release, or --gaudi-run=PATH", file=sys.stderr)
        return 2
    gaudi = GaudiRun(args.gaudi_run, ("--cache=rw", f"--cache-dir={args.cache_dir}", f"--threads={args.threads}"))
    counts = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    for case in cases:
        start = time.monotonic()
        verdict, details = check(case, gaudi)
        counts[verdict] += 1
        print(f"{verdict} {case.name} ({time.monotonic() - start:.1f} s): {details}", flush=True)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, {counts['SKIP']} skipped")
    return 1 if counts["FAIL"] or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
