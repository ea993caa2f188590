//===- PieceLoops.cpp - the loops over a piece of the result --------------===//
#include "lib/Target/cpu/emit/PieceLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

/// About 10 us of work: claiming a task (0.1 us) does not show, and 64 workers have enough of them from 0.5 M elements
/// on.
static constexpr int64_t kElementsPerTask = 8192;

Tasks::Tasks(const IndexSpace &space, int64_t cost) : rows(space.outerCount()), run(space.runExtent()), part(run) {
  int64_t perTask = std::max<int64_t>(kElementsPerTask / std::max<int64_t>(cost, 1), 64);
  if (run >= 2 * perTask) {
    part = llvm::alignTo(llvm::divideCeil(run, run / perTask), 64); // whole vectors of any type
    partsPerRow = llvm::divideCeil(run, part);
  } else
    rowsPerTask = std::max<int64_t>(perTask / std::max<int64_t>(run, 1), 1);
}

int64_t Tasks::count() const { return partsPerRow > 1 ? rows * partsPerRow : llvm::divideCeil(rows, rowsPerTask); }

Value PieceLoops::index(int64_t v) { return arith::ConstantIndexOp::create(f.builder(), f.loc, v); }

void PieceLoops::loop(Value low, Value high, int64_t step, llvm::function_ref<void(Value)> body) {
  auto op = scf::ForOp::create(f.builder(), f.loc, low, high, index(step));
  f.enter(op);
  body(op.getInductionVar());
  f.leave();
}

/// The task and row loops of the next `tasks.count()` tasks of the grid.
void PieceLoops::emitTasks(const Tasks &tasks, RowBody emitRow) {
  int64_t begin = first;
  first += tasks.count();
  Value low = make<arith::MaxSIOp>(k.lo, index(begin)), high = make<arith::MinSIOp>(k.hi, index(first));
  loop(low, high, 1, [&](Value task) {
    Value own = make<arith::SubIOp>(task, index(begin));
    if (tasks.partsPerRow > 1) {
      Value row = make<arith::DivUIOp>(own, index(tasks.partsPerRow));
      Value at = make<arith::MulIOp>(make<arith::RemUIOp>(own, index(tasks.partsPerRow)), index(tasks.part));
      Value end = make<arith::MinSIOp>(make<arith::AddIOp>(at, index(tasks.part)), index(tasks.run));
      loop(row, make<arith::AddIOp>(row, index(1)), 1, [&](Value r) { emitRow(r, at, end, std::nullopt); });
      return;
    }
    Value row = make<arith::MulIOp>(own, index(tasks.rowsPerTask));
    Value end = make<arith::MinSIOp>(make<arith::AddIOp>(row, index(tasks.rowsPerTask)), index(tasks.rows));
    loop(row, end, 1, [&](Value r) { emitRow(r, index(0), index(tasks.run), tasks.run); });
  });
}

void PieceLoops::emit(const Piece &piece, const Tasks &tasks, Body body) {
  if (!piece.isEmpty())
    emitTasks(tasks, [&](Value row, Value begin, Value end, std::optional<int64_t> count) {
      emitRow(piece, row, begin, end, count, body);
    });
}

void PieceLoops::emitStrips(const Piece &piece, const Tasks &tasks, int64_t side,
                            llvm::function_ref<void(Value)> body) {
  emitTasks(tasks, [&](Value row, Value begin, Value end, std::optional<int64_t>) {
    bindOuter(piece, row);
    loop(begin, end, side, body);
  });
}

void PieceLoops::bindOuter(const Piece &piece, Value row) {
  f.begin(piece.space);
  for (unsigned v = piece.space.run(); v-- > 0;) {
    int64_t extent = piece.space.variables[v].extent;
    f.bind(v, v ? make<arith::RemUIOp>(row, index(extent)) : row);
    if (v)
      row = make<arith::DivUIOp>(row, index(extent));
  }
}

/// Elements [begin, end) of the run, `count` of them if that is known.
void PieceLoops::emitRow(const Piece &piece, Value row, Value begin, Value end, std::optional<int64_t> count,
                         Body body) {
  bindOuter(piece, row);
  int64_t width = piece.perLane ? 1 : laneCount(isa, group, piece.widestBytes);
  if (width > 1 && piece.space.runExtent() >= width * registersPerVector)
    width *= registersPerVector;
  bool masks = masksTails(piece);
  auto scalars = [&](Value r) { emitElements(piece, r, 1, {}, body); };
  if (width == 1 || (count && *count < width && !masks))
    return loop(begin, end, 1, scalars);
  Value whole = count ? make<arith::AddIOp>(begin, index(*count / width * width))
                      : make<arith::SubIOp>(end, make<arith::RemUIOp>(make<arith::SubIOp>(end, begin), index(width)));
  if (!count || *count >= width)
    loop(begin, whole, width, [&](Value r) { emitElements(piece, r, width, {}, body); });
  if (count && *count % width == 0)
    return;
  if (!masks)
    return loop(whole, end, 1, scalars);
  loop(whole, end, width, [&](Value r) { // at most once
    auto type = VectorType::get({width}, f.builder().getI1Type());
    Value left = make<arith::SubIOp>(end, r);
    emitElements(piece, r, width, vector::CreateMaskOp::create(f.builder(), f.loc, type, ValueRange{left}), body);
  });
}

void PieceLoops::emitElements(const Piece &piece, Value r, int64_t width, Value mask, Body body) {
  f.bind(piece.space.run(), r);
  f.setWidth(width, mask);
  body();
}

int64_t cpu::laneCount(const Isa &isa, graph::GroupOp group, unsigned widestBytes) {
  auto isFloat16 = [](Type t) { return getElementTypeOrSelf(t).isF16() || getElementTypeOrSelf(t).isBF16(); };
  bool hasFloat16 = llvm::any_of(group.getInputs().getTypes(), isFloat16);
  for (Operation &op : group.getBody().front().without_terminator())
    hasFloat16 |= llvm::any_of(op.getResultTypes(), isFloat16);
  return isa.vectorBytes / std::max(widestBytes, hasFloat16 ? 4u : 1u);
}

bool cpu::masksElements(const Isa &isa, Type element) {
  unsigned narrowest = isa.name == "avx512" ? 1 : isa.name == "avx2" ? 4 : 99;
  return storedType(getElementTypeOrSelf(element)).getIntOrFloatBitWidth() / 8 >= narrowest;
}

/// A strided read has no masked form.
bool PieceLoops::masksTails(const Piece &piece) {
  return llvm::all_of(group.getResultTypes(), [&](Type t) { return masksElements(isa, t); }) &&
         llvm::all_of(piece.reads, [&](const LeafRead &read) {
           int64_t stride = read.index.coefficient(piece.space.run());
           return stride == 0 || (stride == 1 && masksElements(isa, read.tensor.getType()));
         });
}

void cpu::permitInPlace(graph::GroupOp group, ArrayRef<Piece> pieces, KernelPlan &plan) {
  plan.inPlace.resize(group->getNumResults());
  for (BlockArgument argument : group.getBody().getArguments()) {
    bool isSafe = llvm::all_of(pieces, [&](const Piece &piece) {
      return llvm::all_of(piece.reads, [&](const LeafRead &read) {
        return read.tensor != argument || read.index == piece.space.result;
      });
    });
    auto type = cast<RankedTensorType>(argument.getType());
    for (auto [i, result] : llvm::enumerate(group.getResultTypes())) {
      auto own = cast<RankedTensorType>(result);
      if (isSafe && storedType(own.getElementType()) == storedType(type.getElementType()) &&
          own.getNumElements() == type.getNumElements())
        plan.inPlace[i].push_back(argument.getArgNumber());
    }
  }
}
