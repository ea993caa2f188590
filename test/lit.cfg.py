"""lit configuration of all suites. Substitutions: %python (with onnx), %onnxtext (text model -> .onnx), %models,
%exits (CODE COMMAND...: runs it, checks its exit code, prints stdout and stderr)."""
import os
import sys

import lit.formats

config.name = "gaudi"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".onnxtxt"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

path = [config.gaudi_bin, config.llvm_bin, config.environment.get("PATH", os.environ.get("PATH", ""))]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["PYTHONPATH"] = config.source_root
config.environment["GAUDI_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")
config.substitutions += [
    ("%python", config.python),
    ("%onnxtext", f"{config.python} {config.test_source_root}/import/onnxtext.py"),
    ("%exits", f"{sys.executable} {config.test_source_root}/exits.py"),
    ("%models", os.path.join(config.source_root, "models")),
]
if os.path.exists(config.python):
    config.available_features.add("python-onnx")
else:
    lit_config.warning(f"no python with onnx at {config.python}: run tools/dev/pyenv; tests that need it are skipped")
