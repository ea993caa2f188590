//===- IndexMap.cpp - where the elements of a fused group come from -------===//
#include "lib/Target/cpu/emit/IndexMap.h"

#include "dialects/graph/Graph.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

//===----------------------------------------------------------------------===//
// Affine
//===----------------------------------------------------------------------===//

int64_t Affine::coefficient(unsigned var) const {
  for (auto [v, c] : terms)
    if (v == var)
      return c;
  return 0;
}

void Affine::add(const Affine &other, int64_t factor) {
  offset += factor * other.offset;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 4> sum;
  auto a = terms.begin(), aEnd = terms.end();
  auto b = other.terms.begin(), bEnd = other.terms.end();
  while (a != aEnd || b != bEnd) {
    bool takeA = b == bEnd || (a != aEnd && a->first <= b->first),
         takeB = a == aEnd || (b != bEnd && b->first <= a->first);
    unsigned var = takeA ? a->first : b->first;
    int64_t c = (takeA ? a->second : 0) + (takeB ? factor * b->second : 0);
    if (c)
      sum.push_back({var, c});
    a += takeA;
    b += takeB;
  }
  terms = std::move(sum);
}

//===----------------------------------------------------------------------===//
// IndexSpace
//===----------------------------------------------------------------------===//

IndexSpace::IndexSpace(int64_t count) : variables{{count, 1}}, loops(1), result(Affine::variable(0)) {}

int64_t IndexSpace::outerCount() const {
  int64_t count = 1;
  for (unsigned v = 0; v < run(); ++v)
    count *= variables[v].extent;
  return count;
}

std::pair<int64_t, int64_t> IndexSpace::range(const Affine &index) const {
  int64_t low = index.offset, high = index.offset;
  for (auto [v, c] : index.terms)
    (c < 0 ? low : high) += c * std::max<int64_t>(variables[v].extent - 1, 0);
  return {low, high};
}

unsigned IndexSpace::depthOf(const Affine &index) const {
  unsigned depth = 0;
  for (auto [v, c] : index.terms)
    depth = std::max(depth, variables[v].depth);
  return depth;
}

bool IndexSpace::isPerLane(const Affine &index) const {
  return llvm::any_of(index.terms, [&](auto &term) { return variables[term.first].perLane; });
}

unsigned IndexSpace::addVariable(int64_t extent, unsigned depth, bool perLane) {
  variables.push_back({extent, depth, perLane});
  return variables.size() - 1;
}

std::optional<std::pair<Affine, Affine>> IndexSpace::divide(const Affine &index, int64_t divisor) {
  Affine quotient, rest;
  for (auto [v, c] : index.terms)
    (c % divisor == 0 ? quotient : rest).terms.push_back({v, c % divisor == 0 ? c / divisor : c});
  quotient.offset = llvm::divideFloorSigned(index.offset, divisor);
  rest.offset = index.offset - quotient.offset * divisor;
  auto [low, high] = range(rest);
  int64_t whole = llvm::divideFloorSigned(low, divisor);
  if (whole == llvm::divideFloorSigned(high, divisor)) {
    quotient.offset += whole;
    rest.offset -= whole * divisor;
    return std::pair(quotient, rest);
  }
  for (auto [v, c] : rest.terms) {
    int64_t inner = c > 0 && divisor % c == 0 ? divisor / c : 0;
    if (!refinement && v < loops && inner > 1 && inner < variables[v].extent && variables[v].extent % inner == 0)
      refinement = Refinement{v, inner, false};
  }
  return std::nullopt;
}

/// `result` after variable `variable` became two; later loop variables move up by one.
static Affine splitTerm(const Affine &index, unsigned variable, int64_t inner) {
  Affine out{index.offset, {}};
  for (auto [v, c] : index.terms) {
    if (v == variable) {
      out.terms.push_back({v, c * inner});
      out.terms.push_back({v + 1, c});
    } else
      out.terms.push_back({v > variable ? v + 1 : v, c});
  }
  return out;
}

IndexSpace IndexSpace::split(unsigned variable, int64_t inner) const {
  IndexSpace out(1);
  out.loops = loops + 1;
  out.variables.assign(variables.begin(), variables.begin() + loops);
  out.variables[variable].extent /= inner;
  out.variables.insert(out.variables.begin() + variable + 1, {inner, variables[variable].depth});
  out.variables[variable].depth = 0; // only the run is known late
  out.result = splitTerm(result, variable, inner);
  return out;
}

std::pair<IndexSpace, IndexSpace> IndexSpace::cut(unsigned variable, int64_t at) const {
  std::pair<IndexSpace, IndexSpace> out{*this, *this};
  for (IndexSpace *half : {&out.first, &out.second}) {
    half->variables.resize(loops);
    half->refinement.reset();
  }
  out.first.variables[variable].extent = at;
  out.second.variables[variable].extent -= at;
  out.second.result.offset += at * result.coefficient(variable);
  return out;
}

//===----------------------------------------------------------------------===//
// StridedView
//===----------------------------------------------------------------------===//

StridedView::StridedView(ArrayRef<int64_t> extents, ArrayRef<int64_t> strides, int64_t offset) : offset(offset) {
  for (auto [extent, stride] : llvm::zip(extents, strides)) {
    if (extent == 1)
      continue;
    if (!dims.empty() && dims.back().stride == stride * extent)
      dims.back() = {dims.back().extent * extent, stride};
    else
      dims.push_back({extent, stride});
  }
}

SmallVector<int64_t> cpu::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

static ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }

static StridedView broadcastView(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  SmallVector<int64_t> own = rowMajorStrides(from), strides(to.size(), 0);
  for (size_t i = 0, lead = to.size() - from.size(); i < from.size(); ++i)
    strides[lead + i] = from[i] == 1 ? 0 : own[i];
  return {to, strides};
}

static StridedView sliceView(SliceOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getInput()), starts = *op.getStarts();
  SmallVector<int64_t> strides = rowMajorStrides(from);
  int64_t offset = 0;
  for (auto [i, axis] : llvm::enumerate(op.getAxes())) {
    int64_t dim = from[axis], step = op.getSteps() ? (*op.getSteps())[i] : 1, start = starts[i];
    start = start < 0 ? std::max(start, -dim - 1) + dim : start; // INT64_MIN must not overflow
    start = std::clamp<int64_t>(start, 0, step > 0 ? dim : dim - 1);
    offset += start * strides[axis];
    strides[axis] *= step;
  }
  return {shapeOf(op.getResult()), strides, offset};
}

std::optional<StridedView> cpu::operandView(Operation *op, unsigned operand) {
  Value from = op->getOperand(operand), to = op->getResult(0);
  if (isa<UnaryOp, BinaryOp, SelectOp, CastOp, BroadcastOp>(op))
    return broadcastView(shapeOf(from), shapeOf(to));
  if (isa<ReshapeOp, SqueezeOp, UnsqueezeOp>(op))
    return StridedView({cast<RankedTensorType>(to.getType()).getNumElements()}, {1});
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    SmallVector<int64_t> own = rowMajorStrides(shapeOf(from)), strides;
    for (int64_t p : transpose.getPermutation())
      strides.push_back(own[p]);
    return StridedView(shapeOf(to), strides);
  }
  if (auto slice = dyn_cast<SliceOp>(op))
    return sliceView(slice);
  return std::nullopt;
}
