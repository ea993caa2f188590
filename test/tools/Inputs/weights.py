"""weights.py OUT.onnx: y = x @ w with 64 KiB of weights, which stay in the file instead of becoming code."""
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

weights = np.random.default_rng(0).standard_normal((128, 128), dtype=np.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"], name="dense")], "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 128])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 128])], [numpy_helper.from_array(weights, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
with open(sys.argv[1], "wb") as file:
    file.write(model.SerializeToString())
