"""From a description of a model to its file."""

from dataclasses import dataclass
from pathlib import Path

from ..onnxgen.session import make_exporter, save
from ..onnxgen.weights import ParameterSource, SeededParameters
from .config import CONFIGS
from .encoder import build_encoder
from .heads import build_head


@dataclass(frozen=True)
class ModelSpec:
    """Everything that decides the bytes of a generated model (with the parameters' seed).

    batch, sequence: the static extents; None = a dynamic axis named "batch" or "sequence".
    """

    config: str = "tiny"
    task: str = "feature"
    form: str = "ts17"
    dtype: str = "fp32"
    batch: int | None = None
    sequence: int | None = None

    @property
    def name(self) -> str:
        extents = f"b{self.batch}s{self.sequence}" if self.batch else "dynamic"
        return f"{self.config}-{self.task}-{self.form}-{self.dtype}-{extents}"


def build(spec: ModelSpec, path: Path, external: bool = False, parameters: ParameterSource | None = None) -> None:
    """Writes the model `spec` to `path`. Parameters default to seed 0."""
    config = CONFIGS[spec.config]
    if spec.sequence and spec.sequence > config.positions:
        raise ValueError(f"config '{spec.config}' has {config.positions} positions, found sequence {spec.sequence}")
    extents = {"batch": spec.batch, "sequence": spec.sequence}
    exporter = make_exporter(spec.name, spec.form, spec.dtype, parameters or SeededParameters(), extents)
    build_head(exporter, config, spec.task, build_encoder(exporter, config))
    save(exporter, path, external)
