//===- Elementwise.cpp - ONNX ops that are one pointwise kind -------------===//
//
// Sources: onnx.ai/onnx/operators, the page of each op. `since` is the opset from which the row's reading of the op is
// right; types that later versions added need no row of their own.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Rules.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

static void importUnary(Node &node) { node.result(node.unary(static_cast<UnaryKind>(node.kind()), node.input(0))); }

static void importBinary(Node &node) {
  node.result(node.binary(static_cast<BinaryKind>(node.kind()), node.input(0), node.input(1)));
}

/// Min, Max and Sum of any number of inputs, from left to right.
static void importVariadic(Node &node) {
  Value result = node.input(0);
  for (int i = 1; i < node.inputCount(); ++i)
    result = node.binary(static_cast<BinaryKind>(node.kind()), result, node.input(i));
  node.result(result);
}

static void importMean(Node &node) {
  Value sum = node.input(0);
  for (int i = 1; i < node.inputCount(); ++i)
    sum = node.add(sum, node.input(i));
  node.result(node.binary(BinaryKind::div, sum, node.scalar(node.inputCount(), sum)));
}

/// Mod-10: fmod=0 takes the sign of the divisor and is for integers only, fmod=1 is C's fmod.
static void importMod(Node &node) {
  auto kind = node.integer("fmod", 0) ? BinaryKind::fmod : BinaryKind::mod;
  Value x = node.input(0);
  if (node.failed())
    return;
  if (kind == BinaryKind::mod && isa<FloatType>(node.elementType(x)))
    return node.invalid("fmod = 0 needs integers (found " + Twine(typeText(x.getType())) + ")");
  node.result(node.binary(kind, x, node.input(1)));
}

/// IsInf-10: either sign can be left out.
static void importIsInf(Node &node) {
  Value x = node.input(0), result = node.unary(UnaryKind::is_inf, x);
  bool positive = node.integer("detect_positive", 1), negative = node.integer("detect_negative", 1);
  if (!positive)
    result = node.binary(BinaryKind::logical_and, result, node.binary(BinaryKind::lt, x, node.scalar(0, x)));
  if (!negative)
    result = node.binary(BinaryKind::logical_and, result, node.binary(BinaryKind::gt, x, node.scalar(0, x)));
  node.result(result);
}

static void importBitwiseNot(Node &node) {
  Value x = node.input(0);
  node.result(node.binary(BinaryKind::bit_xor, x, node.scalar(-1, x)));
}

static void importWhere(Node &node) { node.result(node.select(node.input(0), node.input(1), node.input(2))); }

/// Cast-6..25. `saturate` and `round_mode` concern float 8 types only.
static void importCast(Node &node) {
  DType dtype;
  std::string unsupportedName;
  if (!node.attribute("to"))
    return node.invalid("attribute 'to' is missing");
  if (!dtypeFromOnnx(static_cast<int32_t>(node.integer("to", 0)), dtype, unsupportedName))
    return node.unsupported("type " + Twine(unsupportedName) + " unsupported");
  node.result(node.cast(node.input(0), elementTypeOf(node.loc.getContext(), dtype)));
}

static void importCastLike(Node &node) { node.result(node.cast(node.input(0), node.elementType(node.input(1)))); }

/// Clip-6 has the bounds as attributes, Clip-11 as optional scalar inputs.
static void importClip(Node &node) {
  Value x = node.input(0);
  for (auto [name, index, kind] : {std::tuple("min", 1, BinaryKind::max), std::tuple("max", 2, BinaryKind::min)}) {
    Value bound;
    if (node.attribute(name))
      bound = node.scalar(node.real(name, 0), x);
    else if (node.has(index))
      bound = node.input(index);
    if (bound)
      x = node.binary(kind, x, bound);
  }
  node.result(x);
}

static Rule unary(StringRef op, int64_t since, UnaryKind kind) { return {"", op, since, importUnary, int(kind)}; }
static Rule binary(StringRef op, int64_t since, BinaryKind kind) { return {"", op, since, importBinary, int(kind)}; }
static Rule variadic(StringRef op, int64_t since, BinaryKind kind) {
  return {"", op, since, importVariadic, int(kind)};
}

ArrayRef<Rule> elementwiseRules() {
  static const Rule rules[] = {
      unary("Neg", 6, UnaryKind::neg),
      unary("Abs", 6, UnaryKind::abs),
      unary("Sqrt", 6, UnaryKind::sqrt),
      unary("Reciprocal", 6, UnaryKind::reciprocal),
      unary("Exp", 6, UnaryKind::exp),
      unary("Log", 6, UnaryKind::log),
      unary("Sin", 7, UnaryKind::sin),
      unary("Cos", 7, UnaryKind::cos),
      unary("Tanh", 6, UnaryKind::tanh),
      unary("Sigmoid", 6, UnaryKind::sigmoid),
      unary("Erf", 9, UnaryKind::erf),
      unary("Relu", 6, UnaryKind::relu),
      unary("Floor", 6, UnaryKind::floor),
      unary("Ceil", 6, UnaryKind::ceil),
      unary("Round", 11, UnaryKind::round),
      unary("Sign", 9, UnaryKind::sign),
      unary("Not", 1, UnaryKind::logical_not),
      unary("IsNaN", 9, UnaryKind::is_nan),
      unary("Softplus", 1, UnaryKind::softplus),
      binary("Add", 7, BinaryKind::add),
      binary("Sub", 7, BinaryKind::sub),
      binary("Mul", 7, BinaryKind::mul),
      binary("Div", 7, BinaryKind::div),
      binary("Pow", 7, BinaryKind::pow),
      binary("And", 7, BinaryKind::logical_and),
      binary("Or", 7, BinaryKind::logical_or),
      binary("Xor", 7, BinaryKind::logical_xor),
      binary("Equal", 7, BinaryKind::eq),
      binary("Less", 7, BinaryKind::lt),
      binary("LessOrEqual", 12, BinaryKind::le),
      binary("Greater", 7, BinaryKind::gt),
      binary("GreaterOrEqual", 12, BinaryKind::ge),
      binary("BitwiseAnd", 18, BinaryKind::bit_and),
      binary("BitwiseOr", 18, BinaryKind::bit_or),
      binary("BitwiseXor", 18, BinaryKind::bit_xor),
      variadic("Min", 6, BinaryKind::min),
      variadic("Max", 6, BinaryKind::max),
      variadic("Sum", 6, BinaryKind::add),
      {"", "Mean", 6, importMean},
      {"", "Mod", 10, importMod},
      {"", "IsInf", 10, importIsInf},
      {"", "BitwiseNot", 18, importBitwiseNot},
      {"", "Where", 9, importWhere},
      {"", "Cast", 6, importCast, 0, "no strings, complex, float 8 or 4-bit types"},
      {"", "CastLike", 15, importCastLike},
      {"", "Clip", 6, importClip},
  };
  return rules;
}

} // namespace gaudi::import
