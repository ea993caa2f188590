//===- FirstFit.cpp - a portfolio of first-fit placements -----------------===//
//
// Measured (knowledge/runtime.md 3.1): on transformer and UNet graphs first-fit by size reaches the lower bound; the
// other orders are for graphs where long-lived small blocks would split the slab.
//
//===----------------------------------------------------------------------===//
#include "lib/Plan/FirstFit.h"
#include "runtime/base/SafeMath.h"

#include <algorithm>
#include <tuple>

namespace gaudi::plan {

/// Per block, the largest sum of live blocks at any step of its lifetime.
static std::vector<Bytes> contentions(const std::vector<Block> &blocks) {
  std::vector<Step> steps;
  for (const Block &block : blocks)
    if (block.live())
      steps.insert(steps.end(), {block.first, block.last});
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  auto section = [&](Step step) { return std::lower_bound(steps.begin(), steps.end(), step) - steps.begin(); };

  std::vector<Bytes> live(steps.size());
  for (const Block &block : blocks)
    if (block.live()) {
      live[section(block.first)] += block.size;
      live[section(block.last)] -= block.size; // unsigned wrap cancels in the prefix sum
    }
  for (size_t i = 1; i < live.size(); ++i)
    live[i] += live[i - 1];

  std::vector<Bytes> result(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].live())
      result[i] = *std::max_element(live.begin() + section(blocks[i].first), live.begin() + section(blocks[i].last));
  return result;
}

std::vector<uint32_t> orderBlocks(const std::vector<Block> &blocks, Order order) {
  using Key = std::tuple<double, Bytes, Step>; // larger = earlier
  std::vector<Bytes> contention = order == Order::Contention ? contentions(blocks) : std::vector<Bytes>();
  std::vector<Key> keys(blocks.size());
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    const Block &block = blocks[i];
    if (!block.live())
      continue;
    ids.push_back(i);
    Step duration = block.last - block.first;
    switch (order) {
    case Order::Size:
      keys[i] = {0, block.size, duration};
      break;
    case Order::Area:
      keys[i] = {double(block.size) * duration, block.size, duration};
      break;
    case Order::Duration:
      keys[i] = {duration, block.size, duration};
      break;
    case Order::Contention:
      keys[i] = {double(contention[i]), block.size, duration};
      break;
    case Order::Creation:
      keys[i] = {0, 0, ~block.first};
      break;
    }
  }
  std::sort(ids.begin(), ids.end(),
            [&](uint32_t a, uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
  return ids;
}

Placement firstFit(const std::vector<Block> &blocks, const std::vector<uint32_t> &order, Bytes giveUpAt) {
  struct Placed {
    Bytes offset, end;
    Step first, last;
  };
  std::vector<Placed> placed; // by offset, so that one pass from below finds the first gap
  placed.reserve(order.size());
  Placement result{std::vector<Bytes>(blocks.size()), 0};
  for (uint32_t id : order) {
    const Block &block = blocks[id];
    Bytes offset = 0;
    for (const Placed &other : placed) {
      if (block.first >= other.last || other.first >= block.last)
        continue;
      if (other.offset >= offset + block.size)
        break;
      offset = std::max(offset, alignUp(other.end, block.align));
    }
    result.offsets[id] = offset;
    result.peak = std::max(result.peak, offset + block.size);
    if (result.peak >= giveUpAt) {
      result.peak = ~Bytes(0);
      return result;
    }
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [](Bytes value, const Placed &other) { return value < other.offset; });
    placed.insert(at, {offset, offset + block.size, block.first, block.last});
  }
  return result;
}

Placement placeByPortfolio(const std::vector<Block> &blocks, Bytes lowerBound) {
  Placement best{{}, ~Bytes(0)};
  for (Order order : kAllOrders) {
    Placement placement = firstFit(blocks, orderBlocks(blocks, order), best.peak);
    if (placement.peak < best.peak)
      best = std::move(placement);
    if (best.peak <= lowerBound)
      break;
  }
  return best;
}

} // namespace gaudi::plan
