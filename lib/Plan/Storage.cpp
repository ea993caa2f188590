//===- Storage.cpp - from buffers to blocks of storage --------------------===//
#include "lib/Plan/Storage.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <numeric>

namespace gaudi::plan {

namespace {

Status invalid(const Problem &problem, BufferId id, const std::string &what) {
  return Status::error(StatusCode::InvalidInput, cat("buffer ", id, " '", problem.buffers[id].name, "': ", what));
}

Status checkBuffer(const Problem &problem, BufferId id) {
  const Buffer &buffer = problem.buffers[id];
  if (buffer.first > buffer.last)
    return invalid(problem, id, cat("lifetime [", buffer.first, ", ", buffer.last, ") ends before it begins"));
  if (!isPowerOfTwo(buffer.align) || buffer.align > (1u << 30))
    return invalid(problem, id, cat("alignment ", buffer.align, " is not a power of two up to 2^30"));
  if (buffer.size > (Bytes(1) << 60))
    return invalid(problem, id, cat("size ", buffer.size, " is above 2^60"));
  for (BufferId candidate : buffer.inPlace)
    if (candidate >= problem.buffers.size() || candidate == id)
      return invalid(problem, id, cat("in-place candidate ", candidate, " is itself or unknown"));
  if (buffer.aliasOf == kNone)
    return {};
  if (buffer.aliasOf >= problem.buffers.size())
    return invalid(problem, id, cat("alias of unknown buffer ", buffer.aliasOf));
  const Buffer &target = problem.buffers[buffer.aliasOf];
  if (!insideRange(buffer.aliasOffset, buffer.size, target.size))
    return invalid(problem, id,
                   cat("alias of bytes [", buffer.aliasOffset, ", +", buffer.size, ") of '", target.name,
                       "', which has ", target.size));
  return {};
}

/// Mutable sharing groups: every buffer belongs to the group of one root, at some offset of it.
class Groups {
public:
  explicit Groups(const Problem &problem)
      : problem(problem), rootOf(problem.buffers.size()), offsetOf(problem.buffers.size()),
        members(problem.buffers.size()) {}

  Status resolveAliases();
  /// Lets `taker` live in the storage of `candidate` if nobody else still needs it.
  bool takeOver(BufferId taker, BufferId candidate, InPlace policy);
  Expected<Storage> build() const;

private:
  bool mayTake(BufferId taker, BufferId candidate) const;
  const Buffer &buffer(BufferId id) const { return problem.buffers[id]; }

  const Problem &problem;
  std::vector<BufferId> rootOf;
  std::vector<Bytes> offsetOf;
  std::vector<std::vector<BufferId>> members; ///< per root, itself included
};

Status Groups::resolveAliases() {
  enum Mark : uint8_t { Unseen, OnPath, Done };
  std::vector<Mark> marks(problem.buffers.size(), Unseen);
  std::vector<BufferId> path;
  for (BufferId start = 0; start < problem.buffers.size(); ++start) {
    path.clear();
    for (BufferId id = start; marks[id] != Done; id = buffer(id).aliasOf) {
      if (marks[id] == OnPath)
        return invalid(problem, id, "aliases form a cycle");
      marks[id] = OnPath;
      path.push_back(id);
      if (buffer(id).aliasOf == kNone)
        break;
    }
    for (auto it = path.rbegin(); it != path.rend(); ++it) {
      BufferId id = *it, target = buffer(id).aliasOf;
      rootOf[id] = target == kNone ? id : rootOf[target];
      offsetOf[id] = target == kNone ? 0 : offsetOf[target] + buffer(id).aliasOffset;
      members[rootOf[id]].push_back(id);
      marks[id] = Done;
    }
  }
  return {};
}

bool Groups::mayTake(BufferId taker, BufferId candidate) const {
  const Buffer &to = buffer(taker), &from = buffer(candidate);
  BufferId root = rootOf[candidate];
  if (root == taker || from.first >= from.last || from.last - 1 != to.first || to.first >= to.last)
    return false;
  if (to.size > from.size || offsetOf[candidate] % to.align != 0)
    return false;
  // The kernel that defines `taker` reads the candidate element by element. Anything else live at that step may be read
  // at another element, so only members that are the very same bytes are harmless.
  for (BufferId id : members[root]) {
    const Buffer &member = buffer(id);
    if (member.first >= member.last || member.last <= to.first)
      continue;
    bool sameBytes = offsetOf[id] == offsetOf[candidate] && member.size == from.size;
    if (member.last - 1 > to.first || member.first >= to.first || !sameBytes)
      return false;
  }
  return std::all_of(members[taker].begin(), members[taker].end(),
                     [&](BufferId id) { return buffer(id).first >= to.first; });
}

bool Groups::takeOver(BufferId taker, BufferId candidate, InPlace policy) {
  if (!mayTake(taker, candidate))
    return false;
  if (policy == InPlace::SameSizeOnly && buffer(taker).size != buffer(rootOf[candidate]).size)
    return false;
  BufferId root = rootOf[candidate];
  Bytes shift = offsetOf[candidate];
  for (BufferId id : members[taker]) {
    rootOf[id] = root;
    offsetOf[id] += shift;
    members[root].push_back(id);
  }
  members[taker].clear();
  return true;
}

Expected<Storage> Groups::build() const {
  Storage storage;
  storage.homes.resize(problem.buffers.size());
  Bytes total = 0;
  for (BufferId root = 0; root < members.size(); ++root) {
    if (members[root].empty())
      continue;
    Block block{buffer(root).size, 1, ~Step(0), 0, root};
    for (BufferId id : members[root]) {
      storage.homes[id] = {static_cast<uint32_t>(storage.blocks.size()), offsetOf[id]};
      block.align = std::max(block.align, buffer(id).align);
      if (offsetOf[id] % buffer(id).align)
        return invalid(problem, id, cat("alias offset ", offsetOf[id], " breaks its alignment ", buffer(id).align));
      if (buffer(id).first < buffer(id).last) {
        block.first = std::min(block.first, buffer(id).first);
        block.last = std::max(block.last, buffer(id).last);
      }
    }
    if (block.last == 0)
      block.first = 0; // never live
    block.size = alignUp(block.size, block.align);
    if (!checkedAdd(total, block.size, total) || total > (Bytes(1) << 62))
      return invalid(problem, root, "sizes add up to more than 2^62");
    storage.blocks.push_back(block);
  }
  return storage;
}

} // namespace

Expected<Storage> assignStorage(const Problem &problem, InPlace policy) {
  if (problem.buffers.size() >= kNone)
    return Status::error(StatusCode::InvalidInput, "memory plan: too many buffers");
  for (BufferId id = 0; id < problem.buffers.size(); ++id)
    GAUDI_TRY(checkBuffer(problem, id));
  Groups groups(problem);
  GAUDI_TRY(groups.resolveAliases());

  // In program order, so that a chain a -> b -> c merges front to back and each link sees the final group.
  std::vector<BufferId> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0);
  auto first = [&](BufferId id) { return problem.buffers[id].first; };
  std::sort(order.begin(), order.end(),
            [&](BufferId a, BufferId b) { return first(a) != first(b) ? first(a) < first(b) : a < b; });
  bool shrank = false;
  for (BufferId id : order) {
    const Buffer &buffer = problem.buffers[id];
    if (buffer.aliasOf != kNone || !buffer.size)
      continue; // a view has its place already
    for (BufferId candidate : buffer.inPlace) {
      if (groups.takeOver(id, candidate, policy)) {
        shrank |= buffer.size != problem.buffers[candidate].size || problem.buffers[candidate].aliasOf != kNone;
        break;
      }
    }
  }
  Expected<Storage> storage = groups.build();
  if (storage.ok())
    storage->shrank = shrank;
  return storage;
}

LiveProfile liveProfile(const std::vector<Block> &blocks) {
  struct Event {
    Step step;
    bool begins;
    Bytes size;
  };
  std::vector<Event> events;
  for (const Block &block : blocks) {
    if (!block.live())
      continue;
    events.push_back({block.first, true, block.size});
    events.push_back({block.last, false, block.size});
  }
  // Ends before beginnings at the same step: lifetimes are half-open.
  std::sort(events.begin(), events.end(),
            [](const Event &a, const Event &b) { return a.step != b.step ? a.step < b.step : a.begins < b.begins; });
  LiveProfile profile;
  Bytes live = 0;
  for (const Event &event : events) {
    live = event.begins ? live + event.size : live - event.size;
    if (live > profile.peak)
      profile = {live, event.step};
  }
  return profile;
}

} // namespace gaudi::plan
