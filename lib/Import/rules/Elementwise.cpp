//===- Elementwise.cpp - pointwise ONNX ops -------------------------------===//
#include "lib/Import/Rules.h"
#include "lib/Onnx/Proto.h"

#include <limits>

using namespace mlir;
using namespace gaudi::graph;
using namespace gaudi::import;

namespace {

template <UnaryKind kind> void unary(Node &n) { n.out(0, n.unary(kind, n.in(0))); }
template <BinaryKind kind> void binary(Node &n) { n.out(0, n.binary(kind, n.in(0), n.in(1))); }

/// Opset < 7 style broadcast attributes are below kMinOpset, so plain numpy broadcasting is all there is.
template <BinaryKind kind> void variadic(Node &n) {
  Value x = n.in(0);
  for (size_t i = 1; i < n.inputCount(); ++i)
    x = n.binary(kind, x, n.in(i));
  n.out(0, x);
}

void mean(Node &n) {
  variadic<BinaryKind::add>(n);
  n.out(0, n.binary(BinaryKind::div, n.outputs[0], n.scalarLike(static_cast<double>(n.inputCount()), n.outputs[0])));
}

void cast(Node &n) {
  Type to = elementType(n.b.getContext(), static_cast<int>(n.integer("to", 0)));
  if (!to)
    return (void)n.unsupported("cast to ONNX type " + Twine(n.integer("to", 0)));
  n.out(0, n.make<CastOp>(n.in(0), TypeAttr::get(to)));
}

void castLike(Node &n) {
  if (Value like = n.in(1))
    n.out(0, n.make<CastOp>(n.in(0), TypeAttr::get(Node::element(like))));
}

void where(Node &n) { n.out(0, n.select(n.in(0), n.in(1), n.in(2))); }

void mod(Node &n) { n.out(0, n.binary(n.integer("fmod", 0) ? BinaryKind::fmod : BinaryKind::mod, n.in(0), n.in(1))); }

/// Bounds as attributes before opset 11, as inputs since. Max with the lower bound first, as ONNX defines for min > max.
void clip(Node &n) {
  Value x = n.in(0);
  Value low = n.optional(1), high = n.optional(2);
  if (n.opset < 11) {
    low = n.attr("min") ? n.scalarLike(n.number("min", 0), x) : Value();
    high = n.attr("max") ? n.scalarLike(n.number("max", 0), x) : Value();
  }
  if (low)
    x = n.binary(BinaryKind::max, x, low);
  if (high)
    x = n.binary(BinaryKind::min, x, high);
  n.out(0, x);
}

void gelu(Node &n) {
  bool approximate = n.text("approximate", "none") == "tanh";
  n.out(0, n.unary(approximate ? UnaryKind::gelu_tanh : UnaryKind::gelu, n.in(0)));
}

/// x * sigmoid(alpha * x)
void swish(Node &n) {
  Value x = n.in(0);
  double alpha = n.number("alpha", 1);
  n.out(0, alpha == 1 ? n.unary(UnaryKind::silu, x) : n.mul(x, n.unary(UnaryKind::sigmoid, n.mul(x, n.scalarLike(alpha, x)))));
}

void leakyRelu(Node &n) {
  Value x = n.in(0), zero = n.scalarLike(0, x);
  Value negative = n.binary(BinaryKind::lt, x, zero);
  n.out(0, n.select(negative, n.mul(x, n.scalarLike(n.number("alpha", 0.01), x)), x));
}

void elu(Node &n) {
  Value x = n.in(0);
  Value below = n.binary(BinaryKind::sub, n.unary(UnaryKind::exp, x), n.scalarLike(1, x));
  below = n.mul(below, n.scalarLike(n.number("alpha", 1), x));
  n.out(0, n.select(n.binary(BinaryKind::lt, x, n.scalarLike(0, x)), below, x));
}

/// max(0, min(1, alpha * x + beta))
Value hardSigmoidOf(Node &n, Value x, double alpha, double beta) {
  Value y = n.add(n.mul(x, n.scalarLike(alpha, x)), n.scalarLike(beta, x));
  return n.binary(BinaryKind::max, n.binary(BinaryKind::min, y, n.scalarLike(1, x)), n.scalarLike(0, x));
}
void hardSigmoid(Node &n) { n.out(0, hardSigmoidOf(n, n.in(0), n.number("alpha", 0.2), n.number("beta", 0.5))); }
void hardSwish(Node &n) { n.out(0, n.mul(n.in(0), hardSigmoidOf(n, n.in(0), 1.0 / 6, 0.5))); }

void softsign(Node &n) {
  Value x = n.in(0);
  n.out(0, n.binary(BinaryKind::div, x, n.add(n.scalarLike(1, x), n.unary(UnaryKind::abs, x))));
}

void prelu(Node &n) {
  Value x = n.in(0);
  n.out(0, n.select(n.binary(BinaryKind::lt, x, n.scalarLike(0, x)), n.mul(x, n.in(1)), x));
}

void isInf(Node &n) {
  bool negative = n.integer("detect_negative", 1), positive = n.integer("detect_positive", 1);
  Value x = n.in(0), zero = n.scalarLike(0, x), y = n.unary(UnaryKind::is_inf, x);
  if (!negative)
    y = n.binary(BinaryKind::logical_and, y, n.binary(BinaryKind::gt, x, zero));
  if (!positive)
    y = n.binary(BinaryKind::logical_and, y, n.binary(BinaryKind::lt, x, zero));
  n.out(0, y);
}

/// Inference: the identity, and a mask of ones.
void dropout(Node &n) {
  Value x = n.in(0);
  if (n.has(2) && n.constantNumber(2).value_or(1) != 0 && n.constantNumber(1).value_or(0.5) != 0)
    return (void)n.unsupported("training mode (dropout is the identity here)");
  n.out(0, x);
  if (x && n.wantsOutput(1))
    n.out(1, n.binary(BinaryKind::eq, x, x)); // true but for NaN, which no mask test looks at
}

void identity(Node &n) { n.out(0, n.in(0)); }

const RuleRow rows[] = {
    {"", "Neg", 1, unary<UnaryKind::neg>},
    {"", "Abs", 1, unary<UnaryKind::abs>},
    {"", "Sqrt", 1, unary<UnaryKind::sqrt>},
    {"", "Reciprocal", 1, unary<UnaryKind::reciprocal>},
    {"", "Exp", 1, unary<UnaryKind::exp>},
    {"", "Log", 1, unary<UnaryKind::log>},
    {"", "Sin", 7, unary<UnaryKind::sin>},
    {"", "Cos", 7, unary<UnaryKind::cos>},
    {"", "Tanh", 1, unary<UnaryKind::tanh>},
    {"", "Sigmoid", 1, unary<UnaryKind::sigmoid>},
    {"", "Erf", 9, unary<UnaryKind::erf>},
    {"", "Relu", 1, unary<UnaryKind::relu>},
    {"", "Floor", 1, unary<UnaryKind::floor>},
    {"", "Ceil", 1, unary<UnaryKind::ceil>},
    {"", "Round", 11, unary<UnaryKind::round>},
    {"", "Sign", 9, unary<UnaryKind::sign>},
    {"", "Not", 1, unary<UnaryKind::logical_not>},
    {"", "IsNaN", 9, unary<UnaryKind::is_nan>},
    {"", "IsInf", 10, isInf},
    {"", "Softplus", 1, unary<UnaryKind::softplus>},
    {"", "Add", 7, binary<BinaryKind::add>},
    {"", "Sub", 7, binary<BinaryKind::sub>},
    {"", "Mul", 7, binary<BinaryKind::mul>},
    {"", "Div", 7, binary<BinaryKind::div>},
    {"", "Pow", 7, binary<BinaryKind::pow>},
    {"", "Mod", 10, mod},
    {"", "Min", 6, variadic<BinaryKind::min>},
    {"", "Max", 6, variadic<BinaryKind::max>},
    {"", "Sum", 6, variadic<BinaryKind::add>},
    {"", "Mean", 6, mean},
    {"", "And", 7, binary<BinaryKind::logical_and>},
    {"", "Or", 7, binary<BinaryKind::logical_or>},
    {"", "Xor", 7, binary<BinaryKind::logical_xor>},
    {"", "BitwiseAnd", 18, binary<BinaryKind::bit_and>},
    {"", "BitwiseOr", 18, binary<BinaryKind::bit_or>},
    {"", "BitwiseXor", 18, binary<BinaryKind::bit_xor>},
    {"", "Equal", 7, binary<BinaryKind::eq>},
    {"", "Less", 7, binary<BinaryKind::lt>},
    {"", "LessOrEqual", 12, binary<BinaryKind::le>},
    {"", "Greater", 7, binary<BinaryKind::gt>},
    {"", "GreaterOrEqual", 12, binary<BinaryKind::ge>},
    {"", "Where", 9, where},
    {"", "Cast", 6, cast},
    {"", "CastLike", 15, castLike},
    {"", "Clip", 6, clip},
    {"", "Gelu", 20, gelu},
    {"", "Swish", 24, swish},
    {"", "LeakyRelu", 6, leakyRelu},
    {"", "Elu", 6, elu},
    {"", "HardSigmoid", 6, hardSigmoid},
    {"", "HardSwish", 14, hardSwish},
    {"", "Softsign", 1, softsign},
    {"", "PRelu", 7, prelu},
    {"", "Dropout", 7, dropout},
    {"", "Identity", 1, identity},
};

} // namespace

llvm::ArrayRef<RuleRow> gaudi::import::elementwiseRules() { return rows; }
