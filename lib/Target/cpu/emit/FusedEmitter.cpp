//===- FusedEmitter.cpp - any tensor of a group, element by element -------===//
#include "lib/Target/cpu/emit/Fused.h"

#include "runtime/exec/KernelAbi.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;
using namespace gaudi::graph;

static RankedTensorType tensorOf(Value v) { return cast<RankedTensorType>(v.getType()); }
static Type elementOf(Value v) { return tensorOf(v).getElementType(); }
static Value indexConstant(OpBuilder &b, Location loc, int64_t v) { return arith::ConstantIndexOp::create(b, loc, v); }

//===----------------------------------------------------------------------===//
// Kernel, levels, variables
//===----------------------------------------------------------------------===//

FusedEmitter::FusedEmitter(KernelBuilder &kernel, GroupOp group)
    : IndexWalk(/*mayRefine=*/false), loc(kernel.builder.getUnknownLoc()), k(kernel) {
  levels.push_back(k.builder);
  Block &body = group.getBody().front();
  for (auto [argument, memref] : llvm::zip(body.getArguments(), k.inputs))
    inputs[argument] = flat(memref);
  for (Value memref : k.outputs)
    outputs.push_back(flat(memref));
  for (Type type : group.getResultTypes())
    resultElement.push_back(cast<RankedTensorType>(type).getElementType());
  OpBuilder &b = levels.back();
  bool gathers = llvm::any_of(body, [](Operation &op) { return isa<GatherOp, GatherElementsOp, GatherNDOp>(op); });
  if (gathers) {
    fault = memref::AllocaOp::create(b, loc, MemRefType::get({1}, b.getI32Type()));
    memref::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 0, 32), fault,
                            ValueRange{indexConstant(b, loc, 0)});
  }
  for (ConstantOp op : body.getOps<ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue()); dense && !dense.isSplat()) {
      // A private table in the kernel's read-only data.
      HostTensor host = HostTensor::fromElements(dense);
      std::string name = "table" + std::to_string(tables.size());
      auto type = MemRefType::get({dense.getNumElements()}, storedType(elementOf(op.getResult())));
      std::vector<char> bytes = host.toBytes();
      auto table =
          DenseElementsAttr::getFromRawBuffer(RankedTensorType::get(type.getShape(), type.getElementType()), bytes);
      OpBuilder top(k.func);
      memref::GlobalOp::create(top, loc, name, top.getStringAttr("private"), type, table, /*constant=*/true,
                               IntegerAttr());
      tables[op.getResult()] = memref::GetGlobalOp::create(b, loc, type, name);
    }
}

Value FusedEmitter::flat(Value memref) {
  OpBuilder &b = levels.back();
  auto type = cast<MemRefType>(memref.getType());
  auto whole = MemRefType::get({type.getNumElements()}, type.getElementType());
  if (type == whole)
    return memref;
  return memref::ReinterpretCastOp::create(b, loc, whole, memref, /*offset=*/0, whole.getShape(), ArrayRef<int64_t>{1});
}

void FusedEmitter::finish() {
  OpBuilder &b = levels.front();
  Value code = fault ? memref::LoadOp::create(b, loc, fault, ValueRange{indexConstant(b, loc, 0)}).getResult()
                     : arith::ConstantIntOp::create(b, loc, 0, 32).getResult();
  func::ReturnOp::create(b, loc, ValueRange{code});
}

void FusedEmitter::begin(const IndexSpace &piece) {
  space = piece;
  base = levels.size() - 1;
  values.assign(space.variables.size(), Value());
  forget();
  memo.clear();
  splats.clear();
}

void FusedEmitter::bind(unsigned variable, Value value) {
  values.resize(std::max<size_t>(values.size(), variable + 1));
  values[variable] = value;
}

unsigned FusedEmitter::addLoop(int64_t extent, unsigned depth, Value value) {
  unsigned variable = space.addVariable(extent, depth, false);
  bind(variable, value);
  return variable;
}

void FusedEmitter::enter(scf::ForOp loop) {
  levels.back().setInsertionPoint(loop);
  OpBuilder inner(loop.getContext());
  Block *body = loop.getBody();
  body->mightHaveTerminator() ? inner.setInsertionPoint(body->getTerminator()) : inner.setInsertionPointToEnd(body);
  levels.push_back(inner);
}

void FusedEmitter::leave() {
  Operation *loop = levels.back().getInsertionBlock()->getParentOp();
  levels.pop_back();
  levels.back().setInsertionPointAfter(loop);
  if (levels.size() <= base)
    return;                           // begin() will forget the rest
  forgetDeeper(levels.size() - base); // depth of the loop just left
}

void FusedEmitter::forgetDeeper(unsigned depth) {
  for (auto &entry : memo)
    llvm::erase_if(entry.second, [&](const Known &known) { return known.value.depth >= depth; });
  llvm::DenseMap<std::pair<Value, int64_t>, std::pair<Value, unsigned>> kept;
  for (auto &[key, splat] : splats)
    if (splat.second < depth)
      kept.insert({key, splat});
  splats = std::move(kept);
  forgetFrom(depth);
}

void FusedEmitter::bindRun(Value value) {
  bind(space.run(), value);
  forgetDeeper(space.variables[space.run()].depth);
}

OpBuilder &FusedEmitter::builderAt(unsigned depth) { return levels[std::min(base + depth, levels.size() - 1)]; }

void FusedEmitter::setWidth(int64_t lanes, Value newMask) {
  width = lanes;
  mask = newMask;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value FusedEmitter::scalarIndex(const Affine &index, unsigned depth) {
  OpBuilder &b = builderAt(depth);
  Value sum;
  for (auto [variable, coefficient] : index.terms) {
    Value term = values[variable];
    if (coefficient != 1)
      term = arith::MulIOp::create(b, loc, term, indexConstant(b, loc, coefficient));
    sum = sum ? arith::AddIOp::create(b, loc, sum, term).getResult() : term;
  }
  if (!sum || index.offset) {
    Value offset = indexConstant(b, loc, index.offset);
    sum = sum ? arith::AddIOp::create(b, loc, sum, offset).getResult() : offset;
  }
  return sum;
}

Value FusedEmitter::indexValue(const Affine &index) { return scalarIndex(index, levels.size()); }

Register FusedEmitter::materialise(const Affine &index) {
  unsigned depth = space.depthOf(index);
  Value base = scalarIndex(index, depth);
  int64_t stride = index.coefficient(space.run());
  if (width == 1 || !stride)
    return {base, true, depth};
  OpBuilder &b = builderAt(depth);
  SmallVector<Attribute> steps;
  for (int64_t i = 0; i < width; ++i)
    steps.push_back(b.getIndexAttr(i * stride));
  Value lanes =
      arith::ConstantOp::create(b, loc, DenseElementsAttr::get(VectorType::get({width}, b.getIndexType()), steps));
  return {arith::AddIOp::create(b, loc, emitSplat(b, loc, base, width), lanes), false, depth};
}

void FusedEmitter::define(unsigned variable, const Derived &derived) {
  unsigned depth = space.variables[variable].depth;
  Value value;
  if (derived.kind == Derived::Gathered) {
    Register raw = at(derived.tensor, derived.index);
    OpBuilder &b = builderAt(depth);
    value = checkedIndex(b, raw.value, derived.number);
  } else {
    Value index = scalarIndex(derived.index, depth);
    OpBuilder &b = builderAt(depth);
    Value n = indexConstant(b, loc, derived.kind == Derived::Clamp ? derived.number - 1 : derived.number);
    if (derived.kind == Derived::Quotient)
      value = arith::DivUIOp::create(b, loc, index, n);
    else if (derived.kind == Derived::Rest)
      value = arith::RemUIOp::create(b, loc, index, n);
    else
      value = arith::MinSIOp::create(b, loc, arith::MaxSIOp::create(b, loc, index, indexConstant(b, loc, 0)), n);
  }
  bind(variable, value);
}

void FusedEmitter::raiseFault(OpBuilder &b, Value bad) {
  Value zero = indexConstant(b, loc, 0);
  Value code = arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(KernelFault::IndexOutOfRange), 32);
  Value old = memref::LoadOp::create(b, loc, fault, ValueRange{zero}); // promoted to a register by LLVM
  memref::StoreOp::create(b, loc, arith::SelectOp::create(b, loc, bad, code, old), fault, ValueRange{zero});
}

/// In [0, n): negative ones count from the end, bad ones set the fault and become 0, so that no wild read follows.
Value FusedEmitter::checkedIndex(OpBuilder &b, Value raw, int64_t n) {
  Value i = arith::IndexCastOp::create(b, loc, b.getIndexType(), raw);
  Value zero = indexConstant(b, loc, 0), size = indexConstant(b, loc, n);
  Value negative = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i, zero);
  i = arith::SelectOp::create(b, loc, negative, arith::AddIOp::create(b, loc, i, size), i);
  Value bad = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, i, size);
  raiseFault(b, bad);
  return arith::SelectOp::create(b, loc, bad, zero, i);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

Value FusedEmitter::splat(Register r) {
  if (!r.isScalar || width == 1)
    return r.value;
  auto [it, isNew] = splats.try_emplace({r.value, width});
  if (isNew)
    it->second = {emitSplat(builderAt(r.depth), loc, r.value, width), r.depth};
  return it->second.first;
}

Value FusedEmitter::full(Register r) { return splat(r); }

Register FusedEmitter::combine(ArrayRef<Register> operands,
                               llvm::function_ref<Value(OpBuilder &, ArrayRef<Value>)> make) {
  unsigned depth = 0;
  bool allScalar = true;
  for (const Register &r : operands) {
    depth = std::max(depth, r.depth);
    allScalar &= r.isScalar;
  }
  SmallVector<Value> registers;
  for (const Register &r : operands)
    registers.push_back(allScalar ? r.value : splat(r));
  return {make(builderAt(depth), registers), allScalar, depth};
}

Register FusedEmitter::number(Type element, double value) {
  return {emitNumber(levels.front(), loc, registerType(element, 1), value), true, 0};
}

Register FusedEmitter::literal(DenseElementsAttr splat, Type element) {
  auto scalar = DenseElementsAttr::get(RankedTensorType::get({}, element), splat.getSplatValue<Attribute>());
  HostTensor host = HostTensor::fromElements(scalar);
  Type type = registerType(element, 1);
  OpBuilder &b = levels.front();
  Attribute value = host.isFloat() ? Attribute(b.getFloatAttr(type, host.floats()[0]))
                                   : Attribute(b.getIntegerAttr(type, host.ints()[0]));
  return {emitConstant(b, loc, type, value), true, 0};
}

Register FusedEmitter::load(Value memref, Type element, const Affine &index) {
  unsigned depth = space.depthOf(index);
  OpBuilder &b = builderAt(depth);
  int64_t stride = index.coefficient(space.run());
  Type stored = cast<MemRefType>(memref.getType()).getElementType();
  Value base = scalarIndex(index, depth);
  if (width == 1 || !stride)
    return {emitWiden(b, loc, memref::LoadOp::create(b, loc, memref, ValueRange{base}), element), true, depth};
  auto type = VectorType::get({width}, stored);
  Value v;
  if (stride != 1) { // a gather instruction is no faster, and does not exist below 4 bytes
    SmallVector<Value> lanes;
    for (int64_t i = 0; i < width; ++i) {
      Value at = arith::AddIOp::create(b, loc, base, indexConstant(b, loc, i * stride));
      lanes.push_back(memref::LoadOp::create(b, loc, memref, ValueRange{at}));
    }
    v = vector::FromElementsOp::create(b, loc, type, lanes);
  } else if (mask)
    v = vector::MaskedLoadOp::create(b, loc, type, memref, ValueRange{base}, mask,
                                     arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  else
    v = vector::LoadOp::create(b, loc, type, memref, ValueRange{base});
  return {emitWiden(b, loc, v, element), false, depth};
}

SmallVector<Value> FusedEmitter::loadLines(const LeafRead &read, int64_t count) {
  OpBuilder &b = levels.back();
  Value memref = memoryOf(read.tensor), base = indexValue(read.index);
  auto type = VectorType::get({width}, cast<MemRefType>(memref.getType()).getElementType());
  int64_t stride = read.index.coefficient(space.run());
  SmallVector<Value> lines;
  for (int64_t i = 0; i < count; ++i) {
    Value at = i ? arith::AddIOp::create(b, loc, base, indexConstant(b, loc, i * stride)).getResult() : base;
    lines.push_back(vector::LoadOp::create(b, loc, type, memref, ValueRange{at}));
  }
  return lines;
}

void FusedEmitter::rememberStored(const LeafRead &read, Value stored) {
  remember(read.tensor, read.index,
           {emitWiden(levels.back(), loc, stored, elementOf(read.tensor)), false, space.variables[space.run()].depth});
}

void FusedEmitter::store(unsigned result, const Affine &index, Value value) {
  OpBuilder &b = levels.back();
  Value stored = emitNarrow(b, loc, value, resultElement[result]);
  Value base = indexValue(index);
  if (!isa<VectorType>(stored.getType()))
    memref::StoreOp::create(b, loc, stored, outputs[result], ValueRange{base});
  else if (mask)
    vector::MaskedStoreOp::create(b, loc, outputs[result], ValueRange{base}, mask, stored);
  else
    vector::StoreOp::create(b, loc, stored, outputs[result], ValueRange{base});
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void FusedEmitter::remember(Value tensor, const Affine &index, Register r) { memo[tensor].push_back({index, r}); }

Register FusedEmitter::at(Value tensor, const Affine &index) {
  if (auto it = memo.find(tensor); it != memo.end())
    for (const Known &known : it->second)
      if (known.index == index)
        return known.value;
  Register r;
  if (auto it = overrides.find(tensor); it != overrides.end())
    r = it->second(index);
  if (!r.value) {
    auto input = inputs.find(tensor);
    r = input != inputs.end() ? load(input->second, elementOf(tensor), index) : compute(tensor.getDefiningOp(), index);
  }
  remember(tensor, index, r);
  return r;
}

Register FusedEmitter::compute(Operation *op, const Affine &index) {
  return llvm::TypeSwitch<Operation *, Register>(op)
      .Case([&](ConstantOp o) { return constant(o, index); })
      .Case([&](FillOp o) { return literal(cast<DenseElementsAttr>(o.getValue()), elementOf(o.getResult())); })
      .Case<UnaryOp, BinaryOp, SelectOp, CastOp>([&](auto o) { return elementwise(o, index); })
      .Case<BroadcastOp, ReshapeOp, SqueezeOp, UnsqueezeOp, TransposeOp, SliceOp>(
          [&](auto o) { return at(o->getOperand(0), operandIndex(o, 0, index)); })
      .Case([&](ConcatOp o) { return concat(o, index); })
      .Case([&](PadOp o) { return pad(o, index); })
      .Case([&](TriluOp o) { return trilu(o, index); })
      .Case([&](RangeOp o) { return range(o, index); })
      .Case([&](GatherOp o) { return gathered(o.getData(), gatherIndex(o, index)); })
      .Case([&](GatherElementsOp o) { return gathered(o.getData(), gatherElementsIndex(o, index)); })
      .Case([&](GatherNDOp o) { return gathered(o.getData(), gatherNDIndex(o, index)); });
}

Register FusedEmitter::elementwise(Operation *op, const Affine &index) {
  SmallVector<Register> operands;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    operands.push_back(at(op->getOperand(i), operandIndex(op, i, index)));
  return combine(operands, [&](OpBuilder &b, ArrayRef<Value> v) -> Value {
    if (auto unary = dyn_cast<UnaryOp>(op))
      return emitElementUnary(b, loc, unary.getKind(), v[0], elementOf(unary.getInput()));
    if (auto binary = dyn_cast<BinaryOp>(op))
      return emitElementBinary(b, loc, binary.getKind(), v[0], v[1], elementOf(binary.getLhs()),
                               elementOf(binary.getRhs()));
    if (auto cast = dyn_cast<CastOp>(op))
      return emitElementCast(b, loc, v[0], elementOf(cast.getInput()), cast.getTo());
    return arith::SelectOp::create(b, loc, v[0], v[1], v[2]);
  });
}

Register FusedEmitter::constant(ConstantOp op, const Affine &index) {
  if (auto it = tables.find(op.getResult()); it != tables.end())
    return load(it->second, elementOf(op.getResult()), index);
  return literal(cast<DenseElementsAttr>(op.getValue()), elementOf(op.getResult()));
}

Register FusedEmitter::concat(ConcatOp op, const Affine &index) {
  Register result;
  for (const ConcatPart &part : concatParts(op, index)) {
    Register value = at(part.input, part.operand);
    if (!result.value) {
      result = value;
      continue;
    }
    Register where = materialise(part.where);
    result = combine({where, value, result}, [&](OpBuilder &b, ArrayRef<Value> v) -> Value {
      Value reached =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, v[0], emitNumber(b, loc, v[0].getType(), 0));
      return arith::SelectOp::create(b, loc, reached, v[1], v[2]);
    });
  }
  return result;
}

Register FusedEmitter::pad(PadOp op, const Affine &index) {
  Register fill = op.getValue() ? at(op.getValue(), Affine()) : number(elementOf(op.getResult()), 0);
  PadPlace place = padPlace(op, index);
  if (place.isOutside)
    return fill;
  Register result = at(op.getInput(), place.operand);
  for (auto &[where, bound] : place.conditions)
    result = combine({materialise(where), result, fill}, [&, bound = bound](OpBuilder &b, ArrayRef<Value> v) -> Value {
      Value inside =
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, v[0], emitNumber(b, loc, v[0].getType(), bound));
      return arith::SelectOp::create(b, loc, inside, v[1], v[2]);
    });
  return result;
}

Register FusedEmitter::trilu(TriluOp op, const Affine &index) {
  Register zero = number(elementOf(op.getResult()), 0);
  Register distance = materialise(diagonalDistance(op, index));
  auto predicate = op.getUpper() ? arith::CmpIPredicate::sge : arith::CmpIPredicate::sle;
  return combine({distance, at(op.getInput(), index), zero}, [&](OpBuilder &b, ArrayRef<Value> v) -> Value {
    Value keep = arith::CmpIOp::create(b, loc, predicate, v[0], emitNumber(b, loc, v[0].getType(), 0));
    return arith::SelectOp::create(b, loc, keep, v[1], v[2]);
  });
}

/// start + i * delta, in f64 for floats so that it rounds once.
Register FusedEmitter::range(RangeOp op, const Affine &index) {
  Type element = elementOf(op.getResult());
  Register place = materialise(index), start = at(op.getStart(), Affine()), delta = at(op.getDelta(), Affine());
  return combine({place, start, delta}, [&](OpBuilder &b, ArrayRef<Value> v) -> Value {
    Type computed = registerType(element, 1);
    int64_t lanes = isa<VectorType>(v[0].getType()) ? width : 1;
    Value i = arith::IndexCastOp::create(b, loc, registerType(b.getI64Type(), lanes), v[0]);
    if (!isa<FloatType>(computed)) {
      Value step = emitElementCast(b, loc, i, b.getI64Type(),
                                   IntegerType::get(b.getContext(), computed.getIntOrFloatBitWidth()));
      return arith::AddIOp::create(b, loc, v[1], arith::MulIOp::create(b, loc, step, v[2]));
    }
    Type f64 = b.getF64Type();
    auto wide = [&](Value x) { return emitElementCast(b, loc, x, computed, f64); };
    Value step = arith::SIToFPOp::create(b, loc, registerType(f64, lanes), i);
    Value sum = arith::AddFOp::create(b, loc, wide(v[1]), arith::MulFOp::create(b, loc, step, wide(v[2])));
    return emitElementCast(b, loc, sum, f64, element);
  });
}

Register FusedEmitter::gathered(Value data, const Affine &index) {
  if (tensorOf(data).getNumElements() == 0) // every index is bad, and there is nothing to read
    return number(elementOf(data), 0);
  return at(data, index);
}
