//===- WeightPack.cpp - model weights -> kernels' layout ------------------===//
#include "runtime/load/WeightPack.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "runtime/load/Convert.h"
#include "runtime/load/PackCheck.h"
#include "runtime/load/Transpose.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

namespace gaudi::pack {

using schema::PackKind;
using schema::PackStep;

namespace {

constexpr uint64_t unitLimitBytes = 1 << 20;

DType dtypeOf(uint8_t stored) { return static_cast<DType>(stored); }

/// One panel of a destination tensor as a step sees it: `width` columns from `column` of the source.
struct Panel {
  const PackStep *step; ///< null: no step covers it
  uint64_t column;
  size_t width;
};

Panel findPanel(std::span<const PackStep> group, uint64_t panel) {
  uint64_t first = panel * group[0].panel();
  for (const PackStep &step : group) {
    if (first < step.col_offset() || first - step.col_offset() >= step.cols())
      continue;
    uint64_t column = first - step.col_offset();
    return {&step, column, static_cast<size_t>(std::min<uint64_t>(step.panel(), step.cols() - column))};
  }
  return {nullptr, 0, 0};
}

/// Fills rows [rowBegin, rowEnd) of one or more panels of equal height. out -> row rowBegin of the first panel.
class PanelFiller {
public:
  PanelFiller(std::span<const PackStep> group, std::span<const Source> sources) : group(group), sources(sources) {
    element = sizeOf(dtypeOf(group[0].dst_dtype()));
    rowBytes = group[0].panel() * element;
  }

  void fill(uint64_t panelBegin, uint64_t panelEnd, uint64_t rowBegin, uint64_t rowEnd, std::byte *out) const {
    uint64_t panelBytes = group[0].rows() * rowBytes;
    for (uint64_t p = panelBegin; p < panelEnd;) {
      // Row-major sources are read across several panels at once: a row of one panel is only 64-96 bytes.
      uint64_t q = p + 1;
      while (q < panelEnd && q - p < panelsAtOnce)
        ++q;
      fillSome(p, q, rowBegin, rowEnd, out + (p - panelBegin) * panelBytes, panelBytes);
      p = q;
    }
  }

private:
  static constexpr uint64_t panelsAtOnce = 8;
  static constexpr size_t tileRows = 64;

  void fillSome(uint64_t begin, uint64_t end, uint64_t rowBegin, uint64_t rowEnd, std::byte *out,
                uint64_t panelBytes) const {
    Panel straight[panelsAtOnce];
    std::byte *targets[panelsAtOnce];
    size_t count = 0;
    for (uint64_t p = begin; p < end; ++p) {
      Panel panel = findPanel(group, p);
      std::byte *target = out + (p - begin) * panelBytes;
      if (!panel.step) {
        std::memset(target, 0, (rowEnd - rowBegin) * rowBytes);
      } else if (panel.step->kind() == PackKind::PanelsT) {
        fillTransposed(panel, rowBegin, rowEnd, target);
      } else {
        straight[count] = panel;
        targets[count++] = target;
      }
    }
    for (uint64_t row = rowBegin; row < rowEnd; ++row)
      for (size_t i = 0; i < count; ++i)
        fillRow(straight[i], row, targets[i] + (row - rowBegin) * rowBytes);
  }

  void fillRow(const Panel &panel, uint64_t row, std::byte *out) const {
    const PackStep &step = *panel.step;
    const std::byte *from = sources[step.source()].bytes.data() +
                            (row * step.src_pitch() + panel.column) * sizeOf(dtypeOf(step.src_dtype()));
    convertRow(step, from, out, panel.width);
    if (panel.width < step.panel())
      std::memset(out + panel.width * element, 0, (step.panel() - panel.width) * element);
  }

  void convertRow(const PackStep &step, const std::byte *from, std::byte *out, size_t count) const {
    if (step.src_dtype() == step.dst_dtype())
      std::memcpy(out, from, count * element);
    else
      findConvert(dtypeOf(step.src_dtype()), dtypeOf(step.dst_dtype()))(from, out, count);
  }

  /// The source row of column n holds all rows k contiguously: transposes [width][tileRows] tiles.
  void fillTransposed(const Panel &panel, uint64_t rowBegin, uint64_t rowEnd, std::byte *out) const {
    const PackStep &step = *panel.step;
    size_t fromElement = sizeOf(dtypeOf(step.src_dtype()));
    const std::byte *from = sources[step.source()].bytes.data() + panel.column * step.src_pitch() * fromElement;
    if (panel.width < step.panel())
      std::memset(out, 0, (rowEnd - rowBegin) * rowBytes);
    alignas(64) std::byte tile[256 * tileRows * 4];
    for (uint64_t row = rowBegin; row < rowEnd; row += tileRows) {
      size_t rows = static_cast<size_t>(std::min<uint64_t>(tileRows, rowEnd - row));
      std::byte *target = out + (row - rowBegin) * rowBytes;
      const std::byte *start = from + row * fromElement;
      if (step.src_dtype() == step.dst_dtype()) {
        transpose(start, step.src_pitch(), target, step.panel(), panel.width, rows, element);
        continue;
      }
      for (size_t n = 0; n < panel.width; ++n)
        convertRow(step, start + n * step.src_pitch() * fromElement, tile + n * tileRows * element, rows);
      transpose(tile, tileRows, target, step.panel(), panel.width, rows, element);
    }
  }

  std::span<const PackStep> group;
  std::span<const Source> sources;
  size_t element, rowBytes;
};

/// Bytes [begin, end) of a packed panel tensor.
void fillPanels(std::span<const PackStep> group, std::span<const Source> sources, uint64_t begin, uint64_t end,
                std::byte *out) {
  PanelFiller filler(group, sources);
  uint64_t rowBytes = group[0].panel() * sizeOf(dtypeOf(group[0].dst_dtype())), rows = group[0].rows();
  uint64_t row = begin / rowBytes, rowEnd = end / rowBytes;
  while (row < rowEnd) { // a part of a panel, whole panels, a part of a panel
    uint64_t panel = row / rows, inside = row % rows;
    uint64_t whole = inside ? 0 : (rowEnd - row) / rows;
    uint64_t take = whole ? whole * rows : std::min(rows - inside, rowEnd - row);
    filler.fill(panel, panel + (whole ? whole : 1), inside, whole ? rows : inside + take, out);
    out += take * rowBytes;
    row += take;
  }
}

/// Elements [begin, end) (in bytes) of a row-major copy.
void fillCopy(const PackStep &step, const Source &source, uint64_t begin, uint64_t end, std::byte *out) {
  DType from = dtypeOf(step.src_dtype()), to = dtypeOf(step.dst_dtype());
  ConvertFn convert = findConvert(from, to);
  uint64_t at = begin / sizeOf(to), last = end / sizeOf(to);
  while (at < last) {
    uint64_t row = at / step.cols(), column = at % step.cols();
    uint64_t count = std::min(step.cols() - column, last - at);
    convert(source.bytes.data() + (row * step.src_pitch() + column) * sizeOf(from), out, count);
    out += count * sizeOf(to);
    at += count;
  }
}

} // namespace

Expected<Packer> Packer::create(std::span<const PackStep> steps, std::vector<Source> sources, uint64_t sizeBytes) {
  std::vector<SourceShape> shapes;
  for (const Source &source : sources)
    shapes.push_back({static_cast<uint8_t>(source.dtype), source.bytes.size()});
  Packer packer;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (Status status = checkStep(steps[i], shapes, sizeBytes); !status.ok())
      return std::move(status).annotate(cat("pack step ", i));
    if (steps[i].dst_size())
      packer.steps.push_back(steps[i]);
  }
  std::sort(packer.steps.begin(), packer.steps.end(), stepBefore);
  for (size_t i = 1; i < packer.steps.size(); ++i)
    if (Status status = checkDisjoint(packer.steps[i - 1], packer.steps[i]); !status.ok())
      return std::move(status).annotate("pack steps");
  packer.sources = std::move(sources);
  packer.totalBytes = sizeBytes;
  packer.cutUnits();
  return packer;
}

void Packer::cutUnits() {
  uint64_t at = 0;
  for (uint32_t i = 0; i < steps.size();) {
    const PackStep &step = steps[i];
    uint32_t end = i + 1;
    while (end < steps.size() && steps[end].dst_offset() == step.dst_offset())
      ++end;
    cutRange(at, step.dst_offset(), 1, noGroup);
    uint64_t element = sizeOf(dtypeOf(step.dst_dtype()));
    uint64_t granule = step.kind() == PackKind::Copy ? element : step.panel() * element;
    at = step.dst_offset() + step.dst_size();
    cutRange(step.dst_offset(), at, granule, static_cast<uint32_t>(groups.size()));
    groups.push_back({i, end});
    i = end;
  }
  cutRange(at, totalBytes, 1, noGroup);
}

void Packer::cutRange(uint64_t begin, uint64_t end, uint64_t granule, uint32_t group) {
  uint64_t stride = std::max<uint64_t>(granule, unitLimitBytes / granule * granule);
  for (; begin < end; begin += std::min(stride, end - begin))
    units.push_back({begin, std::min(end, begin + stride), group});
}

void Packer::fill(size_t unit, std::byte *out) const {
  const Unit &range = units[unit];
  if (range.group == noGroup) {
    std::memset(out, 0, range.end - range.begin);
    return;
  }
  const Group &group = groups[range.group];
  std::span<const PackStep> members(steps.data() + group.stepBegin, group.stepEnd - group.stepBegin);
  uint64_t base = members[0].dst_offset();
  if (members[0].kind() == PackKind::Copy)
    fillCopy(members[0], sources[members[0].source()], range.begin - base, range.end - base, out);
  else
    fillPanels(members, sources, range.begin - base, range.end - base, out);
}

/// Calls fill(unit) for all units in [begin, end) on `threads` threads, this one included.
template <typename Fill> static void forUnits(size_t begin, size_t end, unsigned threads, const Fill &fill) {
  std::atomic<size_t> next{begin};
  auto work = [&] {
    for (size_t unit; (unit = next.fetch_add(1, std::memory_order_relaxed)) < end;)
      fill(unit);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min<size_t>(threads, end - begin); ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
}

void packInto(const Packer &packer, std::span<std::byte> out, unsigned threads) {
  forUnits(0, packer.unitCount(), threads,
           [&](size_t unit) { packer.fill(unit, out.data() + packer.unitBegin(unit)); });
}

Status packTo(const Packer &packer, const Sink &sink, unsigned threads, size_t memoryBytes) {
  size_t capacity = std::max<size_t>(memoryBytes, unitLimitBytes);
  capacity = static_cast<size_t>(std::min<uint64_t>(capacity, packer.sizeBytes()));
  auto buffer = std::make_unique_for_overwrite<std::byte[]>(capacity);
  for (size_t begin = 0; begin < packer.unitCount();) {
    size_t end = begin, bytes = 0;
    while (end < packer.unitCount() && bytes + packer.unitBytes(end) <= capacity)
      bytes += packer.unitBytes(end++);
    uint64_t base = packer.unitBegin(begin);
    forUnits(begin, end, threads,
             [&](size_t unit) { packer.fill(unit, buffer.get() + (packer.unitBegin(unit) - base)); });
    GAUDI_TRY(sink({buffer.get(), bytes}));
    begin = end;
  }
  return {};
}

} // namespace gaudi::pack
