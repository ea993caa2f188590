"""The generators write the very operators that torch's exporters write: python -m unittest models.export.test_exports

Compared are the op histograms of real exports (data/*.onnx, see README.md) and generated models of the same sizes, and
the real exports are run, so that their expected outputs are known to be right for the comparison with gaudi-run.
"""

import tempfile
import unittest
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from ..bert.build import ModelSpec, build
from ..bert.config import CONFIGS

DATA = Path(__file__).parent / "data"

# Real exports of freshly initialised models share equal biases (zeros) and norm weights (ones) through Identity nodes;
# trained models, and the generators', have none that are equal.
IGNORED = ("Identity",)

# The generator writes CLIP's eager attention at opsets below 17 as transformers < 4.48 spelled it (bmm), which is what
# exports of Stable Diffusion 1.5 contain; the stored exports come from a newer transformers.
OLDER_SPELLING = ("clip-tiny-ts14",)


def histogram(path: Path) -> Counter:
    counts = Counter(node.op_type for node in onnx.load(str(path)).graph.node)
    return Counter({op: count for op, count in counts.items() if op not in IGNORED})


class RealExports(unittest.TestCase):
    def exports(self):
        """(configuration, form, path) of every stored export."""
        for path in sorted(DATA.glob("*.onnx")):
            config = next(name for name in CONFIGS if path.stem.startswith(f"{name}-"))
            yield config, path.stem.removeprefix(f"{config}-"), path

    def test_histograms_are_equal(self):
        with tempfile.TemporaryDirectory() as folder:
            for config, form, path in self.exports():
                if path.stem in OLDER_SPELLING:
                    continue
                with self.subTest(path.stem):
                    task = "pooler" if "pooler" in CONFIGS[config].family.tasks else "feature"
                    generated = Path(folder) / path.name
                    build(ModelSpec(config, task, form), generated)
                    self.assertEqual(histogram(generated), histogram(path))

    def test_outputs_are_those_of_pytorch(self):
        for _, _, path in self.exports():
            with self.subTest(path.stem):
                arrays = np.load(path.with_suffix(".npz"))
                feeds = {key.removeprefix("input:"): arrays[key] for key in arrays if key.startswith("input:")}
                session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
                names = [output.name for output in session.get_outputs()]
                for name, actual in zip(names, session.run(names, feeds)):
                    # Both are fp32; the order of sums differs.
                    np.testing.assert_allclose(actual, arrays[f"output:{name}"], atol=2e-5, rtol=0)


if __name__ == "__main__":
    unittest.main()
