//===- Scatter.cpp - scatter_nd -------------------------------------------===//
//
// Copies the data, then writes the updates in order, on one task: index tuples may repeat and the last one wins, so the
// order matters and nothing may run in parallel.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/Emit.h"
#include "lib/Target/cpu/emit/Loops.h"
#include "runtime/exec/KernelAbi.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static ScatterNDOp soleScatter(GroupOp group) {
  Block &body = group.getBody().front();
  if (llvm::range_size(body.without_terminator()) != 1)
    return {};
  auto scatter = dyn_cast<ScatterNDOp>(&body.front());
  bool plain = scatter && llvm::all_of(scatter->getOperands(), [](Value v) { return isa<BlockArgument>(v); });
  return plain ? scatter : ScatterNDOp();
}

static std::optional<KernelPlan> match(const EmitRequest &request) {
  GroupOp group = request.group;
  if (!soleScatter(group))
    return std::nullopt;
  KernelPlan plan;
  plan.inputLayouts.resize(group.getInputs().size());
  plan.inPlace.resize(1);
  return plan;
}

namespace {

/// Element loop nest over `dims`; `body` gets the indices.
void nest(OpBuilder &b, Location loc, ArrayRef<int64_t> dims, SmallVector<Value> &indices,
          llvm::function_ref<void(ArrayRef<Value>)> body) {
  if (indices.size() == dims.size())
    return body(indices);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        n = arith::ConstantIndexOp::create(b, loc, dims[indices.size()]);
  forLoop(b, loc, zero, n, 1, [&](Value i) {
    indices.push_back(i);
    nest(b, loc, dims, indices, body);
    indices.pop_back();
  });
}

} // namespace

static void emit(const EmitRequest &request, const KernelPlan &, KernelBuilder &k) {
  ScatterNDOp op = soleScatter(request.group);
  OpBuilder &b = k.builder;
  Location loc = b.getUnknownLoc();
  auto number = [&](Value v) { return cast<BlockArgument>(v).getArgNumber(); };
  Value data = k.inputs[number(op.getData())], tuples = k.inputs[number(op.getIndices())],
        updates = k.inputs[number(op.getUpdates())], out = k.outputs[0];
  // The tensors' dims: a memref without elements claims one (memoryType).
  auto dimsOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getShape(); };
  ArrayRef<int64_t> dims = dimsOf(op.getData()), tupleDims = dimsOf(op.getIndices());
  int64_t length = tupleDims.back();
  Value fault = memref::AllocaOp::create(b, loc, MemRefType::get({1}, b.getI32Type()));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  memref::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 0, 32), fault, ValueRange{zero});
  SmallVector<Value> indices;
  forLoop(b, loc, k.lo, k.hi, 1, [&](Value) {
    nest(b, loc, dims, indices, [&](ArrayRef<Value> at) {
      memref::StoreOp::create(b, loc, memref::LoadOp::create(b, loc, data, at), out, at);
    });
    nest(b, loc, tupleDims.drop_back(), indices, [&](ArrayRef<Value> tuple) {
      SmallVector<Value> target;
      Value good = arith::ConstantIntOp::create(b, loc, 1, 1);
      for (int64_t i = 0; i < length; ++i) {
        SmallVector<Value> where(tuple);
        where.push_back(arith::ConstantIndexOp::create(b, loc, i));
        Value raw = memref::LoadOp::create(b, loc, tuples, where);
        Value index = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
        Value size = arith::ConstantIndexOp::create(b, loc, dims[i]);
        Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, zero);
        index = arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, index, size), index);
        good =
            arith::AndIOp::create(b, loc, good, arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size));
        target.push_back(index);
      }
      auto branch = scf::IfOp::create(b, loc, good, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      Value code = arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(KernelFault::IndexOutOfRange), 32);
      memref::StoreOp::create(b, loc, code, fault, ValueRange{zero});
      b.setInsertionPointToStart(branch.thenBlock());
      SmallVector<Value> slice;
      nest(b, loc, dims.drop_front(length), slice, [&](ArrayRef<Value> inner) {
        SmallVector<Value> from(tuple), to(target);
        llvm::append_range(from, inner);
        llvm::append_range(to, inner);
        memref::StoreOp::create(b, loc, memref::LoadOp::create(b, loc, updates, from), out, to);
      });
    });
  });
  func::ReturnOp::create(b, loc, ValueRange{memref::LoadOp::create(b, loc, fault, ValueRange{zero})});
}

Emitter cpu::scatterEmitter() { return {"scatter", match, emit}; }
