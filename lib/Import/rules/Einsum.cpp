//===- Einsum.cpp - Einsum-12 as transposes and one matmul ----------------===//
//
// Two operands: every label is batch (in both operands and the result), contracted (in both, not in the result), or
// free in one of them. Operands become [batch..., free, contracted] and [batch..., contracted, free], the product
// [batch..., freeLhs, freeRhs] is transposed to the result. Labels of one operand that the result lacks are summed
// first.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gaudi::graph;

namespace gaudi::import {

namespace {

/// A tensor and the label of each of its dims.
struct Labelled {
  Value value;
  std::string labels;
};

struct Equation {
  SmallVector<std::string, 2> inputs;
  std::string output;
};

} // namespace

static std::optional<Equation> parseEquation(Node &node) {
  std::string text = node.string("equation", "");
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  if (StringRef(text).contains('.')) {
    node.unsupported("equation '" + Twine(text) + "' has an ellipsis");
    return std::nullopt;
  }
  Equation equation{{}, right.str()};
  SmallVector<StringRef, 2> inputs;
  left.split(inputs, ',');
  for (StringRef labels : inputs)
    equation.inputs.push_back(labels.str());
  if (StringRef(text).contains("->"))
    return equation;
  // Implicit form: labels that occur once, in alphabetical order.
  for (char c = 'A'; c <= 'z'; ++c)
    if (left.count(c) == 1)
      equation.output += c;
  return equation;
}

static bool isDistinct(StringRef labels) {
  return llvm::all_of(labels, [&](char c) { return llvm::isAlpha(c) && labels.count(c) == 1; });
}

/// Sums over the labels that neither `keep` nor the result has.
static Labelled sumOut(Node &node, Labelled x, StringRef keep) {
  SmallVector<int64_t> axes;
  std::string rest;
  for (auto [i, c] : llvm::enumerate(x.labels))
    keep.contains(c) ? rest.push_back(c) : axes.push_back(static_cast<int64_t>(i));
  return axes.empty() ? x : Labelled{node.reduce(ReduceKind::sum, x.value, axes, /*keepdims=*/false), rest};
}

static Value transposeTo(Node &node, const Labelled &x, StringRef labels) {
  SmallVector<int64_t> permutation;
  for (char c : labels)
    permutation.push_back(static_cast<int64_t>(x.labels.find(c)));
  return x.labels == labels ? x.value : node.transpose(x.value, permutation);
}

/// [batch..., first..., second...] -> [batch..., F, S]. A group of exactly one label needs no reshape.
static Value mergeGroups(Node &node, Value x, size_t batch, size_t first, size_t second) {
  if (first == 1 && second == 1)
    return x;
  SmallVector<int64_t> shape(batch, 0); // 0 copies the dim
  int64_t at = static_cast<int64_t>(batch);
  for (size_t group : {first, second}) {
    int64_t size = 1;
    for (size_t i = 0; i < group; ++i)
      size = ShapedType::isDynamic(node.dim(x, at + i)) || ShapedType::isDynamic(size) ? ShapedType::kDynamic
                                                                                       : size * node.dim(x, at + i);
    at += static_cast<int64_t>(group);
    shape.push_back(size);
  }
  if (llvm::count_if(shape, ShapedType::isDynamic) > 1) {
    node.unsupported("merges several dims of unknown size; give the input shapes with --shape");
    return {};
  }
  std::replace_if(shape.begin(), shape.end(), ShapedType::isDynamic, -1);
  return node.reshape(x, shape);
}

static std::string where(StringRef labels, llvm::function_ref<bool(char)> keep) {
  std::string result;
  llvm::copy_if(labels, std::back_inserter(result), keep);
  return result;
}

/// Splits merged free dims again and brings the labels into the order of the result.
static Value restore(Node &node, Value product, const Labelled &lhs, const Labelled &rhs, StringRef batch,
                     StringRef freeLhs, StringRef freeRhs, StringRef output) {
  std::string labels = (batch + freeLhs + freeRhs).str();
  if (freeLhs.size() != 1 || freeRhs.size() != 1) {
    SmallVector<int64_t> shape(batch.size(), 0);
    auto append = [&](StringRef free, const Labelled &from) {
      for (char c : free)
        shape.push_back(node.dim(from.value, static_cast<int64_t>(from.labels.find(c))));
    };
    append(freeLhs, lhs);
    append(freeRhs, rhs);
    if (llvm::count_if(shape, ShapedType::isDynamic) > 1)
      return node.unsupported("splits several dims of unknown size; give the input shapes with --shape"), Value();
    std::replace_if(shape.begin(), shape.end(), ShapedType::isDynamic, -1);
    product = node.reshape(product, shape);
  }
  return node.failed() ? Value() : transposeTo(node, {product, labels}, output);
}

static void importProduct(Node &node, Labelled lhs, Labelled rhs, StringRef output) {
  lhs = sumOut(node, lhs, rhs.labels + output.str());
  rhs = sumOut(node, rhs, lhs.labels + output.str());
  if (node.failed())
    return;
  StringRef left = lhs.labels, right = rhs.labels;
  std::string batch = where(left, [&](char c) { return right.contains(c) && output.contains(c); });
  std::string contracted = where(left, [&](char c) { return right.contains(c) && !output.contains(c); });
  std::string freeLhs = where(left, [&](char c) { return !right.contains(c); });
  std::string freeRhs = where(right, [&](char c) { return !left.contains(c); });
  Value a = mergeGroups(node, transposeTo(node, lhs, batch + freeLhs + contracted), batch.size(), freeLhs.size(),
                        contracted.size());
  Value b = mergeGroups(node, transposeTo(node, rhs, batch + contracted + freeRhs), batch.size(), contracted.size(),
                        freeRhs.size());
  node.result(restore(node, node.matmul(a, b), lhs, rhs, batch, freeLhs, freeRhs, output));
}

static void importEinsum(Node &node) {
  auto equation = parseEquation(node);
  if (!equation)
    return;
  if (static_cast<int>(equation->inputs.size()) != node.inputCount())
    return node.invalid("equation has " + Twine(equation->inputs.size()) + " terms for " + Twine(node.inputCount()) +
                        " inputs");
  if (equation->inputs.size() > 2)
    return node.unsupported("more than two operands");
  SmallVector<Labelled> operands;
  for (auto [i, labels] : llvm::enumerate(equation->inputs)) {
    Value x = node.input(static_cast<int>(i));
    if (static_cast<int64_t>(labels.size()) != node.rank(x))
      return node.invalid("term '" + Twine(labels) + "' has " + Twine(labels.size()) + " labels for rank " +
                          Twine(node.rank(x)));
    if (!isDistinct(labels))
      return node.unsupported("term '" + Twine(labels) + "' repeats a label");
    operands.push_back({x, labels});
  }
  std::string all = equation->inputs[0] + (operands.size() > 1 ? equation->inputs[1] : "");
  if (!isDistinct(equation->output) ||
      !llvm::all_of(equation->output, [&](char c) { return StringRef(all).contains(c); }))
    return node.invalid("result term '" + Twine(equation->output) + "' repeats a label or has an unknown one");
  if (operands.size() == 2)
    return importProduct(node, operands[0], operands[1], equation->output);
  Labelled x = sumOut(node, operands[0], equation->output);
  if (!node.failed())
    node.result(transposeTo(node, x, equation->output));
}

ArrayRef<Rule> einsumRules() {
  static const Rule rules[] = {
      {"", "Einsum", 12, importEinsum, 0, "at most two operands, no ellipsis, no label twice in a term"}};
  return rules;
}

} // namespace gaudi::import
