"""Every form of every tiny model computes the same function, as judged by onnxruntime.

python -m unittest models.bert.test_forms
"""

import itertools
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from ..onnxgen.forms import FORMS
from ..onnxgen.inputs import sample_inputs
from .build import ModelSpec, build
from .config import CONFIGS

TINY = ("tiny", "roberta-tiny", "distilbert-tiny", "clip-tiny")
DIMS = {"batch": 3, "sequence": 7}
# Outputs are O(1) and the forms differ by the order of fp32 operations only; 1e-6 is typical, 1e-5 leaves room.
FP32_TOLERANCE = 1e-5
# Half precision rounds every intermediate of two layers to 11 bits (2^-11 = 5e-4); errors add up to a few roundings.
FP16_TOLERANCE = 2e-2


def run(path: Path, feeds: dict) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


class Forms(unittest.TestCase):
    """Names of cases: <config>-<task>-<form>-<dtype>-<axes>."""

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._folder.cleanup)

    def write(self, spec: ModelSpec, external: bool = False) -> Path:
        path = Path(self._folder.name) / f"{spec.name}{'-external' if external else ''}.onnx"
        build(spec, path, external)
        if FORMS[spec.form].is_standard_onnx:
            onnx.checker.check_model(str(path), full_check=True)
        return path

    def outputs(self, path: Path) -> list[np.ndarray]:
        model = onnx.load(str(path), load_external_data=False)
        return run(path, sample_inputs(model, DIMS))

    def assert_close(self, actual, expected, tolerance):
        self.assertEqual(len(actual), len(expected))
        for a, b in zip(actual, expected):
            self.assertEqual(a.shape, b.shape)
            error = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
            self.assertLess(error, tolerance * max(1.0, np.abs(b).max()))

    def test_all_forms_agree(self):
        for config in TINY:
            for task in CONFIGS[config].family.tasks:
                expected = self.outputs(self.write(ModelSpec(config, task, "ts17")))
                for form, extents in itertools.product(FORMS, ((None, None), (3, 7))):
                    spec = ModelSpec(config, task, form, "fp32", *extents)
                    with self.subTest(spec.name):
                        self.assert_close(self.outputs(self.write(spec)), expected, FP32_TOLERANCE)

    def test_fp16_forms_agree_with_fp32(self):
        for config in TINY:
            expected = self.outputs(self.write(ModelSpec(config, "feature", "ts17")))
            # onnxruntime's CPU kernels of com.microsoft are fp32 only.
            for form in (f for f in FORMS.values() if f.is_standard_onnx):
                spec = ModelSpec(config, "feature", form.name, "fp16")
                with self.subTest(spec.name):
                    self.assert_close(self.outputs(self.write(spec)), expected, FP16_TOLERANCE)

    def test_bf16_forms_pass_the_checker(self):
        # onnxruntime has no bf16 kernels on CPU (microsoft/onnxruntime#13262): types and shapes only.
        for config, form in itertools.product(TINY, FORMS.values()):
            if form.supports("bf16"):
                with self.subTest(f"{config}-{form.name}"):
                    self.write(ModelSpec(config, "feature", form.name, "bf16"))

    def test_bf16_is_refused_where_the_opset_lacks_it(self):
        with self.assertRaisesRegex(ValueError, "bf16 needs opset"):
            build(ModelSpec(form="ts11", dtype="bf16"), Path(self._folder.name) / "no.onnx")

    def test_external_data_hold_the_same_weights(self):
        for form in ("ts17", "dynamo18"):
            spec = ModelSpec("tiny", "masked-lm", form)
            self.assert_close(self.outputs(self.write(spec, external=True)), self.outputs(self.write(spec)), 1e-12)

    def test_generation_is_deterministic(self):
        spec = ModelSpec("tiny", "pretraining", "dynamo18")
        first = self.write(spec).read_bytes()
        self.assertEqual(self.write(spec).read_bytes(), first)


if __name__ == "__main__":
    unittest.main()
