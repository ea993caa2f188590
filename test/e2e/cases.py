"""The cases of the end-to-end comparison: which generated models, with which extents."""

import itertools
from dataclasses import dataclass
from pathlib import Path

from models.bert.build import ModelSpec
from models.bert.config import CONFIGS
from models.onnxgen.forms import FORMS

TINY = ("tiny", "roberta-tiny", "distilbert-tiny", "clip-tiny")
TINY_EXTENTS = (3, 7)  # primes, so that no two axes are confused


@dataclass(frozen=True)
class Case:
    """A generated model (spec) or a file (path), run with these extents of its dynamic axes."""

    dims: tuple[tuple[str, int], ...]
    spec: ModelSpec | None = None
    path: Path | None = None

    @property
    def name(self) -> str:
        title = self.spec.name if self.spec else self.path.stem
        return " ".join([title, *(f"{name}={extent}" for name, extent in self.dims)])

    @property
    def dtype(self) -> str:
        return self.spec.dtype if self.spec else "fp32"

    @property
    def reference(self) -> "Case":
        """What onnxruntime evaluates: the same function in fp32, in a form whose kernels are plain."""
        if self.dtype == "fp32":
            return self
        spec = ModelSpec(self.spec.config, self.spec.task, "ts17", "fp32")
        return Case(self.dims or (("batch", TINY_EXTENTS[0]), ("sequence", TINY_EXTENTS[1])), spec)


def _tiny(config: str, task: str, form: str, dtype: str, is_static: bool) -> Case:
    batch, sequence = TINY_EXTENTS
    if is_static:
        return Case((), ModelSpec(config, task, form, dtype, batch, sequence))
    return Case((("batch", batch), ("sequence", sequence)), ModelSpec(config, task, form, dtype))


def every_case() -> list[Case]:
    """Every configuration x task x form x type x axes of the tiny models: about a thousand."""
    return [
        _tiny(config, task, form.name, dtype, is_static)
        for config in TINY
        for task in CONFIGS[config].family.tasks
        for form, dtype, is_static in itertools.product(FORMS.values(), ("fp32", "fp16", "bf16"), (False, True))
        if form.supports(dtype)
    ]


def fast_cases() -> list[Case]:
    """A covering subset: all (configuration, task, form) in fp32 with dynamic axes; all (configuration, form, type) and
    all (configuration, form, axes) with the feature task. What is left out differs from a chosen case in a head only.
    """
    return [case for case in every_case() if case.spec.task == "feature" or (case.dtype == "fp32" and case.dims)]


def full_cases() -> list[Case]:
    """BERT-base in every form, over batches and sequences, odd and longest ones included."""
    extents = list(itertools.product((1, 3, 8), (1, 7, 64, 128, 384, 512)))
    cases = [
        Case((("batch", batch), ("sequence", sequence)), ModelSpec("base", "pooler", form.name))
        for form in FORMS.values()
        for batch, sequence in extents
    ]
    # The 16-bit types differ by form in their casts only, and not at all by extent.
    return cases + [
        Case((("batch", 3), ("sequence", 128)), ModelSpec("base", "pooler", form.name, dtype))
        for form, dtype in itertools.product(FORMS.values(), ("fp16", "bf16"))
        if form.supports(dtype)
    ]


def file_cases(paths: list[Path], dims: list[tuple[str, list[int]]]) -> list[Case]:
    """Given models (folders are searched for *.onnx) x all combinations of the extents."""
    models = [model for path in paths for model in (sorted(path.glob("**/*.onnx")) if path.is_dir() else [path])]
    names = [name for name, _ in dims]
    combinations = list(itertools.product(*(extents for _, extents in dims)))
    return [Case(tuple(zip(names, chosen)), path=model) for model in models for chosen in combinations]


SETS = {"fast": fast_cases, "every": every_case, "full": full_cases}
