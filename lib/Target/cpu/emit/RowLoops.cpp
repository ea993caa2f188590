//===- RowLoops.cpp - passes over one row ---------------------------------===//
#include "lib/Target/cpu/emit/RowLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using graph::ReduceKind;

Value RowLoops::index(int64_t v) { return arith::ConstantIndexOp::create(f.builder(), f.loc, v); }
Value RowLoops::runValue() { return f.indexValue(Affine::variable(f.currentSpace().run())); }

RowLoops::Values RowLoops::loop(Value low, Value high, int64_t step, Values carried,
                                llvm::function_ref<Values(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(f.builder(), f.loc, low, high, index(step), carried);
  f.enter(op);
  Values next = body(op.getInductionVar(), op.getRegionIterArgs());
  if (!carried.empty())
    scf::YieldOp::create(f.builder(), f.loc, next);
  f.leave();
  return Values(op.getResults());
}

static Value identity(FusedEmitter &f, ReduceKind kind, int64_t width) {
  Type f32 = f.builder().getF32Type();
  return emitConstant(f.builder(), f.loc, registerType(f32, width), reduceIdentity(kind, f32));
}

static Value step(FusedEmitter &f, ReduceKind kind, Value acc, Value x) {
  return emitReduceStep(f.builder(), f.loc, kind, acc, x, f.builder().getF32Type());
}

static vector::CombiningKind combining(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::max:
    return vector::CombiningKind::MAXIMUMF;
  case ReduceKind::min:
    return vector::CombiningKind::MINIMUMF;
  case ReduceKind::prod:
    return vector::CombiningKind::MUL;
  default:
    return vector::CombiningKind::ADD;
  }
}

SmallVector<Value> RowLoops::reduce(ArrayRef<ReduceKind> kinds, llvm::function_ref<SmallVector<Value>()> contribute) {
  constexpr int64_t chains = 4;
  int64_t wide = n / (width * chains) * (width * chains), full = width > 1 ? n / width * width : 0;
  if (width == 1)
    wide = 0;
  auto identities = [&](int64_t lanes, int64_t count) {
    Values v;
    for (int64_t c = 0; c < count; ++c)
      for (ReduceKind kind : kinds)
        v.push_back(identity(f, kind, lanes));
    return v;
  };
  auto visitVectors = [&](int64_t low, int64_t high, int64_t count, Values start) {
    if (low >= high)
      return start;
    current = width;
    f.setWidth(width);
    return loop(index(low), index(high), width * count, start, [&](Value r, ValueRange acc) {
      Values next;
      for (int64_t c = 0; c < count; ++c) {
        f.bindRun(c ? arith::AddIOp::create(f.builder(), f.loc, r, index(c * width)).getResult() : r);
        for (auto [i, x] : llvm::enumerate(contribute()))
          next.push_back(step(f, kinds[i], acc[c * kinds.size() + i], x));
      }
      return next;
    });
  };
  Values total = identities(1, 1);
  if (full || (masks && width > 1)) {
    Values acc = visitVectors(0, wide, chains, identities(width, chains)), one(acc.begin(), acc.begin() + kinds.size());
    for (int64_t c = 1; wide && c < chains; ++c)
      for (size_t i = 0; i < kinds.size(); ++i)
        one[i] = step(f, kinds[i], one[i], acc[c * kinds.size() + i]);
    one = visitVectors(wide, full, 1, one);
    if (masks && full < n) { // the last lanes do not count
      auto type = VectorType::get({width}, f.builder().getI1Type());
      Value mask = vector::CreateMaskOp::create(f.builder(), f.loc, type, ValueRange{index(n - full)});
      current = width;
      f.setWidth(width, mask);
      one = loop(index(full), index(n), width, one, [&](Value r, ValueRange acc) {
        f.bindRun(r);
        Values next;
        for (auto [i, x] : llvm::enumerate(contribute())) {
          Value counted = arith::SelectOp::create(f.builder(), f.loc, mask, x, identity(f, kinds[i], width));
          next.push_back(step(f, kinds[i], acc[i], counted));
        }
        return next;
      });
      full = n;
    }
    for (auto [i, kind] : llvm::enumerate(kinds))
      total[i] = vector::ReductionOp::create(f.builder(), f.loc, combining(kind), one[i]);
  }
  if (full < n) {
    current = 1;
    f.setWidth(1);
    total = loop(index(full), index(n), 1, total, [&](Value r, ValueRange acc) {
      f.bindRun(r);
      Values next;
      for (auto [i, x] : llvm::enumerate(contribute()))
        next.push_back(step(f, kinds[i], acc[i], x));
      return next;
    });
  }
  return total;
}

void RowLoops::visit(llvm::function_ref<void()> body) {
  auto pass = [&](int64_t low, int64_t high, int64_t lanes, Value mask) {
    if (low >= high)
      return;
    current = lanes;
    f.setWidth(lanes, mask);
    loop(index(low), index(high), lanes, {}, [&](Value r, ValueRange) {
      f.bindRun(r);
      body();
      return Values();
    });
  };
  int64_t full = width > 1 ? n / width * width : 0;
  pass(0, full, width, {});
  if (full == n)
    return;
  if (!masks || width == 1)
    return pass(full, n, 1, {});
  auto type = VectorType::get({width}, f.builder().getI1Type());
  pass(full, n, width, vector::CreateMaskOp::create(f.builder(), f.loc, type, ValueRange{index(n - full)}));
}

Value RowLoops::load(Value row) {
  if (current == 1)
    return memref::LoadOp::create(f.builder(), f.loc, row, ValueRange{runValue()});
  auto type = VectorType::get({current}, f.builder().getF32Type());
  return vector::LoadOp::create(f.builder(), f.loc, type, row, ValueRange{runValue()});
}

void RowLoops::store(Value row, Value x) {
  if (current == 1)
    memref::StoreOp::create(f.builder(), f.loc, x, row, ValueRange{runValue()});
  else
    vector::StoreOp::create(f.builder(), f.loc, x, row, ValueRange{runValue()});
}
