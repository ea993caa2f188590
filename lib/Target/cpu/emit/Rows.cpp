//===- Rows.cpp - kernels that need statistics of a row -------------------===//
//
// softmax, layer_norm, rms_norm and reductions along the last dim, with any regular producers (residual additions,
// embedding gathers) and consumers in the same row space. One task = one row: the input row is computed once into
// scratch in fp32, statistics come from there, and consumers are computed from it.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }
static ValueRange yielded(GroupOp group) { return group.getBody().front().getTerminator()->getOperands(); }
static bool isFp32Computed(Type t) { return t.isF32() || t.isF16() || t.isBF16(); }

namespace {

/// Ops that need a pass over the row before any of their elements is known.
bool isRowOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](SoftmaxOp s) { return s.getAxis() == tensorOf(s.getInput()).getRank() - 1; })
      .Case<LayerNormOp, RmsNormOp>([](auto n) { return static_cast<int64_t>(n.getAxis()) == tensorOf(n.getInput()).getRank() - 1; })
      .Case([](ReduceOp r) {
        bool kind = r.getKind() != ReduceKind::prod;
        return kind && r.getAxes().size() == 1 && r.getAxes()[0] == tensorOf(r.getInput()).getRank() - 1;
      })
      .Default([](Operation *) { return false; });
}

/// Dims of the row space: those of the row ops' inputs, all equal.
std::optional<ArrayRef<int64_t>> rowSpace(GroupOp group) {
  std::optional<ArrayRef<int64_t>> dims;
  for (Operation &op : group.getBody().front()) {
    if (!isRowOp(&op))
      continue;
    auto type = tensorOf(op.getOperand(0));
    if (!isFp32Computed(type.getElementType()) || (dims && *dims != type.getShape()))
      return std::nullopt;
    dims = type.getShape();
  }
  return dims;
}

/// Results either span the row space or are one value per row (a reduction).
bool isPerRow(ArrayRef<int64_t> result, ArrayRef<int64_t> space) {
  ArrayRef<int64_t> rows = space.drop_back();
  return result == rows || (result.size() == space.size() && result.drop_back() == rows && result.back() == 1);
}

bool canFollow(GroupOp group, ArrayRef<int64_t> space) {
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (isRowOp(&op))
      continue;
    bool plain = isa<UnaryOp, BinaryOp, SelectOp, CastOp, BroadcastOp, GatherOp, ReshapeOp, SliceOp, TransposeOp>(op) ||
                 (isa<ConstantOp>(op) && isa<SplatElementsAttr>(cast<ConstantOp>(op).getValue()));
    if (!plain)
      return false;
  }
  return llvm::all_of(group.getResultTypes(), [&](Type t) {
    ArrayRef<int64_t> dims = cast<RankedTensorType>(t).getShape();
    return dims == space || isPerRow(dims, space);
  });
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  GroupOp group = request.group;
  std::optional<ArrayRef<int64_t>> space = rowSpace(group);
  if (!space || !canFollow(group, *space))
    return std::nullopt;
  unsigned rowOps = llvm::count_if(group.getBody().front(), [](Operation &op) { return isRowOp(&op); });
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  sizeGrid(plan, rowCount(*space), rowLength(*space), request.threads);
  plan.scratchBytes = llvm::alignTo(rowLength(*space) * 4, 64) * rowOps;
  return plan;
}

class RowEmitter {
public:
  RowEmitter(const EmitRequest &request, KernelBuilder &k)
      : k(k), b(k.builder), loc(k.builder.getUnknownLoc()), group(request.group), space(*rowSpace(group)), n(rowLength(space)),
        values(k, group) {
    Block &body = group.getBody().front();
    bool regular = llvm::all_of(body, [&](Operation &op) {
      return !isRowOp(&op) || llvm::all_of(op.getOperands(), [&](Value v) { return tensorOf(v).getRank() == 0 || lanesRegular(v); });
    }) && llvm::all_of(yielded(group), [&](Value v) { return isPerRow(tensorOf(v).getShape(), space) || lanesRegular(v); });
    width = regular ? request.isa.lanesF32() : 1;
  }

  void run() {
    forLoop(b, loc, k.lo, k.hi, 1, [&](Value row) {
      lead = leadingIndices(b, loc, row, space);
      for (Operation &op : group.getBody().front())
        if (isRowOp(&op))
          rowOp(&op);
      for (auto [i, v] : llvm::enumerate(yielded(group)))
        storeResult(i, v);
    });
    values.finish();
  }

private:
  Value f32(double v) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v)); }
  Value splat(Value scalar, int64_t w) {
    return w > 1 ? Value(vector::BroadcastOp::create(b, loc, VectorType::get({w}, scalar.getType()), scalar)) : scalar;
  }
  Indices at(Index j) {
    Indices indices = lead;
    indices.back() = j;
    return indices;
  }

  /// Operand of a row op (possibly broadcast along leading dims) at column j.
  Value operand(Value v, Index j, int64_t w) {
    auto type = tensorOf(v);
    Indices own;
    for (int64_t i = 0, skip = space.size() - type.getRank(); i < type.getRank(); ++i) {
      Index index = static_cast<size_t>(skip + i) + 1 == space.size() ? j : lead[skip + i];
      own.push_back(type.getDimSize(i) == 1 ? Index{arith::ConstantIndexOp::create(b, loc, 0), false} : index);
    }
    return values.at(v, own, w);
  }

  /// A fresh row of n floats in this worker's scratch.
  Value scratchRow() {
    auto type = MemRefType::get({n}, b.getF32Type());
    Value offset = arith::ConstantIndexOp::create(b, loc, llvm::alignTo(n * 4, 64) * usedRows++);
    return memref::ViewOp::create(b, loc, type, k.scratch, offset, ValueRange());
  }
  Value loadRow(Value row, Index j, int64_t w) {
    if (w > 1)
      return vector::LoadOp::create(b, loc, VectorType::get({w}, b.getF32Type()), row, ValueRange{j.base});
    return memref::LoadOp::create(b, loc, row, ValueRange{j.base});
  }
  void storeRow(Value row, Value x, Index j, int64_t w) {
    if (w > 1)
      vector::StoreOp::create(b, loc, x, row, ValueRange{j.base});
    else
      memref::StoreOp::create(b, loc, x, row, ValueRange{j.base});
  }

  Value reduce(ReduceKind kind, llvm::function_ref<Value(Index, int64_t)> x) {
    return reduceRow(b, loc, n, width, kind, b.getF32Type(), x);
  }

  void rowOp(Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](SoftmaxOp s) { softmax(s); })
        .Case([&](LayerNormOp l) { normalise(l, l.getScale(), l.getBias(), l.getEpsilon().convertToDouble(), true); })
        .Case([&](RmsNormOp r) { normalise(r, r.getScale(), Value(), r.getEpsilon().convertToDouble(), false); })
        .Case([&](ReduceOp r) { statistic(r); });
  }

  /// Three passes over a row that stays in L1: max (and copy), exp and sum, scale on use.
  void softmax(SoftmaxOp op) {
    Value row = scratchRow();
    Value top = reduce(ReduceKind::max, [&](Index j, int64_t w) {
      Value x = operand(op.getInput(), j, w);
      storeRow(row, x, j, w);
      return x;
    });
    bool log = op.getLog();
    Value sum = reduce(ReduceKind::sum, [&](Index j, int64_t w) {
      Value shifted = arith::SubFOp::create(b, loc, loadRow(row, j, w), splat(top, w));
      Value e = emitUnary(b, loc, UnaryKind::exp, shifted);
      storeRow(row, log ? shifted : e, j, w);
      return e;
    });
    Value factor = log ? emitUnary(b, loc, UnaryKind::log, sum) : Value(arith::DivFOp::create(b, loc, f32(1), sum));
    values.override(op.getResult(), [=, this](ArrayRef<Index> indices, int64_t w) -> Value {
      Value x = loadRow(row, indices.back(), w);
      if (log)
        return arith::SubFOp::create(b, loc, x, splat(factor, w));
      return arith::MulFOp::create(b, loc, x, splat(factor, w));
    });
  }

  /// Two passes for the variance: E[x^2] - mean^2 cancels when the mean is large.
  template <typename OpT> void normalise(OpT op, Value scale, Value bias, double epsilon, bool centred) {
    Value row = scratchRow();
    Value inverseN = f32(1.0 / static_cast<double>(n));
    Value sum = reduce(ReduceKind::sum, [&](Index j, int64_t w) {
      Value x = operand(op.getInput(), j, w);
      storeRow(row, x, j, w);
      return x;
    });
    Value mean = centred ? Value(arith::MulFOp::create(b, loc, sum, inverseN)) : f32(0);
    Value squares = reduce(ReduceKind::sum, [&](Index j, int64_t w) {
      Value d = arith::SubFOp::create(b, loc, loadRow(row, j, w), splat(mean, w));
      return Value(arith::MulFOp::create(b, loc, d, d));
    });
    Value variance = arith::MulFOp::create(b, loc, squares, inverseN);
    Value deviation = math::SqrtOp::create(b, loc, arith::AddFOp::create(b, loc, variance, f32(epsilon)));
    Value inverse = arith::DivFOp::create(b, loc, f32(1), deviation);
    values.override(op.getResult(), [=, this](ArrayRef<Index> indices, int64_t w) {
      Index j = indices.back();
      Value y = arith::SubFOp::create(b, loc, loadRow(row, j, w), splat(mean, w));
      y = arith::MulFOp::create(b, loc, y, splat(inverse, w));
      if (scale)
        y = arith::MulFOp::create(b, loc, y, operand(scale, j, w));
      if (bias)
        y = arith::AddFOp::create(b, loc, y, operand(bias, j, w));
      return y;
    });
  }

  void statistic(ReduceOp op) {
    bool mean = op.getKind() == ReduceKind::mean, squares = op.getKind() == ReduceKind::sumsq;
    ReduceKind kind = mean || squares ? ReduceKind::sum : op.getKind();
    Value total = reduce(kind, [&](Index j, int64_t w) {
      Value x = operand(op.getInput(), j, w);
      return squares ? Value(arith::MulFOp::create(b, loc, x, x)) : x;
    });
    if (mean)
      total = arith::DivFOp::create(b, loc, total, f32(static_cast<double>(n)));
    values.override(op.getResult(), [=, this](ArrayRef<Index>, int64_t w) { return splat(total, w); });
  }

  void storeResult(unsigned i, Value v) {
    ArrayRef<int64_t> dims = tensorOf(v).getShape();
    if (dims == space && !(dims.back() == 1 && isa_and_nonnull<ReduceOp>(v.getDefiningOp()))) {
      forRow(b, loc, n, width, [&](Index j, int64_t w) { values.store(i, values.at(v, at(j), w), at(j), w); });
      return;
    }
    Indices indices(lead);
    if (dims.size() == space.size())
      indices.back() = {arith::ConstantIndexOp::create(b, loc, 0), false};
    else
      indices.pop_back();
    values.store(i, values.at(v, indices, 1), indices, 1);
  }

  KernelBuilder &k;
  OpBuilder &b;
  Location loc;
  GroupOp group;
  ArrayRef<int64_t> space;
  int64_t n, width = 1;
  ElementEmitter values;
  Indices lead;
  int64_t usedRows = 0;
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { RowEmitter(request, k).run(); }

} // namespace

Emitter cpu::rowsEmitter() { return {"rows", match, emit}; }
