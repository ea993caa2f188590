//===- Frame.cpp - from grouped graph to the rt program -------------------===//
#include "lib/Driver/Frame.h"

#include "lib/Driver/Names.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

uint64_t gaudi::driver::sizeBytes(RankedTensorType type) {
  uint64_t bits = type.getElementTypeBitWidth();
  return static_cast<uint64_t>(type.getNumElements()) * ((bits + 7) / 8);
}

Value gaudi::driver::storageOf(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

namespace {

graph::GroupOp copyGroup(OpBuilder &b, Location loc, Value value) {
  auto group =
      graph::GroupOp::create(b, loc, TypeRange{value.getType()}, ValueRange{value}, b.getStringAttr("pointwise"));
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&group.getBody(), {}, value.getType(), loc);
  graph::YieldOp::create(b, loc, ValueRange(body->getArguments()));
  return group;
}

class FrameBuilder {
public:
  FrameBuilder(func::FuncOp main, const GroupKernels &kernels)
      : main(main), kernels(kernels), builder(main.getContext()) {}

  OwningOpRef<ModuleOp> run();

private:
  rt::BufferType bufferType(Type tensor) {
    return rt::BufferType::get(builder.getContext(), sizeBytes(cast<RankedTensorType>(tensor)));
  }
  StringAttr signatureName(ArrayRef<NamedAttribute> attrs, StringRef fallback, unsigned index);
  void declareKernels(ModuleOp module);
  void addInputs();
  void findOutputs();
  LogicalResult lower(Operation *op);
  void launch(graph::GroupOp group);
  Value constantBuffer(graph::ConstantOp constant, rt::PanelsAttr panels);
  Value bufferOf(Value value, rt::PanelsAttr panels);
  Value resultBuffer(OpResult result, const std::string &name);

  func::FuncOp main;
  const GroupKernels &kernels;
  OpBuilder builder;
  DenseMap<Value, Value> buffers;                               ///< tensor -> buffer, for storage owners
  DenseMap<std::pair<Operation *, Attribute>, Value> constants; ///< (constant, layout) -> buffer
  DenseMap<Value, unsigned> outputIndex;                        ///< storage owner -> result number
};

StringAttr FrameBuilder::signatureName(ArrayRef<NamedAttribute> attrs, StringRef fallback, unsigned index) {
  for (NamedAttribute attr : attrs)
    if (attr.getName() == "graph.name")
      return cast<StringAttr>(attr.getValue());
  return builder.getStringAttr(fallback + Twine(index));
}

void FrameBuilder::declareKernels(ModuleOp module) {
  llvm::StringSet<> seen;
  for (auto group : main.getOps<graph::GroupOp>()) {
    const GroupKernel &kernel = kernels.at(group);
    if (seen.insert(kernel.symbol).second)
      rt::KernelOp::create(builder, module.getLoc(), builder.getStringAttr(kernel.symbol),
                           builder.getI64IntegerAttr(kernel.scratchBytes));
  }
}

void FrameBuilder::addInputs() {
  for (BlockArgument arg : main.getArguments()) {
    unsigned i = arg.getArgNumber();
    StringAttr name = signatureName(function_interface_impl::getArgAttrs(main, i), "input", i);
    buffers[arg] = rt::InputOp::create(builder, arg.getLoc(), bufferType(arg.getType()), builder.getI64IntegerAttr(i),
                                       name, TypeAttr::get(arg.getType()));
  }
}

void FrameBuilder::findOutputs() {
  for (auto [i, value] : llvm::enumerate(main.front().getTerminator()->getOperands()))
    outputIndex.try_emplace(storageOf(value), i);
}

Value FrameBuilder::constantBuffer(graph::ConstantOp constant, rt::PanelsAttr panels) {
  Value &known = constants[{constant, panels}];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(builder);
  uint64_t size = sizeBytes(cast<RankedTensorType>(constant.getType()));
  if (panels) {
    auto type = cast<RankedTensorType>(constant.getType());
    uint64_t columns = llvm::divideCeil(panels.getN(), panels.getPanel()) * uint64_t(panels.getPanel());
    size = columns * panels.getK() * ((type.getElementTypeBitWidth() + 7) / 8);
  }
  known = rt::ConstOp::create(builder, constant.getLoc(), rt::BufferType::get(builder.getContext(), size),
                              constant.getValueAttr(), panels);
  return known;
}

Value FrameBuilder::bufferOf(Value value, rt::PanelsAttr panels) {
  if (auto constant = value.getDefiningOp<graph::ConstantOp>())
    return constantBuffer(constant, panels);
  Value owner = storageOf(value);
  if (auto constant = owner.getDefiningOp<graph::ConstantOp>())
    return constantBuffer(constant, nullptr);
  return buffers.at(owner);
}

Value FrameBuilder::resultBuffer(OpResult result, const std::string &name) {
  auto output = outputIndex.find(result);
  rt::BufferType type = bufferType(result.getType());
  if (output == outputIndex.end())
    return rt::AllocOp::create(builder, result.getLoc(), type, builder.getStringAttr(name), IntegerAttr());
  unsigned i = output->second;
  Type declared = main.getResultTypes()[i];
  StringAttr outputName = signatureName(function_interface_impl::getResultAttrs(main, i), "output", i);
  return rt::OutputOp::create(builder, result.getLoc(), type, builder.getI64IntegerAttr(i), outputName,
                              TypeAttr::get(declared));
}

void FrameBuilder::launch(graph::GroupOp group) {
  const GroupKernel &kernel = kernels.at(group);
  std::string name = launchName(group.getLoc());
  if (name.empty()) // the loader insists on names
    name = kernel.symbol;
  SmallVector<Value> reads, writes;
  for (auto [i, input] : llvm::enumerate(group.getInputs()))
    reads.push_back(bufferOf(input, kernel.inputPanels[i]));
  for (OpResult result : group->getResults())
    writes.push_back(buffers[result] = resultBuffer(result, name));

  SmallVector<Attribute> inPlace;
  for (ArrayRef<int64_t> positions : kernel.inPlace)
    inPlace.push_back(builder.getDenseI64ArrayAttr(positions));
  graph::Cost cost;
  group.getBody().walk([&](graph::GraphOpInterface op) {
    if (isa<graph::GroupOp, graph::ConstantOp>(op))
      return;
    cost.flops += op.cost().flops;
  });
  for (ValueRange side : {ValueRange(group.getInputs()), ValueRange(group.getResults())})
    for (Value v : side)
      cost.bytes += sizeBytes(cast<RankedTensorType>(v.getType()));
  rt::LaunchOp::create(builder, group.getLoc(), FlatSymbolRefAttr::get(builder.getContext(), kernel.symbol), reads,
                       writes, builder.getI64IntegerAttr(kernel.grid), builder.getI64IntegerAttr(kernel.chunk),
                       builder.getArrayAttr(inPlace), builder.getF64FloatAttr(cost.flops),
                       builder.getF64FloatAttr(cost.bytes));
}

LogicalResult FrameBuilder::lower(Operation *op) {
  if (auto group = dyn_cast<graph::GroupOp>(op))
    launch(group);
  else if (!isa<graph::ConstantOp, graph::ReshapeOp, func::ReturnOp>(op)) // these are looked up on use
    return op->emitOpError("may not appear in the grouped stage");
  return success();
}

OwningOpRef<ModuleOp> FrameBuilder::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(main.getLoc());
  if (Attribute files = main->getParentOfType<ModuleOp>()->getAttr("graph.files"))
    (*module)->setAttr("rt.files", files);
  builder.setInsertionPointToStart(module->getBody());
  declareKernels(*module);
  auto entry = func::FuncOp::create(builder, main.getLoc(), main.getName(), builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(entry.addEntryBlock());
  addInputs();
  findOutputs();
  for (Operation &op : main.front())
    if (failed(lower(&op)))
      return nullptr;
  func::ReturnOp::create(builder, main.getLoc());
  assert(succeeded(verify(*module)) && "the frame breaks a rule of dialects/rt/Rt.td");
  return module;
}

} // namespace

/// Where a copy comes from: the node that made the value, else (inputs have none) the output it becomes.
static Location copyLocation(func::FuncOp main, OpOperand &result) {
  Location loc = result.get().getLoc();
  if (!launchName(loc).empty())
    return loc;
  auto name = main.getResultAttrOfType<StringAttr>(result.getOperandNumber(), "graph.name");
  return name && !name.empty() ? NameLoc::get(name) : loc;
}

void gaudi::driver::materializeResults(func::FuncOp main) {
  Operation *terminator = main.front().getTerminator();
  OpBuilder builder(terminator);
  llvm::DenseSet<Value> taken;
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value owner = storageOf(operand.get());
    bool ownGroup = owner.getDefiningOp<graph::GroupOp>() && taken.insert(owner).second;
    if (!ownGroup)
      operand.set(copyGroup(builder, copyLocation(main, operand), operand.get()).getResult(0));
  }
}

OwningOpRef<ModuleOp> gaudi::driver::buildFrame(func::FuncOp main, const GroupKernels &kernels) {
  return FrameBuilder(main, kernels).run();
}
