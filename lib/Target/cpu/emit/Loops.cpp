//===- Loops.cpp - loops and row arithmetic of the emitters ---------------===//
#include "lib/Target/cpu/emit/Loops.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using graph::ReduceKind;

static Value constant(OpBuilder &b, Location loc, int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }

Indices cpu::leadingIndices(OpBuilder &b, Location loc, Value row, ArrayRef<int64_t> dims) {
  Indices indices(dims.size());
  if (dims.empty())
    return indices;
  for (size_t i = dims.size() - 1; i-- > 0;) {
    Value n = constant(b, loc, std::max<int64_t>(dims[i], 1));
    indices[i] = {i ? Value(arith::RemUIOp::create(b, loc, row, n)) : row, false};
    if (i)
      row = arith::DivUIOp::create(b, loc, row, n);
  }
  return indices;
}

void cpu::forRow(OpBuilder &b, Location loc, int64_t n, int64_t width, llvm::function_ref<void(Index, int64_t)> body) {
  int64_t full = width > 1 ? n / width * width : 0;
  if (full)
    forLoop(b, loc, constant(b, loc, 0), constant(b, loc, full), width, [&](Value j) { body({j, true}, width); });
  if (full < n)
    forLoop(b, loc, constant(b, loc, full), constant(b, loc, n), 1, [&](Value j) { body({j, false}, 1); });
}

namespace {

TypedAttr identity(OpBuilder &b, ReduceKind kind, Type type) {
  double inf = std::numeric_limits<double>::infinity();
  double value = kind == ReduceKind::max ? -inf : kind == ReduceKind::min ? inf : 0;
  auto scalar = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return DenseElementsAttr::get(vector, scalar.getValue());
  return scalar;
}

Value combine(OpBuilder &b, Location loc, ReduceKind kind, Value x, Value y) {
  if (kind == ReduceKind::max)
    return arith::MaximumFOp::create(b, loc, x, y);
  if (kind == ReduceKind::min)
    return arith::MinimumFOp::create(b, loc, x, y);
  return arith::AddFOp::create(b, loc, x, y);
}

vector::CombiningKind combining(ReduceKind kind) {
  return kind == ReduceKind::max ? vector::CombiningKind::MAXIMUMF
                                 : kind == ReduceKind::min ? vector::CombiningKind::MINIMUMF : vector::CombiningKind::ADD;
}

/// One loop with `count` accumulators, `count` registers of `width` a step.
SmallVector<Value> accumulate(OpBuilder &b, Location loc, int64_t low, int64_t high, int64_t width, ReduceKind kind,
                              SmallVector<Value> init, llvm::function_ref<Value(Index, int64_t)> x) {
  int64_t step = width * static_cast<int64_t>(init.size());
  if (low >= high)
    return init;
  auto loop = scf::ForOp::create(b, loc, constant(b, loc, low), constant(b, loc, high), constant(b, loc, step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> next;
  for (auto [i, acc] : llvm::enumerate(loop.getRegionIterArgs())) {
    Value j = arith::AddIOp::create(b, loc, loop.getInductionVar(), constant(b, loc, i * width));
    next.push_back(combine(b, loc, kind, acc, x({j, width > 1}, width)));
  }
  scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(loop.getResults());
}

} // namespace

Value cpu::reduceRow(OpBuilder &b, Location loc, int64_t n, int64_t width, ReduceKind kind, Type type,
                     llvm::function_ref<Value(Index, int64_t)> x) {
  constexpr int64_t chains = 4; // hides the 4-cycle latency of an addition
  Value total = arith::ConstantOp::create(b, loc, identity(b, kind, type));
  int64_t at = 0;
  if (width > 1 && n >= width) {
    auto vector = VectorType::get({width}, type);
    Value start = arith::ConstantOp::create(b, loc, identity(b, kind, vector));
    int64_t wide = n / (width * chains) * width * chains, full = n / width * width;
    SmallVector<Value> acc = accumulate(b, loc, 0, wide, width, kind, SmallVector<Value>(chains, start), x);
    Value one = combine(b, loc, kind, combine(b, loc, kind, acc[0], acc[1]), combine(b, loc, kind, acc[2], acc[3]));
    one = accumulate(b, loc, wide, full, width, kind, {one}, x)[0];
    total = vector::ReductionOp::create(b, loc, combining(kind), one);
    at = full;
  }
  return accumulate(b, loc, at, n, 1, kind, {total}, x)[0];
}
