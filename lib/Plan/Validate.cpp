//===- Validate.cpp - independent check of a memory plan ------------------===//
//
// Deliberately naive and written from the definition in Plan.h, not from the solver.
//
//===----------------------------------------------------------------------===//
#include "lib/Plan/Plan.h"
#include "runtime/base/Text.h"

#include <algorithm>

namespace gaudi::plan {

namespace {

struct Place {
  Bytes begin, end;
  Step first, last;
  BufferId id;
};

Status wrong(const Problem &problem, BufferId id, const std::string &what) {
  return Status::error(StatusCode::Internal, cat("buffer ", id, " '", problem.buffers[id].name, "' ", what));
}

/// The buffer at the end of the chain of views.
BufferId viewRoot(const Problem &problem, BufferId id) {
  while (problem.buffers[id].aliasOf != kNone)
    id = problem.buffers[id].aliasOf;
  return id;
}

/// True if `taker` may hold the same bytes as `other` while both live: only at the step that defines it, and only if
/// a declared candidate occupies exactly those bytes.
bool takesInPlace(const Problem &problem, const Plan &plan, BufferId taker, BufferId other) {
  BufferId owner = viewRoot(problem, taker);
  const Buffer &to = problem.buffers[owner], &from = problem.buffers[other];
  if (from.last != to.first + 1 || from.first >= to.first)
    return false;
  return std::any_of(to.inPlace.begin(), to.inPlace.end(), [&](BufferId candidate) {
    return plan.offsets[candidate] == plan.offsets[owner] && plan.offsets[other] == plan.offsets[candidate] &&
           problem.buffers[candidate].size == from.size && to.size <= from.size &&
           plan.storage[candidate] == plan.storage[owner];
  });
}

bool mayOverlap(const Problem &problem, const Plan &plan, BufferId a, BufferId b) {
  if (plan.storage[a] != plan.storage[b])
    return false;
  return viewRoot(problem, a) == viewRoot(problem, b) || takesInPlace(problem, plan, a, b) ||
         takesInPlace(problem, plan, b, a);
}

Status checkPlace(const Problem &problem, const Plan &plan, BufferId id) {
  const Buffer &buffer = problem.buffers[id];
  Bytes offset = plan.offsets[id];
  if (plan.storage[id] >= problem.buffers.size())
    return wrong(problem, id, "has no storage");
  if (buffer.size && buffer.first < buffer.last && (offset > plan.peak || buffer.size > plan.peak - offset))
    return wrong(problem, id, cat("ends outside the slab (", offset, " + ", buffer.size, " > ", plan.peak, ")"));
  if (buffer.align && offset % buffer.align)
    return wrong(problem, id, cat("at ", offset, " is not aligned to ", buffer.align));
  if (buffer.aliasOf == kNone)
    return {};
  if (offset != plan.offsets[buffer.aliasOf] + buffer.aliasOffset)
    return wrong(problem, id, "is not where its alias says");
  if (buffer.aliasOffset + buffer.size > problem.buffers[buffer.aliasOf].size)
    return wrong(problem, id, "is larger than what it aliases");
  return {};
}

} // namespace

Status validate(const Problem &problem, const Plan &plan) {
  if (plan.offsets.size() != problem.buffers.size() || plan.storage.size() != problem.buffers.size())
    return Status::error(StatusCode::Internal, "plan and problem differ in length");
  std::vector<Place> places;
  for (BufferId id = 0; id < problem.buffers.size(); ++id) {
    GAUDI_TRY(checkPlace(problem, plan, id));
    const Buffer &buffer = problem.buffers[id];
    if (buffer.size && buffer.first < buffer.last)
      places.push_back({plan.offsets[id], plan.offsets[id] + buffer.size, buffer.first, buffer.last, id});
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) { return a.first < b.first; });
  for (size_t i = 0; i < places.size(); ++i) {
    const Place &a = places[i];
    for (size_t j = i + 1; j < places.size() && places[j].first < a.last; ++j) {
      const Place &b = places[j];
      if (a.begin < b.end && b.begin < a.end && !mayOverlap(problem, plan, a.id, b.id))
        return wrong(problem, a.id,
                     cat("overlaps buffer ", b.id, " '", problem.buffers[b.id].name, "' at step ", b.first));
    }
  }
  return {};
}

} // namespace gaudi::plan
