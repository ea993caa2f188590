//===- Export.cpp - planned rt program -> artefact metadata ---------------===//
#include "lib/Driver/Export.h"

#include "dialects/graph/Graph.h"
#include "dialects/rt/Rt.h"
#include "lib/Driver/Names.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

constexpr uint64_t kAlign = 64; // KernelAbi.h: rodata and weights pointers

class Exporter {
public:
  Exporter(ModuleOp module, const PlannedMemory &memory, const WholeWeights &whole)
      : module(module), memory(memory), whole(whole) {}

  ExportedProgram run() {
    addFiles();
    for (auto kernel : module.getOps<rt::KernelOp>())
      addKernel(kernel);
    for (auto entry : module.getOps<func::FuncOp>())
      addEntry(entry);
    out.program.rodata_size = out.rodata.size();
    return std::move(out);
  }

private:
  void addFiles();
  void addKernel(rt::KernelOp kernel);
  void addEntry(func::FuncOp func);
  void addLaunch(schema::EntryT &entry, rt::LaunchOp launch);
  uint32_t addBuffer(schema::EntryT &entry, Value value);
  schema::Buffer place(Value value);
  schema::Buffer placeConst(rt::ConstOp constant);
  uint64_t packWeight(graph::WeightAttr weight, rt::PanelsAttr panels, uint64_t size);
  graph::WeightAttr widened(graph::WeightAttr weight) const;
  uint64_t appendRodata(rt::ConstOp constant, uint64_t size);
  uint32_t addSource(graph::WeightAttr weight);
  void addMemory(schema::EntryT &entry);

  ModuleOp module;
  const PlannedMemory &memory;
  const WholeWeights &whole;
  ExportedProgram out;
  llvm::StringMap<uint32_t> kernelIndex;
  DenseMap<Value, uint32_t> bufferIndex;
  DenseMap<Attribute, uint32_t> sourceIndex;
  DenseMap<std::pair<Attribute, Attribute>, uint64_t> constOffset; ///< (value, panels) -> offset: equal constants share
};

void Exporter::addFiles() {
  if (auto files = module->getAttrOfType<ArrayAttr>("rt.files"))
    for (auto file : files.getAsRange<StringAttr>())
      out.program.source_files.push_back(file.str());
}

void Exporter::addKernel(rt::KernelOp kernel) {
  kernelIndex[kernel.getSymName()] = out.program.kernels.size();
  auto entry = std::make_unique<schema::KernelT>();
  entry->symbol = kernel.getSymName().str();
  entry->scratch = kernel.getScratchBytes();
  out.program.kernels.push_back(std::move(entry));
}

std::unique_ptr<schema::TensorInfoT> tensorInfo(StringRef name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  auto info = std::make_unique<schema::TensorInfoT>();
  info->name = name.str();
  info->dtype = static_cast<uint8_t>(dtypeOf(tensor.getElementType()));
  info->shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  return info;
}

/// Puts `info` at position `index`, growing the list.
void placeAt(std::vector<std::unique_ptr<schema::TensorInfoT>> &list, int64_t index,
             std::unique_ptr<schema::TensorInfoT> info) {
  if (list.size() <= static_cast<size_t>(index))
    list.resize(index + 1);
  list[index] = std::move(info);
}

void Exporter::addEntry(func::FuncOp func) {
  auto entry = std::make_unique<schema::EntryT>();
  entry->name = func.getName().str();
  bufferIndex.clear();
  for (auto input : func.getOps<rt::InputOp>())
    placeAt(entry->inputs, input.getIndex(), tensorInfo(input.getName(), input.getTensor()));
  for (auto output : func.getOps<rt::OutputOp>())
    placeAt(entry->outputs, output.getIndex(), tensorInfo(output.getName(), output.getTensor()));
  for (auto launch : func.getOps<rt::LaunchOp>())
    addLaunch(*entry, launch);
  addMemory(*entry);
  out.program.entries.push_back(std::move(entry));
}

void Exporter::addLaunch(schema::EntryT &entry, rt::LaunchOp launch) {
  uint32_t begin = entry.args.size();
  for (ValueRange side : {launch.getReads(), launch.getWrites()})
    for (Value buffer : side)
      entry.args.push_back(addBuffer(entry, buffer));
  auto info = std::make_unique<schema::LaunchInfoT>();
  info->name = launchName(launch.getLoc());
  if (info->name.empty()) // the loader insists on one
    info->name = launch.getKernel().str();
  info->flops = launch.getFlops().convertToDouble();
  info->bytes = launch.getBytes().convertToDouble();
  uint32_t infoIndex = out.program.infos.size();
  out.program.infos.push_back(std::move(info));
  entry.launches.emplace_back(kernelIndex.at(launch.getKernel()), begin,
                              static_cast<uint32_t>(entry.args.size() - begin), infoIndex, launch.getGrid(),
                              launch.getChunk());
}

uint32_t Exporter::addBuffer(schema::EntryT &entry, Value value) {
  auto [it, isNew] = bufferIndex.try_emplace(value, entry.buffers.size());
  if (isNew)
    entry.buffers.push_back(place(value));
  return it->second;
}

schema::Buffer Exporter::place(Value value) {
  uint64_t size = cast<rt::BufferType>(value.getType()).getSizeBytes();
  return llvm::TypeSwitch<Operation *, schema::Buffer>(value.getDefiningOp())
      .Case([&](rt::InputOp op) { return schema::Buffer(schema::Place::Input, op.getIndex(), 0, size); })
      .Case([&](rt::OutputOp op) { return schema::Buffer(schema::Place::Output, op.getIndex(), 0, size); })
      .Case([&](rt::AllocOp op) { return schema::Buffer(schema::Place::Slab, 0, *op.getOffset(), size); })
      .Case([&](rt::ConstOp op) { return placeConst(op); })
      .Case([&](rt::ViewOp op) {
        schema::Buffer source = place(op.getSource());
        return schema::Buffer(source.place(), source.index(), source.offset() + op.getOffset(), size);
      });
}

/// The whole tensor that `weight` is a slice of, if a view of it will do.
graph::WeightAttr Exporter::widened(graph::WeightAttr weight) const {
  constexpr uint64_t most = 16 << 20; // a row of a large table is better off alone
  graph::WeightAttr all = whole.lookup(weight.getName());
  if (!all || all.getFile() != weight.getFile() || all.getLength() > most || all.getOffset() > weight.getOffset())
    return weight;
  bool sameElements = cast<RankedTensorType>(all.getType()).getElementType() ==
                      cast<RankedTensorType>(weight.getType()).getElementType();
  uint64_t start = weight.getOffset() - all.getOffset();
  return sameElements && start + weight.getLength() <= all.getLength() && start % kAlign == 0 ? all : weight;
}

schema::Buffer Exporter::placeConst(rt::ConstOp constant) {
  uint64_t size = constant.getBuffer().getType().getSizeBytes(), packedSize = size, start = 0;
  Attribute value = constant.getValue();
  auto weight = dyn_cast<graph::WeightAttr>(value);
  if (weight && !constant.getPanelsAttr()) {
    graph::WeightAttr all = widened(weight);
    start = weight.getOffset() - all.getOffset();
    value = weight = all;
    packedSize = all.getLength();
  }
  auto [it, isNew] = constOffset.try_emplace({value, constant.getPanelsAttr()}, 0);
  if (isNew)
    it->second = weight ? packWeight(weight, constant.getPanelsAttr(), packedSize) : appendRodata(constant, size);
  return schema::Buffer(weight ? schema::Place::Weights : schema::Place::RoData, 0, it->second + start, size);
}

uint32_t Exporter::addSource(graph::WeightAttr weight) {
  auto [it, isNew] = sourceIndex.try_emplace(weight, out.program.sources.size());
  if (!isNew)
    return it->second;
  auto type = cast<RankedTensorType>(weight.getType());
  auto source = std::make_unique<schema::SourceT>();
  source->name = weight.getName().str();
  source->dtype = static_cast<uint8_t>(dtypeOf(type.getElementType()));
  source->shape.assign(type.getShape().begin(), type.getShape().end());
  source->file = weight.getFile();
  source->offset = weight.getOffset();
  source->length = weight.getLength();
  out.program.sources.push_back(std::move(source));
  return it->second;
}

uint64_t Exporter::packWeight(graph::WeightAttr weight, rt::PanelsAttr panels, uint64_t size) {
  auto type = cast<RankedTensorType>(weight.getType());
  auto dtype = static_cast<uint8_t>(dtypeOf(type.getElementType()));
  uint64_t offset = llvm::alignTo(out.program.weights_size, kAlign);
  out.program.weights_size = offset + size;
  uint32_t source = addSource(weight);
  if (panels) {
    bool transposed = panels.getTransposed();
    uint64_t k = panels.getK(), n = panels.getN();
    uint32_t columns = llvm::divideCeil(n, panels.getPanel()) * panels.getPanel();
    out.program.pack.emplace_back(transposed ? schema::PackKind::PanelsT : schema::PackKind::Panels, dtype, dtype,
                                  source, panels.getPanel(), 0, columns, k, n, transposed ? k : n, offset, size);
  } else {
    uint64_t count = type.getNumElements();
    out.program.pack.emplace_back(schema::PackKind::Copy, dtype, dtype, source, 0, 0, 0, 1, count, count, offset, size);
  }
  return offset;
}

/// Row-major [k][n] (or [n][k]) elements -> panels, for constants small enough to be dense.
std::vector<char> panelBytes(ArrayRef<char> bytes, rt::PanelsAttr panels, uint64_t size) {
  uint64_t k = panels.getK(), n = panels.getN(), width = panels.getPanel();
  uint64_t element = k && n ? bytes.size() / (k * n) : 0;
  std::vector<char> packed(size, 0);
  for (uint64_t column = 0; column < n; ++column)
    for (uint64_t row = 0; row < k; ++row) {
      uint64_t from = panels.getTransposed() ? column * k + row : row * n + column;
      uint64_t to = (column / width * k + row) * width + column % width;
      std::copy_n(bytes.data() + from * element, element, packed.data() + to * element);
    }
  return packed;
}

uint64_t Exporter::appendRodata(rt::ConstOp constant, uint64_t size) {
  uint64_t offset = llvm::alignTo(out.rodata.size(), kAlign);
  std::vector<char> bytes = graph::HostTensor::fromElements(cast<ElementsAttr>(constant.getValue())).toBytes();
  if (rt::PanelsAttr panels = constant.getPanelsAttr())
    bytes = panelBytes(bytes, panels, size);
  out.rodata.resize(offset);
  out.rodata.insert(out.rodata.end(), bytes.begin(), bytes.end());
  return offset;
}

void Exporter::addMemory(schema::EntryT &entry) {
  entry.memory = std::make_unique<schema::MemoryPlanT>();
  entry.memory->slab = memory.plan.peak;
  entry.memory->lower_bound = memory.plan.lowerBound;
  for (const auto &kernel : out.program.kernels)
    entry.memory->scratch_per_worker = std::max<uint64_t>(entry.memory->scratch_per_worker, kernel->scratch);
  for (plan::BufferId id : memory.plan.liveAtPeak) {
    auto live = std::make_unique<schema::LiveBufferT>();
    live->name = memory.problem.buffers[id].name;
    live->size = memory.problem.buffers[id].size;
    entry.memory->live_at_peak.push_back(std::move(live));
  }
}

} // namespace

WholeWeights gaudi::driver::wholeWeights(ModuleOp imported) {
  WholeWeights whole;
  imported.walk([&](graph::ConstantOp constant) {
    if (graph::WeightAttr weight = constant.getWeight())
      whole.try_emplace(weight.getName(), weight);
  });
  return whole;
}

ExportedProgram gaudi::driver::exportProgram(ModuleOp module, const PlannedMemory &memory, const WholeWeights &whole) {
  return Exporter(module, memory, whole).run();
}
