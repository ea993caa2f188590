//===- Activation.cpp - activations composed of pointwise kinds -----------===//
//
// Formulas: the op's page under onnx.ai/onnx/operators. They become one kernel when fused, so no kind of their own.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/rules/Activation.h"
#include "lib/Import/Rules.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

static Value maximum(Node &node, Value x, double bound) {
  return node.binary(BinaryKind::max, x, node.scalar(bound, x));
}
static Value minimum(Node &node, Value x, double bound) {
  return node.binary(BinaryKind::min, x, node.scalar(bound, x));
}
static Value scaled(Node &node, Value x, double factor) {
  return factor == 1.0 ? x : node.mul(x, node.scalar(factor, x));
}
static Value shifted(Node &node, Value x, double term) { return node.add(x, node.scalar(term, x)); }
static Value greater(Node &node, Value x, double bound) {
  return node.binary(BinaryKind::gt, x, node.scalar(bound, x));
}

Value scaledSigmoidProduct(Node &node, Value x, double alpha) {
  if (alpha == 1.0)
    return node.unary(UnaryKind::silu, x);
  return node.mul(x, node.unary(UnaryKind::sigmoid, scaled(node, x, alpha)));
}

Value leakyRelu(Node &node, Value x, double alpha) {
  return node.select(node.binary(BinaryKind::lt, x, node.scalar(0, x)), scaled(node, x, alpha), x);
}

Value hardSigmoid(Node &node, Value x, double alpha, double beta) {
  return maximum(node, minimum(node, shifted(node, scaled(node, x, alpha), beta), 1), 0);
}

/// The exponential sees min(x, 0): its positive side would overflow and be thrown away.
Value elu(Node &node, Value x, double alpha) {
  Value negative = shifted(node, node.unary(UnaryKind::exp, minimum(node, x, 0)), -1);
  return node.select(greater(node, x, 0), x, scaled(node, negative, alpha));
}

/// Gelu-20.
static void importGelu(Node &node) {
  std::string approximate = node.string("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.invalid("attribute 'approximate' is '" + Twine(approximate) + "', expected none or tanh");
  node.result(node.unary(approximate == "tanh" ? UnaryKind::gelu_tanh : UnaryKind::gelu, node.input(0)));
}

static void importSwish(Node &node) { node.result(scaledSigmoidProduct(node, node.input(0), node.real("alpha", 1))); }
static void importLeakyRelu(Node &node) { node.result(leakyRelu(node, node.input(0), node.real("alpha", 0.01f))); }

static void importPRelu(Node &node) {
  Value x = node.input(0);
  Value isNegative = node.binary(BinaryKind::lt, x, node.scalar(0, x));
  node.result(node.select(isNegative, node.mul(x, node.input(1)), x));
}

static void importElu(Node &node) { node.result(elu(node, node.input(0), node.real("alpha", 1))); }

/// Selu-6: gamma * elu(x, alpha); defaults are the float values printed on the page.
static void importSelu(Node &node) {
  Value x = elu(node, node.input(0), node.real("alpha", 1.67326319217681884765625));
  node.result(scaled(node, x, node.real("gamma", 1.05070102214813232421875)));
}

/// Celu-12: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
static void importCelu(Node &node) {
  double alpha = node.real("alpha", 1);
  if (alpha == 0)
    return node.invalid("attribute 'alpha' is 0");
  Value x = node.input(0), below = minimum(node, x, 0);
  Value curve = shifted(node, node.unary(UnaryKind::exp, scaled(node, below, 1 / alpha)), -1);
  node.result(node.add(maximum(node, x, 0), minimum(node, scaled(node, curve, alpha), 0)));
}

static void importThresholdedRelu(Node &node) {
  Value x = node.input(0);
  node.result(node.select(greater(node, x, node.real("alpha", 1)), x, node.scalar(0, x)));
}

static void importHardSigmoid(Node &node) {
  node.result(hardSigmoid(node, node.input(0), node.real("alpha", 0.2f), node.real("beta", 0.5f)));
}

static void importHardSwish(Node &node) {
  Value x = node.input(0);
  node.result(node.mul(x, hardSigmoid(node, x, 1.0 / 6, 0.5)));
}

static void importSoftsign(Node &node) {
  Value x = node.input(0);
  node.result(node.binary(BinaryKind::div, x, shifted(node, node.unary(UnaryKind::abs, x), 1)));
}

static void importMish(Node &node) {
  Value x = node.input(0);
  node.result(node.mul(x, node.unary(UnaryKind::tanh, node.unary(UnaryKind::softplus, x))));
}

static void importTan(Node &node) {
  Value x = node.input(0);
  node.result(node.binary(BinaryKind::div, node.unary(UnaryKind::sin, x), node.unary(UnaryKind::cos, x)));
}

ArrayRef<Rule> activationRules() {
  static const Rule rules[] = {
      {"", "Gelu", 20, importGelu},
      {"", "Swish", 24, importSwish},
      {"", "LeakyRelu", 6, importLeakyRelu},
      {"", "PRelu", 7, importPRelu},
      {"", "Elu", 6, importElu},
      {"", "Selu", 6, importSelu},
      {"", "Celu", 12, importCelu},
      {"", "ThresholdedRelu", 10, importThresholdedRelu},
      {"", "HardSigmoid", 6, importHardSigmoid},
      {"", "HardSwish", 14, importHardSwish},
      {"", "Softsign", 1, importSoftsign},
      {"", "Mish", 18, importMish},
      {"", "Tan", 7, importTan},
  };
  return rules;
}

} // namespace gaudi::import
