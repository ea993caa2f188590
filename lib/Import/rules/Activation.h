//===- Activation.h - activations shared by ONNX and contributed ops ------===//
#pragma once

#include "lib/Import/Node.h"

namespace gaudi::import {

/// x * sigmoid(alpha * x): SiLU for alpha 1, QuickGelu for 1.702.
mlir::Value scaledSigmoidProduct(Node &node, mlir::Value x, double alpha);
mlir::Value leakyRelu(Node &node, mlir::Value x, double alpha);
mlir::Value hardSigmoid(Node &node, mlir::Value x, double alpha, double beta);
mlir::Value elu(Node &node, mlir::Value x, double alpha);

} // namespace gaudi::import
