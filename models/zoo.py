"""Generated models on disk, made once per version of the generator: build/zoo/<digest of its sources>/<name>.onnx."""

import functools
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from .bert.build import ModelSpec, build
from .bert.config import CONFIGS
from .gaudi_cli import ROOT

ZOO = ROOT / "build" / "zoo"
# From this width on weights are worth streaming; narrower models stay in one file, which tests the other path.
EXTERNAL_FROM_HIDDEN = 256


@functools.cache
def _folder() -> Path:
    """The folder of the present generator; models of older ones are removed."""
    digest = hashlib.blake2b(digest_size=6)
    generator = Path(__file__).parent
    for source in sorted([*generator.glob("onnxgen/*.py"), *generator.glob("bert/*.py")]):
        if source.name.startswith("test_"):
            continue
        digest.update(source.name.encode() + source.read_bytes())
    folder = ZOO / digest.hexdigest()
    for stale in ZOO.glob("*"):
        if stale != folder:
            shutil.rmtree(stale, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def ensure(spec: ModelSpec) -> Path:
    """The path of the model `spec`, written now if it is not there. Safe against concurrent callers."""
    folder = _folder()
    path = folder / f"{spec.name}.onnx"
    if path.exists():
        return path
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        build(spec, Path(temporary) / path.name, external=CONFIGS[spec.config].hidden >= EXTERNAL_FROM_HIDDEN)
        # The model is moved last: whoever sees it also sees its external data.
        for made in sorted(Path(temporary).iterdir(), key=lambda p: p.name == path.name):
            os.replace(made, folder / made.name)
    return path
