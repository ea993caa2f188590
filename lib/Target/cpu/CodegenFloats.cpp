//===- CodegenFloats.cpp - float operations the CPU lacks -----------------===//
#include "lib/Target/cpu/CodegenFloats.h"

#include "lib/Target/cpu/emit/VectorMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::cpu;

namespace {

/// The type with another element.
Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.cloneWith(std::nullopt, element);
  return element;
}

bool is16Bit(Type type) { return getElementTypeOrSelf(type).isF16() || getElementTypeOrSelf(type).isBF16(); }

class Legalizer {
public:
  Legalizer(OpBuilder &b, Operation *op, bool hasFma, bool hasF16c)
      : b(b), loc(op->getLoc()), hasFma(hasFma), hasF16c(hasF16c) {}

  /// The replacement of op's result, or null if it is legal.
  Value rewrite(Operation *op) {
    if (auto extend = dyn_cast<arith::ExtFOp>(op))
      return this->extend(extend.getIn(), extend.getType());
    if (auto truncate = dyn_cast<arith::TruncFOp>(op))
      return this->truncate(truncate.getIn(), truncate.getType());
    if (auto fma = dyn_cast<math::FmaOp>(op); fma && !hasFma)
      return this->fma(fma.getA(), fma.getB(), fma.getC());
    return {};
  }

private:
  template <typename Op, typename... Args> Value make(Args &&...args) {
    return Op::create(b, loc, std::forward<Args>(args)...);
  }
  Value constant(Type type, int64_t v) {
    Attribute scalar = b.getIntegerAttr(getElementTypeOrSelf(type), v);
    if (auto vector = dyn_cast<VectorType>(type))
      return make<arith::ConstantOp>(DenseElementsAttr::get(vector, scalar));
    return make<arith::ConstantOp>(cast<TypedAttr>(scalar));
  }

  Value extend(Value x, Type to) {
    Type from = getElementTypeOrSelf(x.getType());
    bool native = from.isF16() && hasF16c && getElementTypeOrSelf(to).isF32();
    if (!is16Bit(from) || native)
      return {};
    Value wide = emitToF32(b, loc, x, hasF16c);
    return getElementTypeOrSelf(to).isF64() ? make<arith::ExtFOp>(to, wide) : wide;
  }

  Value truncate(Value x, Type to) {
    if (!is16Bit(to))
      return {};
    bool fromF64 = getElementTypeOrSelf(x.getType()).isF64(), bf16 = getElementTypeOrSelf(to).isBF16();
    if (!fromF64 && !bf16 && hasF16c)
      return {};
    return emitFromF32(b, loc, fromF64 ? roundToOdd(x) : x, getElementTypeOrSelf(to), hasF16c);
  }

  /// f64 -> f32, rounding inexact values to the neighbour with an odd mantissa: a second rounding to fewer bits is then
  /// the same as one direct rounding (Boldo and Melquiond 2008).
  Value roundToOdd(Value x) {
    Type f32 = withElement(x.getType(), b.getF32Type()), i32 = withElement(x.getType(), b.getI32Type());
    Value nearest = make<arith::TruncFOp>(f32, x);
    Value back = make<arith::ExtFOp>(x.getType(), nearest);
    Value tooBig = make<arith::CmpFOp>(arith::CmpFPredicate::OGT, make<math::AbsFOp>(back), make<math::AbsFOp>(x));
    Value inexact = make<arith::CmpFOp>(arith::CmpFPredicate::ONE, back, x);
    Value bits = make<arith::BitcastOp>(i32, nearest);
    Value down = make<arith::SubIOp>(bits, make<arith::ExtUIOp>(i32, tooBig)); // toward zero
    Value odd = make<arith::OrIOp>(down, make<arith::ExtUIOp>(i32, inexact));
    return make<arith::BitcastOp>(f32, odd);
  }

  /// f32 in f64, where the product is exact; f64 with the exact error of the product (Dekker) added last.
  Value fma(Value x, Value y, Value z) {
    if (getElementTypeOrSelf(x.getType()).isF32()) {
      Type f64 = withElement(x.getType(), b.getF64Type());
      auto wide = [&](Value v) { return make<arith::ExtFOp>(f64, v); };
      return make<arith::TruncFOp>(x.getType(), make<arith::AddFOp>(make<arith::MulFOp>(wide(x), wide(y)), wide(z)));
    }
    auto add = [&](Value p, Value q) { return make<arith::AddFOp>(p, q); };
    auto sub = [&](Value p, Value q) { return make<arith::SubFOp>(p, q); };
    auto mul = [&](Value p, Value q) { return make<arith::MulFOp>(p, q); };
    Type i64 = withElement(x.getType(), b.getI64Type());
    // The nearest number of 26 bits: what is left has 26 bits too, with a sign, so that all four products are exact.
    // Cut off instead, it would have 27.
    auto high = [&](Value v) {
      Value rounded = make<arith::AddIOp>(make<arith::BitcastOp>(i64, v), constant(i64, 0x4000000));
      return make<arith::BitcastOp>(v.getType(), make<arith::AndIOp>(rounded, constant(i64, ~int64_t(0x7ffffff))));
    };
    Value xh = high(x), xl = sub(x, xh), yh = high(y), yl = sub(y, yh);
    Value p = mul(x, y);
    // Largest first: every sum is exact in this order (Dekker 1971).
    Value e = add(add(add(sub(mul(xh, yh), p), mul(xh, yl)), mul(xl, yh)), mul(xl, yl));
    Value s = add(p, z), t = sub(s, p);
    Value lost = add(sub(p, sub(s, t)), sub(z, t));
    Value exact = add(s, add(e, lost));
    // Infinities make the error terms NaN: the plain sum is right then.
    Value isNan = make<arith::CmpFOp>(arith::CmpFPredicate::UNO, exact, exact);
    return make<arith::SelectOp>(isNan, s, exact);
  }

  OpBuilder &b;
  Location loc;
  bool hasFma, hasF16c;
};

struct LegalizeFloats : PassWrapper<LegalizeFloats, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LegalizeFloats)
  explicit LegalizeFloats(const Isa &isa) : hasFma(has(isa, "fma")), hasF16c(has(isa, "f16c")) {}
  static bool has(const Isa &isa, llvm::StringRef feature) { return llvm::is_contained(isa.features, feature.str()); }

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      OpBuilder b(op);
      if (Value value = Legalizer(b, op, hasFma, hasF16c).rewrite(op)) {
        op->getResult(0).replaceAllUsesWith(value);
        op->erase();
      }
    });
    storeAsIntegers(getOperation());
  }

  /// What is left of the types that the CPU does not know are moves. As integers they stay moves: type legalisation of
  /// a masked load of bf16 calls __truncsfbf2.
  void storeAsIntegers(ModuleOp module) {
    Type i16 = IntegerType::get(&getContext(), 16);
    auto isForeign = [this](Type type) { return type.isBF16() || (type.isF16() && !hasF16c); };
    AttrTypeReplacer replacer;
    replacer.addReplacement([=](FloatType type) -> std::optional<Type> {
      return isForeign(type) ? std::optional<Type>(i16) : std::nullopt;
    });
    replacer.addReplacement([=](DenseElementsAttr values) -> std::optional<Attribute> {
      return isForeign(values.getElementType()) ? std::optional<Attribute>(values.bitcast(i16)) : std::nullopt;
    });
    replacer.addReplacement([=](FloatAttr value) -> std::optional<Attribute> {
      if (!isForeign(value.getType()))
        return std::nullopt;
      return IntegerAttr::get(i16, value.getValue().bitcastToAPInt());
    });
    replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
    module.walk([](arith::BitcastOp cast) {
      if (cast.getIn().getType() == cast.getType()) {
        cast.replaceAllUsesWith(cast.getIn());
        cast.erase();
      }
    });
  }

  bool hasFma, hasF16c;
};

} // namespace

std::unique_ptr<Pass> cpu::createLegalizeFloatsPass(const Isa &isa) { return std::make_unique<LegalizeFloats>(isa); }
