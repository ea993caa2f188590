//===- FirstFit.h - a portfolio of first-fit placements ---------*- C++ -*-===//
#pragma once

#include "lib/Plan/Storage.h"

namespace gaudi::plan {

struct Placement {
  std::vector<Bytes> offsets; ///< per block
  Bytes peak = 0;
};

/// Order in which first-fit sees the blocks.
enum class Order { Size, Area, Duration, Contention, Creation };
inline constexpr Order kAllOrders[] = {Order::Size, Order::Area, Order::Duration, Order::Contention, Order::Creation};

/// Indices of the live blocks, most urgent first; ties by index, so the result is deterministic.
std::vector<uint32_t> orderBlocks(const std::vector<Block> &blocks, Order order);

/// Puts each block at the lowest free offset. Gives up (peak = ~0) once the peak reaches `giveUpAt`.
Placement firstFit(const std::vector<Block> &blocks, const std::vector<uint32_t> &order, Bytes giveUpAt);

/// The best of all orders; stops at the first that reaches `lowerBound`.
Placement placeByPortfolio(const std::vector<Block> &blocks, Bytes lowerBound);

} // namespace gaudi::plan
