//===- RtOps.cpp - verifiers of rt ops ------------------------------------===//
#include "dialects/rt/Rt.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gaudi::rt;

#define GET_OP_CLASSES
#include "dialects/rt/RtOps.cpp.inc"

namespace {

uint64_t bytesOf(RankedTensorType type) {
  return static_cast<uint64_t>(type.getNumElements()) * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The static tensor type that `type` must be, or null.
RankedTensorType staticTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getElementType().isIntOrFloat() ? tensor : RankedTensorType();
}

/// C1 of input and output.
template <typename OpT> LogicalResult verifyTensor(OpT op) {
  auto tensor = staticTensor(op.getTensor());
  if (!tensor)
    return op.emitOpError("needs a static tensor type, found ") << op.getTensor();
  uint64_t have = op.getBuffer().getType().getSizeBytes();
  if (have != bytesOf(tensor))
    return op.emitOpError("buffer of ") << have << " bytes does not hold " << tensor << " (expected " << bytesOf(tensor)
                                        << ")";
  return success();
}

/// C2 of input and output. Together the two tests leave no gaps: the exporter uses the indices as positions.
template <typename OpT> LogicalResult verifyIndex(OpT op) {
  int64_t index = op.getIndex(), count = 0;
  for (auto other : op->getBlock()->template getOps<OpT>()) {
    if (other != op && static_cast<int64_t>(other.getIndex()) == index)
      return op.emitOpError("index ") << index << " is used twice ('" << op.getName() << "', '" << other.getName()
                                      << "')";
    ++count;
  }
  if (index < 0 || index >= count)
    return op.emitOpError("index ") << index << " is outside [0, " << count << ")";
  return success();
}

/// Bytes [begin, end) of what owns the memory.
struct Range {
  Value owner;
  uint64_t begin = 0, end = 0;
};

Range rangeOf(Value buffer) {
  uint64_t size = cast<BufferType>(buffer.getType()).getSizeBytes(), begin = 0;
  while (auto view = buffer.getDefiningOp<ViewOp>()) {
    begin += view.getOffset();
    buffer = view.getSource();
  }
  return {buffer, begin, begin + size};
}

/// Whether a launch before `reader` writes any of the memory that `owner` stands for.
bool writtenBefore(Value owner, LaunchOp reader) {
  return llvm::any_of(owner.getUsers(), [&](Operation *user) {
    if (auto view = dyn_cast<ViewOp>(user))
      return writtenBefore(view.getBuffer(), reader);
    auto launch = dyn_cast<LaunchOp>(user);
    return launch && launch->getBlock() == reader->getBlock() && launch->isBeforeInBlock(reader) &&
           llvm::is_contained(launch.getWrites(), owner);
  });
}

LogicalResult verifyInPlace(LaunchOp op) {
  if (op.getInPlace().size() != op.getWrites().size())
    return op.emitOpError("in_place has ") << op.getInPlace().size() << " entries, expected " << op.getWrites().size();
  for (Attribute entry : op.getInPlace()) {
    auto positions = dyn_cast<DenseI64ArrayAttr>(entry);
    if (!positions)
      return op.emitOpError("in_place entry is not an array<i64>");
    for (int64_t p : positions.asArrayRef())
      if (p < 0 || p >= static_cast<int64_t>(op.getReads().size()))
        return op.emitOpError("in_place position ") << p << " is outside [0, " << op.getReads().size() << ")";
  }
  return success();
}

LogicalResult verifyNumbers(LaunchOp op) {
  if (static_cast<int64_t>(op.getGrid()) < 0)
    return op.emitOpError("grid is ") << static_cast<int64_t>(op.getGrid()) << ", expected at least 0";
  if (static_cast<int64_t>(op.getChunk()) < 1)
    return op.emitOpError("chunk is ") << static_cast<int64_t>(op.getChunk()) << ", expected at least 1";
  for (auto [name, value] : {std::pair("flops", op.getFlops()), std::pair("bytes", op.getBytes())})
    if (!value.isFinite() || value.isNegative())
      return op.emitOpError() << name << " is " << value.convertToDouble() << ", expected a finite number >= 0";
  return success();
}

LogicalResult verifyWrites(LaunchOp op) {
  SmallVector<Range> written;
  for (auto [i, write] : llvm::enumerate(op.getWrites())) {
    Range range = rangeOf(write);
    if (isa_and_nonnull<InputOp, ConstOp>(range.owner.getDefiningOp()))
      return op.emitOpError("write ") << i << " goes to '" << range.owner.getDefiningOp()->getName()
                                      << "', which is read-only";
    for (auto [j, other] : llvm::enumerate(written))
      if (range.owner == other.owner && range.begin < other.end && other.begin < range.end)
        return op.emitOpError("writes ") << j << " and " << i << " overlap";
    written.push_back(range);
  }
  return success();
}

LogicalResult verifyReads(LaunchOp op) {
  for (auto [i, read] : llvm::enumerate(op.getReads())) {
    Value owner = rangeOf(read).owner;
    if (isa_and_nonnull<AllocOp, OutputOp>(owner.getDefiningOp()) && !writtenBefore(owner, op))
      return op.emitOpError("read ") << i << " has not been written by an earlier launch";
  }
  return success();
}

} // namespace

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError, uint64_t sizeBytes) {
  if (sizeBytes > static_cast<uint64_t>(INT64_MAX))
    return emitError() << "buffer of " << static_cast<int64_t>(sizeBytes) << " bytes, expected at least 0";
  return success();
}

LogicalResult PanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, uint32_t panel, bool, int64_t k,
                                 int64_t n) {
  if (panel == 0 || k < 0 || n < 0)
    return emitError() << "panels of " << panel << " columns for " << k << "x" << n
                       << ", expected sizes that are not negative";
  return success();
}

LogicalResult KernelOp::verify() {
  auto scratch = static_cast<int64_t>(getScratchBytes());
  return scratch < 0 ? emitOpError("scratch is ") << scratch << " bytes, expected at least 0" : success();
}

LogicalResult InputOp::verify() { return success(succeeded(verifyTensor(*this)) && succeeded(verifyIndex(*this))); }

LogicalResult OutputOp::verify() { return success(succeeded(verifyTensor(*this)) && succeeded(verifyIndex(*this))); }

LogicalResult ConstOp::verify() {
  auto tensor = staticTensor(getValue().getType());
  if (!tensor) // C1
    return emitOpError("needs a static tensor, found ") << getValue().getType();
  uint64_t expected = bytesOf(tensor);
  if (PanelsAttr panels = getPanelsAttr()) {
    SmallVector<int64_t, 2> shape = {panels.getK(), panels.getN()};
    if (panels.getTransposed())
      std::swap(shape[0], shape[1]);
    if (tensor.getShape() != ArrayRef(shape)) // C2
      return emitOpError("panels are for ") << shape[0] << "x" << shape[1] << ", the value is " << tensor;
    expected = llvm::alignTo(panels.getN(), panels.getPanel()) * panels.getK() *
               llvm::divideCeil(tensor.getElementTypeBitWidth(), 8);
  }
  if (uint64_t have = getBuffer().getType().getSizeBytes(); have != expected) // C3
    return emitOpError("buffer of ") << have << " bytes does not hold the value (expected " << expected << ")";
  return success();
}

LogicalResult AllocOp::verify() {
  if (auto offset = getOffset(); offset && static_cast<int64_t>(*offset) < 0)
    return emitOpError("offset is ") << static_cast<int64_t>(*offset) << ", expected at least 0";
  return success();
}

// C1
LogicalResult ViewOp::verify() {
  uint64_t have = getSource().getType().getSizeBytes(), size = getBuffer().getType().getSizeBytes();
  auto offset = static_cast<int64_t>(getOffset());
  if (offset < 0 || static_cast<uint64_t>(offset) > have || size > have - static_cast<uint64_t>(offset))
    return emitOpError("view of ") << size << " bytes at " << offset << " is outside a buffer of " << have << " bytes";
  return success();
}

// C1, found through the verifier's symbol table: a look-up per launch would be quadratic.
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr()))
    return success();
  return emitOpError("kernel @") << getKernel() << " is not declared";
}

LogicalResult LaunchOp::verify() {
  for (auto check : {verifyInPlace, verifyNumbers, verifyWrites, verifyReads}) // C2 to C5
    if (failed(check(*this)))
      return failure();
  return success();
}
