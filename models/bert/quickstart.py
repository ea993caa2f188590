"""Last step of tools/quickstart: tokenise sentences, run MiniLM with gaudi-run, print their cosine similarities."""

import argparse
import sys
from pathlib import Path

import numpy as np

from ..gaudi_cli import GaudiError, GaudiRun
from . import minilm

SEQUENCE = 128
DEFAULT_SENTENCES = (
    "A man is playing a guitar on the stage.",
    "Somebody performs music with a string instrument.",
    "The stock market fell sharply on Monday.",
    "Shares lost a lot of their value at the start of the week.",
)


def similarity_table(sentences: list[str], embeddings: np.ndarray) -> str:
    """The cosine of every pair; embeddings [n, h] have length 1."""
    cosines = embeddings @ embeddings.T
    header = "      " + "".join(f"{f'({i + 1})':>7}" for i in range(len(sentences)))
    rows = [
        f"  ({i + 1}) " + "".join(f"{value:7.3f}" for value in row) + f"   {sentence}"
        for i, (row, sentence) in enumerate(zip(cosines, sentences))
    ]
    return "\n".join([header, *rows])


def compile_line(report: dict) -> str:
    """What the compile cost, or that there was none."""
    if report["cache"] == "hit":
        return "compiled nothing: taken from the cache"
    return f"compiled in {report['compile_ms'] / 1000:.2f} s; the next start takes it from the cache"


def memory_line(memory: dict) -> str:
    mib = lambda key: f"{memory[key] / 2**20:.1f} MiB"
    plan = f"arena {mib('slab')}, {memory['ratio']:.3f} x the lower bound of {mib('lower_bound')}"
    return f"{plan}; weights {mib('weights')} (mapped)"


def latency_line(latency: dict, batch: int) -> str:
    return f"p50 {latency['p50']:.2f} ms for {batch} sentences of {SEQUENCE} tokens"


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m models.bert.quickstart", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="MiniLM with mean pooling and dynamic axes")
    parser.add_argument("--cache-dir", type=Path, required=True)
    parser.add_argument("sentences", nargs="*", default=DEFAULT_SENTENCES)
    return parser.parse_args()


def main() -> int:
    args = _parse()
    sentences = list(args.sentences)
    feeds = minilm.tokenizer().encode_batch(sentences, SEQUENCE)
    dims = {"batch": len(sentences), "sequence": SEQUENCE}
    gaudi = GaudiRun(flags=("--cache=rw", f"--cache-dir={args.cache_dir}"))
    try:
        outputs, report = gaudi.run(args.model, dims, feeds, ["embedding"])
        latency = gaudi.bench(args.model, dims, feeds, warmup=3, iterations=20)["latency_ms"]
    except GaudiError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"\ncompile  {compile_line(report)}")
    print(f"cache    {report['cache']} in {args.cache_dir}")
    print(f"memory   {memory_line(report['memory'])}")
    print(f"latency  {latency_line(latency, len(sentences))}")
    print(f"\ncosine similarity\n{similarity_table(sentences, outputs['embedding'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
