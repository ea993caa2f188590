//===- Solve.cpp - the route of a memory plan -----------------------------===//
#include "lib/Plan/Search.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace gaudi::plan {

namespace {
struct Candidate {
  Storage storage;
  Placement placement;
  LiveProfile profile;
};
} // namespace

static Expected<Candidate> attempt(const Problem &problem, const Options &options, InPlace policy) {
  Expected<Storage> storage = assignStorage(problem, policy);
  if (!storage.ok())
    return storage.takeStatus();
  Candidate result{storage.take(), {}, {}};
  const std::vector<Block> &blocks = result.storage.blocks;
  result.profile = liveProfile(blocks);
  result.placement = placeByPortfolio(blocks, result.profile.peak);
  if (result.placement.peak > result.profile.peak)
    result.placement = search(blocks, std::move(result.placement), result.profile.peak, options.nodeLimit);
  return result;
}

static void fillLiveAtPeak(const Problem &problem, const Storage &storage, Plan &plan) {
  for (const Block &block : storage.blocks)
    if (block.live() && block.first <= plan.peakStep && plan.peakStep < block.last)
      plan.liveAtPeak.push_back(block.root);
  auto size = [&](BufferId id) { return problem.buffers[id].size; };
  std::sort(plan.liveAtPeak.begin(), plan.liveAtPeak.end(),
            [&](BufferId a, BufferId b) { return size(a) != size(b) ? size(a) > size(b) : a < b; });
}

static Plan toPlan(const Problem &problem, const Candidate &best) {
  Plan plan;
  for (const Home &home : best.storage.homes) {
    plan.storage.push_back(best.storage.blocks[home.block].root);
    plan.offsets.push_back(best.placement.offsets[home.block] + home.offset);
  }
  plan.peak = best.placement.peak;
  plan.lowerBound = best.profile.peak;
  plan.peakStep = best.profile.step;
  fillLiveAtPeak(problem, best.storage, plan);
  return plan;
}

static Status checkBudget(const Problem &problem, const Options &options, const Plan &plan) {
  if (!options.budget || plan.peak <= options.budget)
    return {};
  std::string largest;
  if (!plan.liveAtPeak.empty()) {
    const Buffer &buffer = problem.buffers[plan.liveAtPeak.front()];
    largest = cat("; the largest buffer live at step ", plan.peakStep, " is '", buffer.name, "' with ",
                  formatBytes(buffer.size));
  }
  return Status::error(StatusCode::ResourceLimit,
                       cat("memory plan: needs ", plan.peak, " bytes (budget ", options.budget, ")"),
                       cat("the minimum budget for this plan is ", plan.peak, " bytes (", formatBytes(plan.peak),
                           "), no plan of this order can go below ", plan.lowerBound, largest));
}

Expected<Plan> solve(const Problem &problem, const Options &options) {
  Expected<Candidate> best = attempt(problem, options, InPlace::SameOrSmaller);
  if (!best.ok())
    return best.takeStatus();
  if (best->storage.shrank) {
    Expected<Candidate> other = attempt(problem, options, InPlace::SameSizeOnly);
    if (other.ok() && other->placement.peak < best->placement.peak)
      best = std::move(other);
  }
  Plan plan = toPlan(problem, *best);
  if (Status status = validate(problem, plan); !status.ok())
    return Status::error(StatusCode::Internal, cat("memory planner produced a wrong plan: ", status.message()));
  GAUDI_TRY(checkBudget(problem, options, plan));
  return plan;
}

} // namespace gaudi::plan
