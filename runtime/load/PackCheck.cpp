//===- PackCheck.cpp - are pack steps sound? ------------------------------===//
#include "runtime/load/PackCheck.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "runtime/load/Convert.h"

#include <tuple>

namespace gaudi::pack {

static Status bad(const std::string &what) { return Status::error(StatusCode::InvalidInput, what); }

static bool validDType(uint8_t dtype) { return dtype <= static_cast<uint8_t>(DType::Bool); }

/// Elements between the first and one past the last that are read from a `rows` x `cols` array.
static bool extent(uint64_t rows, uint64_t cols, uint64_t pitch, uint64_t &out) {
  if (!rows || !cols) {
    out = 0;
    return true;
  }
  return checkedMul(rows - 1, pitch, out) && checkedAdd(out, cols, out);
}

static Status checkSource(const schema::PackStep &step, std::span<const SourceShape> sources) {
  if (step.source() >= sources.size())
    return bad(cat("source ", step.source(), " of ", sources.size()));
  const SourceShape &source = sources[step.source()];
  if (source.dtype != step.src_dtype())
    return bad(cat("source has dtype ", source.dtype, ", the step expects ", step.src_dtype()));
  bool transposed = step.kind() == schema::PackKind::PanelsT;
  uint64_t rows = transposed ? step.cols() : step.rows(), cols = transposed ? step.rows() : step.cols();
  uint64_t elements, bytes;
  if (cols > step.src_pitch() && rows > 1)
    return bad(cat("source rows overlap (pitch ", step.src_pitch(), ", ", cols, " columns)"));
  if (!extent(rows, cols, step.src_pitch(), elements) ||
      !checkedMul(elements, sizeOf(static_cast<DType>(step.src_dtype())), bytes))
    return bad("size overflows");
  if (bytes > source.sizeBytes)
    return bad(cat("reads ", bytes, " bytes of a source of ", source.sizeBytes));
  return {};
}

/// Bytes of the whole destination tensor as the geometry gives them.
static bool destinationBytes(const schema::PackStep &step, uint64_t &out) {
  uint64_t element = sizeOf(static_cast<DType>(step.dst_dtype()));
  uint64_t columns = step.kind() == schema::PackKind::Copy ? step.cols() : 0;
  if (step.kind() != schema::PackKind::Copy &&
      !checkedMul(ceilDiv(step.total_cols(), step.panel()), step.panel(), columns))
    return false;
  return checkedMul(step.rows(), columns, out) && checkedMul(out, element, out);
}

static Status checkPanels(const schema::PackStep &step) {
  constexpr uint32_t maxPanel = 256; // the transposition tile lives on the stack
  if (!step.panel() || step.panel() > maxPanel)
    return bad(cat("panel width ", step.panel(), " is not in 1..", maxPanel));
  if (step.col_offset() % step.panel())
    return bad(cat("column offset ", step.col_offset(), " is not a multiple of the panel width ", step.panel()));
  if (!insideRange(step.col_offset(), step.cols(), step.total_cols()))
    return bad(cat("columns [", step.col_offset(), ", +", step.cols(), ") of ", step.total_cols()));
  return {};
}

Status checkStep(const schema::PackStep &step, std::span<const SourceShape> sources, uint64_t totalBytes) {
  if (step.kind() > schema::PackKind::MAX)
    return bad(cat("unknown kind ", static_cast<int>(step.kind())));
  if (!validDType(step.src_dtype()) || !validDType(step.dst_dtype()))
    return bad("unknown dtype");
  auto from = static_cast<DType>(step.src_dtype()), to = static_cast<DType>(step.dst_dtype());
  if (!findConvert(from, to))
    return bad(cat("no conversion from ", nameOf(from), " to ", nameOf(to)));
  GAUDI_TRY(checkSource(step, sources));
  if (step.kind() != schema::PackKind::Copy)
    GAUDI_TRY(checkPanels(step));
  uint64_t bytes;
  if (!destinationBytes(step, bytes) || bytes != step.dst_size())
    return bad(cat("destination has ", step.dst_size(), " bytes, the shape needs another size"));
  if (!insideRange(step.dst_offset(), step.dst_size(), totalBytes) || step.dst_offset() % sizeOf(to))
    return bad(cat("destination [", step.dst_offset(), ", +", step.dst_size(), ") of ", totalBytes, " bytes"));
  return {};
}

bool stepBefore(const schema::PackStep &a, const schema::PackStep &b) {
  return std::make_tuple(a.dst_offset(), a.dst_size(), a.col_offset()) <
         std::make_tuple(b.dst_offset(), b.dst_size(), b.col_offset());
}

Status checkDisjoint(const schema::PackStep &before, const schema::PackStep &after) {
  if (before.dst_offset() + before.dst_size() <= after.dst_offset())
    return {};
  bool sameTensor = before.kind() != schema::PackKind::Copy && after.kind() != schema::PackKind::Copy &&
                    before.dst_offset() == after.dst_offset() && before.dst_size() == after.dst_size() &&
                    before.dst_dtype() == after.dst_dtype() && before.panel() == after.panel() &&
                    before.rows() == after.rows() && before.total_cols() == after.total_cols();
  uint64_t columnsEnd =
      before.col_offset() + ceilDiv(before.cols(), before.panel() ? before.panel() : 1) * before.panel();
  if (sameTensor && columnsEnd <= after.col_offset())
    return {};
  return bad(cat("destination [", after.dst_offset(), ", +", after.dst_size(), ") overlaps another step"));
}

} // namespace gaudi::pack
