//===- VectorMathConvert.cpp - 16-bit floats to and from f32 --------------===//
//
// bf16 goes through integers: LLVM turns an x86 bf16 truncation into a call to __truncsfbf2, which Debian's libgcc does
// not have (knowledge/peers.md 0.1). f16 uses F16C, and integers where that is missing (SSE4).
//
//===----------------------------------------------------------------------===//
#include "lib/Target/cpu/emit/VectorMath.h"
#include "lib/Target/cpu/emit/VectorMathOps.h"

using namespace mlir;

namespace gaudi::cpu {

using Pred = VecOps::Pred;

static Value halfToF32(VecOps &o, Value wideBits) {
  // Exponent and mantissa in place, then one multiplication by 2^112 rebiases and normalises denormals too.
  Value body = o.shl(o.andi(wideBits, o.i(0x7fff)), o.i(13));
  Value scaled = o.mul(o.fromBits(body), o.fromBits(o.i(0x77800000u))); // 2^112
  // Inf and NaN: all-ones exponent.
  Value special = o.cmpi(arith::CmpIPredicate::uge, body, o.i(0x0f800000u));
  Value magnitude = o.select(special, o.ori(body, o.i(0x7f800000u)), o.bits(scaled));
  return o.fromBits(o.ori(magnitude, o.shl(o.andi(wideBits, o.i(0x8000)), o.i(16))));
}

static Value f32ToHalfBits(VecOps &o, Value x) {
  Value raw = o.bits(x), magnitude = o.andi(raw, o.i(0x7fffffff));
  // Normal results: rebias by -112 and round to nearest even on bit 13.
  Value lsb = o.andi(o.shr(magnitude, o.i(13)), o.i(1));
  Value normal = o.shr(o.addi(o.addi(magnitude, o.i(0xfff - (112u << 23))), lsb), o.i(13));
  // Denormal results: adding 0.5 makes the FPU round at 2^-24.
  Value tiny = o.subi(o.bits(o.add(o.fromBits(magnitude), o.f(0.5f))), o.bits(o.f(0.5f)));
  Value r = o.select(o.cmpi(arith::CmpIPredicate::ult, magnitude, o.i(113u << 23)), tiny, normal);
  // 65520 and above round to infinity; NaN keeps its top payload bits and becomes quiet.
  r = o.select(o.cmpi(arith::CmpIPredicate::uge, magnitude, o.i(0x477ff000u)), o.i(0x7c00), r);
  Value nan = o.ori(o.andi(o.shr(magnitude, o.i(13)), o.i(0x3ff)), o.i(0x7e00));
  r = o.select(o.cmpi(arith::CmpIPredicate::ugt, magnitude, o.i(0x7f800000u)), nan, r);
  return o.ori(r, o.shr(o.andi(raw, o.i(0x80000000u)), o.i(16)));
}

Value emitToF32(OpBuilder &builder, Location loc, Value x, bool f16c) {
  VecOps o(builder, loc, x.getType());
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32())
    return x;
  if (element.isF16() && f16c)
    return o.make<arith::ExtFOp>(o.f32(), x);
  Value bits = o.make<arith::BitcastOp>(o.typed(builder.getI16Type()), x);
  Value wide = o.make<arith::ExtUIOp>(o.i32(), bits);
  if (element.isF16())
    return halfToF32(o, wide);
  assert(element.isBF16() && "only f16, bf16 and f32 are stored");
  return o.fromBits(o.shl(wide, o.i(16)));
}

Value emitFromF32(OpBuilder &builder, Location loc, Value x, Type element, bool f16c) {
  VecOps o(builder, loc, x.getType());
  if (element.isF32())
    return x;
  if (element.isF16() && f16c)
    return o.make<arith::TruncFOp>(o.typed(element), x);
  Value narrow;
  if (element.isF16()) {
    narrow = f32ToHalfBits(o, x);
  } else {
    assert(element.isBF16() && "only f16, bf16 and f32 are stored");
    Value raw = o.bits(x);
    Value lsb = o.andi(o.shr(raw, o.i(16)), o.i(1));
    Value rounded = o.shr(o.addi(raw, o.addi(lsb, o.i(0x7fff))), o.i(16));
    Value nan = o.ori(o.shr(raw, o.i(16)), o.i(0x40)); // rounding could carry a NaN into infinity
    narrow = o.select(o.cmp(Pred::UNO, x, x), nan, rounded);
  }
  Value bits = o.make<arith::TruncIOp>(o.typed(builder.getI16Type()), narrow);
  return o.make<arith::BitcastOp>(o.typed(element), bits);
}

} // namespace gaudi::cpu
