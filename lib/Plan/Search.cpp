//===- Search.cpp - exact placement by branch and bound -------------------===//
//
// After MiniMalloc (Moffitt, ASPLOS 2023), simplified. Any solution can be pushed down until each block lies on the
// floor or on another block, and read off from below: so it is enough to place blocks in order of rising offset, each
// at the lowest offset that the blocks below it leave. Depth-first over "which block comes next", with three cuts:
//   monotone    a block whose lowest offset lies under the last placed one must wait until something lifts it;
//   dominance   a block that starts above the end of another candidate can as well come later;
//   sections    in each piece of time, floor (at least the last offset) + what is still to come must fit the capacity.
//
//===----------------------------------------------------------------------===//
#include "lib/Plan/Search.h"
#include "runtime/base/SafeMath.h"

#include <algorithm>

namespace gaudi::plan {

namespace {

class Solver {
public:
  explicit Solver(const std::vector<Block> &blocks, const std::vector<uint32_t> &priority);

  /// True if a placement within `capacity` was found before `nodes` ran out (it is then in `offsets`).
  bool solve(Bytes capacity, uint64_t nodes);
  Placement placement(size_t blockCount) const;

private:
  struct Item {
    Bytes size, align;
    uint32_t sectionBegin, sectionEnd;
    uint32_t block;
  };
  struct Undo {
    uint32_t item;
    Bytes lowest;
  };

  bool descend(size_t placedCount, Bytes lastOffset, uint32_t lastItem);
  bool tryItem(uint32_t id, size_t placedCount);
  bool sectionsFit(Bytes offset) const;
  void candidates(Bytes lastOffset, uint32_t lastItem, std::vector<uint32_t> &out) const;

  std::vector<Item> items; ///< in priority order
  std::vector<std::vector<uint32_t>> neighbours;
  std::vector<Bytes> lowest, offsets, floors, remaining;
  std::vector<uint8_t> isPlaced;
  std::vector<Undo> undos;
  std::vector<std::pair<uint32_t, Bytes>> floorUndos;
  Bytes capacity = 0;
  uint64_t nodesLeft = 0, nodeCost = 1;
};

Solver::Solver(const std::vector<Block> &blocks, const std::vector<uint32_t> &priority) {
  std::vector<Step> steps;
  for (uint32_t id : priority)
    steps.insert(steps.end(), {blocks[id].first, blocks[id].last});
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  auto section = [&](Step step) {
    return static_cast<uint32_t>(std::lower_bound(steps.begin(), steps.end(), step) - steps.begin());
  };
  for (uint32_t id : priority) {
    const Block &block = blocks[id];
    items.push_back({block.size, block.align, section(block.first), section(block.last), id});
  }
  size_t n = items.size();
  neighbours.resize(n);
  for (uint32_t a = 0; a < n; ++a)
    for (uint32_t b = 0; b < n; ++b)
      if (a != b && blocks[items[a].block].meets(blocks[items[b].block]))
        neighbours[a].push_back(b);
  lowest.resize(n);
  offsets.resize(n);
  isPlaced.resize(n);
  floors.resize(steps.size());
  remaining.resize(steps.size());
  nodeCost = std::max<uint64_t>(1, n / 50);
}

bool Solver::solve(Bytes limit, uint64_t nodes) {
  capacity = limit;
  nodesLeft = nodes;
  std::fill(lowest.begin(), lowest.end(), 0);
  std::fill(isPlaced.begin(), isPlaced.end(), 0);
  std::fill(floors.begin(), floors.end(), 0);
  std::fill(remaining.begin(), remaining.end(), 0);
  for (const Item &item : items)
    for (uint32_t s = item.sectionBegin; s < item.sectionEnd; ++s)
      remaining[s] += item.size;
  return descend(0, 0, 0);
}

bool Solver::sectionsFit(Bytes offset) const {
  for (size_t s = 0; s < floors.size(); ++s)
    if (remaining[s] && std::max(floors[s], offset) + remaining[s] > capacity)
      return false;
  return true;
}

void Solver::candidates(Bytes lastOffset, uint32_t lastItem, std::vector<uint32_t> &out) const {
  Bytes firstEnd = ~Bytes(0);
  for (uint32_t id = 0; id < items.size(); ++id)
    if (!isPlaced[id])
      firstEnd = std::min(firstEnd, std::max(lowest[id], lastOffset) + items[id].size);
  for (uint32_t id = 0; id < items.size(); ++id) {
    if (isPlaced[id] || lowest[id] < lastOffset || lowest[id] >= firstEnd)
      continue;
    if (lowest[id] == lastOffset && id < lastItem)
      continue; // blocks at equal offsets are independent: one order of them is enough
    if (lowest[id] + items[id].size <= capacity)
      out.push_back(id);
  }
  std::sort(out.begin(), out.end(),
            [&](uint32_t a, uint32_t b) { return lowest[a] != lowest[b] ? lowest[a] < lowest[b] : a < b; });
}

bool Solver::descend(size_t placedCount, Bytes lastOffset, uint32_t lastItem) {
  if (placedCount == items.size())
    return true;
  if (nodesLeft < nodeCost) {
    nodesLeft = 0;
    return false;
  }
  nodesLeft -= nodeCost;
  if (!sectionsFit(lastOffset))
    return false;
  std::vector<uint32_t> choices;
  candidates(lastOffset, lastItem, choices);
  for (uint32_t id : choices) {
    if (tryItem(id, placedCount))
      return true;
    if (!nodesLeft)
      return false;
  }
  return false;
}

bool Solver::tryItem(uint32_t id, size_t placedCount) {
  const Item &item = items[id];
  Bytes offset = lowest[id], end = offset + item.size;
  size_t undoMark = undos.size(), floorMark = floorUndos.size();
  isPlaced[id] = 1;
  offsets[id] = offset;
  for (uint32_t s = item.sectionBegin; s < item.sectionEnd; ++s) {
    floorUndos.push_back({s, floors[s]});
    floors[s] = end;
    remaining[s] -= item.size;
  }
  bool feasible = true;
  for (uint32_t other : neighbours[id]) {
    if (isPlaced[other] || lowest[other] >= end)
      continue;
    undos.push_back({other, lowest[other]});
    lowest[other] = alignUp(end, items[other].align);
    feasible &= lowest[other] + items[other].size <= capacity;
  }
  if (feasible && descend(placedCount + 1, offset, id))
    return true;
  for (; undos.size() > undoMark; undos.pop_back())
    lowest[undos.back().item] = undos.back().lowest;
  for (; floorUndos.size() > floorMark; floorUndos.pop_back()) {
    floors[floorUndos.back().first] = floorUndos.back().second;
    remaining[floorUndos.back().first] += item.size;
  }
  isPlaced[id] = 0;
  return false;
}

Placement Solver::placement(size_t blockCount) const {
  Placement result{std::vector<Bytes>(blockCount), 0};
  for (size_t i = 0; i < items.size(); ++i) {
    result.offsets[items[i].block] = offsets[i];
    result.peak = std::max(result.peak, offsets[i] + items[i].size);
  }
  return result;
}

} // namespace

Placement search(const std::vector<Block> &blocks, Placement best, Bytes lowerBound, uint64_t nodeLimit) {
  // The recursion is as deep as there are blocks, and the neighbour lists grow with their square.
  constexpr size_t maxBlocks = 4000;
  std::vector<uint32_t> priority = orderBlocks(blocks, Order::Area);
  if (priority.size() > maxBlocks || !nodeLimit)
    return best;
  Solver solver(blocks, priority);
  // The lower bound itself first: most graphs reach it. Then bisect what is left.
  Bytes proven = lowerBound;
  Bytes capacity = lowerBound;
  constexpr int tries = 6;
  for (int i = 0; i < tries && best.peak > proven; ++i) {
    if (solver.solve(capacity, nodeLimit / tries))
      best = solver.placement(blocks.size());
    else
      proven = capacity + 1; // or out of nodes: not worth trying again either
    if (best.peak <= proven)
      break;
    capacity = proven + (best.peak - proven) / 2;
  }
  return best;
}

} // namespace gaudi::plan
