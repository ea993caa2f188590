//===- Generic.cpp - any other primitive ----------------------------------===//
//
// Reductions over any dims, arg_reduce, cumsum and matrix products of any element type: for every element of the result
// (vectors along the run where that is contiguous) a loop nest over the dims that vanish. The last resort, correct
// first.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/PieceLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

namespace {

RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }
ArrayRef<int64_t> shapeOf(Value v) { return tensorOf(v).getShape(); }

/// What one element of the result (one line of it for cumsum) reads: operand i at kept[i] of its number, plus the loop
/// variables times loopStrides[i].
struct Nest {
  int64_t count = 1; ///< elements, lines
  SmallVector<int64_t> extents;
  SmallVector<Value> operands;
  SmallVector<StridedView> kept;
  SmallVector<SmallVector<int64_t>> loopStrides;

  int64_t cost() const {
    int64_t n = 1;
    for (int64_t e : extents)
      n *= e;
    return n;
  }
  Affine access(IndexWalk &walk, unsigned operand, ArrayRef<unsigned> variables) const {
    Affine index = walk.viewIndex(kept[operand], walk.space.result);
    for (auto [variable, stride] : llvm::zip(variables, loopStrides[operand]))
      index.add(Affine::variable(variable), stride);
    return index;
  }
};

/// Dims of `input` without and with membership in `axes`.
Nest lineNest(Value input, ArrayRef<int64_t> axes) {
  ArrayRef<int64_t> dims = shapeOf(input);
  SmallVector<int64_t> strides = rowMajorStrides(dims), keptExtents, keptStrides, extents, loop;
  for (auto [i, d] : llvm::enumerate(dims)) {
    bool isLoop = llvm::is_contained(axes, static_cast<int64_t>(i));
    (isLoop ? extents : keptExtents).push_back(d);
    (isLoop ? loop : keptStrides).push_back(strides[i]);
  }
  StridedView merged(extents, loop); // fewer, longer loops
  Nest nest;
  for (int64_t e : keptExtents)
    nest.count *= e;
  bool isEmpty = llvm::is_contained(extents, 0);
  nest.extents = isEmpty ? SmallVector<int64_t>{0} : llvm::map_to_vector(merged.dims, [](auto &d) { return d.extent; });
  nest.loopStrides.push_back(isEmpty ? SmallVector<int64_t>{0}
                                     : llvm::map_to_vector(merged.dims, [](auto &d) { return d.stride; }));
  nest.operands = {input};
  nest.kept.push_back(StridedView(keptExtents, keptStrides));
  return nest;
}

Nest productNest(MatMulOp op) {
  ArrayRef<int64_t> to = shapeOf(op.getResult());
  Nest nest;
  nest.count = tensorOf(op.getResult()).getNumElements();
  auto addOperand = [&](Value v, bool isLhs, bool transposed) {
    ArrayRef<int64_t> from = shapeOf(v);
    SmallVector<int64_t> own = rowMajorStrides(from), strides(to.size(), 0);
    size_t rank = from.size(), lead = to.size() - rank;
    for (size_t i = 0; i + 2 < rank; ++i)
      strides[lead + i] = from[i] == 1 ? 0 : own[i];
    size_t depth = rank - (isLhs != transposed ? 1 : 2), other = rank - (isLhs != transposed ? 2 : 1);
    strides[to.size() - (isLhs ? 2 : 1)] = own[other];
    nest.extents = {from[depth]};
    nest.operands.push_back(v);
    nest.kept.push_back(StridedView(to, strides));
    nest.loopStrides.push_back({own[depth]});
  };
  addOperand(op.getLhs(), true, op.getTransposeLhs());
  addOperand(op.getRhs(), false, op.getTransposeRhs());
  return nest;
}

/// The only op that is not a constant, if it is one of ours.
Operation *soleOp(GroupOp group) {
  Operation *sole = nullptr;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    if (sole)
      return nullptr;
    sole = &op;
  }
  return isa_and_nonnull<ReduceOp, ArgReduceOp, CumSumOp, MatMulOp>(sole) ? sole : nullptr;
}

Nest nestOf(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return lineNest(reduce.getInput(), reduce.getAxes());
  if (auto arg = dyn_cast<ArgReduceOp>(op))
    return lineNest(arg.getInput(), {static_cast<int64_t>(arg.getAxis())});
  if (auto sum = dyn_cast<CumSumOp>(op))
    return lineNest(sum.getInput(), {static_cast<int64_t>(sum.getAxis())});
  return productNest(cast<MatMulOp>(op));
}

/// Refines the result's space until all operands are affine in it.
std::optional<Piece> analyse(const Nest &nest) {
  IndexSpace space(nest.count);
  while (true) {
    IndexSpace extended = space;
    SmallVector<unsigned> variables;
    for (auto [i, extent] : llvm::enumerate(nest.extents))
      variables.push_back(extended.addVariable(extent, 2 + i, false));
    std::optional<Refinement> wanted;
    auto roots = [&](IndexWalk &walk, auto &accesses) {
      for (auto [i, operand] : llvm::enumerate(nest.operands))
        accesses.push_back({operand, nest.access(walk, i, variables)});
    };
    std::optional<Piece> piece = FusedAnalysis::walk(roots, extended, /*mayCut=*/false, wanted);
    if (piece)
      piece->space = space;
    if (piece || !wanted)
      return piece;
    space = space.split(wanted->variable, wanted->at);
  }
}

std::optional<KernelPlan> match(const EmitRequest &request) {
  GroupOp group = request.group;
  Operation *op = soleOp(group);
  if (!op)
    return std::nullopt;
  Nest nest = nestOf(op);
  std::optional<Piece> piece = analyse(nest);
  if (!piece)
    return std::nullopt;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.inPlace.resize(1);
  plan.grid = piece->isEmpty() ? 1 : Tasks(piece->space, nest.cost()).count();
  return plan;
}

class GenericEmitter {
public:
  GenericEmitter(const EmitRequest &request, KernelBuilder &k)
      : fused(k, request.group), loops(fused, k, request.isa, request.group), op(soleOp(request.group)),
        nest(nestOf(op)) {}

  void run() {
    Piece piece = *analyse(nest);
    if (isa<CumSumOp>(op)) // its stores must be contiguous too
      piece.perLane |= nest.kept[0].dims.empty() || nest.kept[0].dims.back().stride != 1;
    piece.widestBytes = std::max(piece.widestBytes, isa<ArgReduceOp>(op) ? 8u : 1u);
    if (auto reduce = dyn_cast<ReduceOp>(op); reduce && accumulated(reduce.getKind()) != element0())
      piece.widestBytes = 8;
    if (isa<ReduceOp, MatMulOp>(op))
      loops.registersPerVector = 4; // independent chains
    loops.emit(piece, Tasks(piece.space, nest.cost()), [&] { element(); });
    fused.finish();
  }

private:
  OpBuilder &b() { return fused.builder(); }
  Type element0() { return tensorOf(nest.operands[0]).getElementType(); }

  /// The mean of integers divides a sum that has not wrapped.
  Type accumulated(ReduceKind kind) {
    return kind == ReduceKind::mean && isa<IntegerType>(element0()) ? b().getI64Type() : element0();
  }

  Value splat(Value scalar) { return fused.full({scalar, true, kInnermost}); }
  Value literal(TypedAttr attr) { return splat(arith::ConstantOp::create(b(), fused.loc, attr)); }
  Value operand(unsigned i) { return fused.full(fused.at(nest.operands[i], nest.access(fused, i, variables))); }

  void element() {
    variables.clear();
    Affine where = fused.space.result;
    if (auto reduce = dyn_cast<ReduceOp>(op)) {
      ReduceKind kind = reduce.getKind();
      Type type = accumulated(kind);
      SmallVector<Value> acc =
          loopNest(0, {literal(reduceIdentity(kind, type))}, [&](ArrayRef<Value> a) -> SmallVector<Value> {
            Value x = type == element0() ? operand(0) : emitElementCast(b(), fused.loc, operand(0), element0(), type);
            return {emitReduceStep(b(), fused.loc, kind, a[0], x, type)};
          });
      Value end = emitReduceEnd(b(), fused.loc, kind, acc[0], nest.cost(), type);
      fused.store(0, where, type == element0() ? end : emitElementCast(b(), fused.loc, end, type, element0()));
    } else if (isa<MatMulOp>(op)) {
      SmallVector<Value> acc = loopNest(
          0, {literal(reduceIdentity(ReduceKind::sum, element0()))},
          [&](ArrayRef<Value> a) -> SmallVector<Value> { return {multiplyAdd(operand(0), operand(1), a[0])}; });
      fused.store(0, where, acc[0]);
    } else if (auto arg = dyn_cast<ArgReduceOp>(op))
      fused.store(0, where, argReduce(arg));
    else
      cumulate(cast<CumSumOp>(op));
  }

  Value multiplyAdd(Value x, Value y, Value acc) {
    if (isa<FloatType>(element0()))
      return math::FmaOp::create(b(), fused.loc, x, y, acc);
    return arith::AddIOp::create(b(), fused.loc, acc, arith::MulIOp::create(b(), fused.loc, x, y));
  }

  /// Loops over the extents from number `level` on, carrying `init`.
  SmallVector<Value> loopNest(size_t level, SmallVector<Value> init,
                              llvm::function_ref<SmallVector<Value>(ArrayRef<Value>)> body) {
    if (level == nest.extents.size())
      return body(init);
    auto loop =
        scf::ForOp::create(b(), fused.loc, loops.index(0), loops.index(nest.extents[level]), loops.index(1), init);
    fused.enter(loop);
    variables.push_back(fused.addLoop(nest.extents[level], 2 + level, loop.getInductionVar()));
    SmallVector<Value> carried(loop.getRegionIterArgs());
    SmallVector<Value> next = loopNest(level + 1, carried, body);
    scf::YieldOp::create(b(), fused.loc, next);
    fused.leave();
    return SmallVector<Value>(loop.getResults());
  }

  /// x is a better extreme than `best`: NaN beats every number, as in numpy; among equals the first or the last wins.
  Value isBetter(ArgReduceOp arg, Value x, Value best) {
    Type type = element0();
    auto compare = [&](BinaryKind kind, Value l, Value r) {
      return emitElementBinary(b(), fused.loc, kind, l, r, type, type);
    };
    bool orEqual = arg.getSelectLast();
    BinaryKind kind =
        arg.getMin() ? (orEqual ? BinaryKind::le : BinaryKind::lt) : (orEqual ? BinaryKind::ge : BinaryKind::gt);
    Value better = compare(kind, x, best);
    if (!isa<FloatType>(type))
      return better;
    auto isNan = [&](Value v) {
      return arith::CmpFOp::create(b(), fused.loc, arith::CmpFPredicate::UNO, v, v).getResult();
    };
    Value wins = isNan(x);
    if (!orEqual) // comparisons with a NaN are false: only NaN can replace NaN
      wins = arith::AndIOp::create(b(), fused.loc, wins,
                                   arith::CmpFOp::create(b(), fused.loc, arith::CmpFPredicate::ORD, best, best));
    return arith::OrIOp::create(b(), fused.loc, better, wins);
  }

  /// Carries the best value and its place.
  Value argReduce(ArgReduceOp arg) {
    Type type = element0();
    Value zero = splat(arith::ConstantIntOp::create(b(), fused.loc, 0, 64));
    ReduceKind kind = arg.getMin() ? ReduceKind::min : ReduceKind::max;
    Value start = literal(reduceIdentity(kind, type));
    Value none = splat(arith::ConstantIntOp::create(b(), fused.loc, 1, 1)); // nothing seen yet
    SmallVector<Value> best = loopNest(0, {start, zero, none}, [&](ArrayRef<Value> a) -> SmallVector<Value> {
      Value x = operand(0);
      Value better = arith::OrIOp::create(b(), fused.loc, isBetter(arg, x, a[0]), a[2]);
      // A dim of extent 1 has no loop.
      Value place = variables.empty() ? loops.index(0) : fused.indexValue(Affine::variable(variables[0]));
      Value here = arith::IndexCastOp::create(b(), fused.loc, b().getI64Type(), place);
      Value no = splat(arith::ConstantIntOp::create(b(), fused.loc, 0, 1));
      return {arith::SelectOp::create(b(), fused.loc, better, x, a[0]),
              arith::SelectOp::create(b(), fused.loc, better, splat(here), a[1]), no};
    });
    return best[1];
  }

  void cumulate(CumSumOp sum) {
    int64_t n = nest.extents.empty() ? 1 : nest.extents[0];
    if (sum.getReverse() && !nest.extents.empty()) { // walk backwards: position n-1-i
      nest.kept[0].offset = (n - 1) * std::abs(nest.loopStrides[0][0]);
      nest.loopStrides[0][0] = -std::abs(nest.loopStrides[0][0]);
    }
    loopNest(0, {literal(reduceIdentity(ReduceKind::sum, element0()))}, [&](ArrayRef<Value> a) -> SmallVector<Value> {
      Value next = emitReduceStep(b(), fused.loc, ReduceKind::sum, a[0], operand(0), element0());
      fused.store(0, nest.access(fused, 0, variables), sum.getExclusive() ? a[0] : next);
      return {next};
    });
  }

  static constexpr unsigned kInnermost = 99;
  FusedEmitter fused;
  PieceLoops loops;
  Operation *op;
  Nest nest;
  SmallVector<unsigned> variables; ///< of the loops open inside
};

void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) { GenericEmitter(request, k).run(); }

} // namespace

Emitter cpu::genericEmitter() { return {"generic", match, emit}; }
