#!/usr/bin/env python3
"""MiniLM with its real weights: the cosines of 20 sentences equal onnxruntime's within 1e-5 (CTest `e2e.minilm`).

The bound: embeddings have length 1, both sides compute in fp32, and six layers differ by about 1e-6 relative.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from models.bert import minilm  # noqa: E402
from models.bert.build import ModelSpec  # noqa: E402
from models.gaudi_cli import GaudiRun, default_binary  # noqa: E402

BOUND = 1e-5
SEQUENCE = 64
SENTENCES = (
    "Yes.", "No!", "A man is playing a guitar on the stage.", "Somebody performs music with a string instrument.",
    "The stock market fell sharply on Monday.", "Shares lost a lot of their value at the start of the week.",
    "Ein Hund bellt im Garten.", "Un chien aboie dans le jardin.", "犬が庭で吠えている。", "¿Dónde está la biblioteca?",
    "The quick brown fox jumps over the lazy dog, and then it does the very same thing again, and again, until at last "
    "the dog, who had been patient for longer than anybody could have asked of it, gets up and leaves the garden.",
    "3.14159265358979", "def f(x): return x + 1", "https://example.org/a?b=c#d", "Naïve café façade – “quoted” … ☃",
    "antidisestablishmentarianism", "THE SAME IN CAPITALS", "the same in capitals", "   spaces   everywhere   ", "",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare MiniLM's cosines with onnxruntime's.")
    parser.add_argument("--gaudi-run", type=Path, default=default_binary())
    parser.add_argument("--cache-dir", type=Path, default=ROOT / "build" / "zoo-cache")
    args = parser.parse_args()
    gaudi = GaudiRun(args.gaudi_run, (f"--cache-dir={args.cache_dir}",))
    feeds = minilm.tokenizer().encode_batch(list(SENTENCES), SEQUENCE)
    failed = 0
    for form in ("ts17", "dynamo20", "ort"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "minilm.onnx"
            minilm.write(path, ModelSpec("minilm", "embedding", form))
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            (expected,) = session.run(None, feeds)
            outputs, _ = gaudi.run(path, {"batch": len(SENTENCES), "sequence": SEQUENCE}, feeds, ["embedding"])
        ours = outputs["embedding"].astype(np.float64)
        theirs = expected.astype(np.float64)
        worst = np.abs(ours @ ours.T - theirs @ theirs.T).max()
        failed += not worst <= BOUND
        print(f"{'PASS' if worst <= BOUND else 'FAIL'} {form}: largest difference of {len(SENTENCES) ** 2} cosines "
              f"{worst:.1e} (bound {BOUND:.0e})")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
