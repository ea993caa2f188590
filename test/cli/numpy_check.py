"""gaudi-run and numpy read each other's files: every layout numpy writes in, and the .npy and .npz that we write.

usage: numpy_check.py GAUDI_RUN EXAMPLE_GDX  (inputs x f32[4,32], ids i64[4]; output y)
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

tool, model = sys.argv[1:3]
folder = pathlib.Path(tempfile.mkdtemp(prefix="gaudi ünï "))
x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(4, 32)
ids = np.array([3, 0, 2, 1], dtype=np.int64)


def run(x_file: str, ids_file: str) -> np.ndarray:
    out = folder / "y.npz"
    subprocess.run([tool, model, f"--input=x=@{x_file}", f"--input=ids=@{ids_file}", f"--output=@{out}", f"--output=y=@{folder}/y.npy",
                    "-q"], check=True)
    archive = np.load(out)["y"]
    single = np.load(folder / "y.npy")
    assert single.dtype == np.float32 and single.shape == (4, 48) and np.array_equal(single, archive)
    return single


np.save(folder / "x.npy", x)
np.save(folder / "ids.npy", ids)
reference = run(folder / "x.npy", folder / "ids.npy")

np.save(folder / "xf.npy", np.asfortranarray(x))
np.save(folder / "xb.npy", x.astype(">f4"))
np.save(folder / "idsb.npy", ids.astype(">i8"))
np.savez(folder / "stored.npz", x=x, ids=ids)
np.savez_compressed(folder / "packed.npz", x=np.asfortranarray(x.astype(">f4")), ids=ids)
for version in [(1, 0), (2, 0), (3, 0)]:
    with open(folder / f"v{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, x, version=version)
for x_file, ids_file in [("xf.npy", "idsb.npy"), ("xb.npy", "ids.npy"), ("stored.npz", "stored.npz"), ("packed.npz:x", "packed.npz:ids"),
                         ("v1.npy", "ids.npy"), ("v2.npy", "ids.npy"), ("v3.npy", "ids.npy")]:
    assert np.array_equal(run(folder / x_file, folder / ids_file), reference), (x_file, ids_file)

np.save(folder / "object.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
refused = subprocess.run([tool, model, f"--input=x=@{folder}/object.npy"], capture_output=True, text=True)
assert refused.returncode == 3 and "object arrays refused" in refused.stderr, refused
print("ok: 8 layouts")
