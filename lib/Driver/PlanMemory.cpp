//===- PlanMemory.cpp - offsets for the allocs of an rt program -----------===//
#include "lib/Driver/PlanMemory.h"

#include "dialects/rt/Rt.h"

using namespace mlir;
using namespace gaudi;
using namespace gaudi::driver;

namespace {

/// The rt.alloc behind views, or null.
rt::AllocOp allocOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<rt::ViewOp>())
    buffer = view.getSource();
  return buffer.getDefiningOp<rt::AllocOp>();
}

class ProblemBuilder {
public:
  plan::Problem run(func::FuncOp entry) {
    for (auto launch : entry.getOps<rt::LaunchOp>()) {
      for (Value read : launch.getReads())
        touch(read);
      for (auto [i, write] : llvm::enumerate(launch.getWrites())) {
        touch(write);
        addInPlace(launch, write, cast<DenseI64ArrayAttr>(launch.getInPlace()[i]));
      }
      ++step;
    }
    return std::move(problem);
  }

  llvm::MapVector<Operation *, plan::BufferId> ids;

private:
  /// The launch being visited uses the buffer: its lifetime covers this step.
  void touch(Value buffer) {
    rt::AllocOp alloc = allocOf(buffer);
    if (!alloc)
      return;
    auto [it, isNew] = ids.try_emplace(alloc, static_cast<plan::BufferId>(problem.buffers.size()));
    if (isNew) {
      plan::Buffer fresh;
      fresh.name = alloc.getName().str();
      fresh.size = alloc.getBuffer().getType().getSizeBytes();
      fresh.first = step;
      problem.buffers.push_back(std::move(fresh));
    }
    problem.buffers[it->second].last = step + 1;
  }

  void addInPlace(rt::LaunchOp launch, Value write, DenseI64ArrayAttr positions) {
    rt::AllocOp target = write.getDefiningOp<rt::AllocOp>();
    if (!target)
      return;
    for (int64_t p : positions.asArrayRef())
      if (rt::AllocOp source = fromItsStart(launch.getReads()[p]); source && readOnce(launch, source))
        problem.buffers[ids.find(target)->second].inPlace.push_back(ids.find(source)->second);
  }

  /// The alloc that `buffer` begins with. Element i of a view further in lies behind element i of what would take over
  /// the alloc: writing in place would overwrite what other tasks have yet to read.
  static rt::AllocOp fromItsStart(Value buffer) {
    for (auto view = buffer.getDefiningOp<rt::ViewOp>(); view; view = buffer.getDefiningOp<rt::ViewOp>()) {
      if (view.getOffset() != 0)
        return nullptr;
      buffer = view.getSource();
    }
    return buffer.getDefiningOp<rt::AllocOp>();
  }

  /// Overwriting is only safe for the operand itself, not when the same launch also reads the buffer elsewhere (a
  /// broadcast second operand would see new values).
  static bool readOnce(rt::LaunchOp launch, rt::AllocOp source) {
    return llvm::count_if(launch.getReads(), [&](Value v) { return allocOf(v) == source; }) == 1;
  }

  plan::Problem problem;
  plan::Step step = 0;
};

} // namespace

Expected<PlannedMemory> gaudi::driver::planMemory(func::FuncOp entry, const plan::Options &options) {
  ProblemBuilder problemBuilder;
  PlannedMemory memory;
  memory.problem = problemBuilder.run(entry);
  Expected<plan::Plan> solved = plan::solve(memory.problem, options);
  if (!solved.ok())
    return solved.takeStatus();
  memory.plan = solved.take();
  GAUDI_TRY(plan::validate(memory.problem, memory.plan));
  for (auto [op, id] : problemBuilder.ids)
    cast<rt::AllocOp>(op).setOffset(memory.plan.offsets[id]);
  return memory;
}
