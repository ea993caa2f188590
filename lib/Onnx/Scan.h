//===- Scan.h - cuts weights out of an ONNX file before parsing -*- C++ -*-===//
//
// Protobuf copies every byte it parses. This pre-scan walks the wire format of the file in place and writes a skeleton:
// the same messages without tensor data above 1 KiB, each piece replaced by a marker field that holds an index into a
// side table of byte ranges. A file cannot forge a marker: fields with the marker's number are dropped from the input.
//
// Source: protobuf.dev/programming-guides/encoding; field numbers from onnx/onnx-ml.proto (v1.22.0).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "runtime/base/Hash.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gaudi {

/// Field numbers of TensorProto that hold data.
enum class DataField : uint8_t { None = 0, Float = 4, Int32 = 5, Int64 = 7, Raw = 9, Double = 10, UInt64 = 11 };

/// One piece of tensor data left out of the skeleton: bytes [offset, offset + length) of the file, without tag and
/// length.
struct CutData {
  DataField field;
  uint64_t offset, length;
};

/// Number of the marker field, the largest that protobuf has: varint, index into Skeleton::cuts.
inline constexpr int kMarkerField = 536'870'911;
/// Pieces above this leave the skeleton.
inline constexpr uint64_t kCutBytes = 1024;
/// Nesting of graphs inside node attributes. Protobuf's recursion limit of 100 messages would stop one level later.
inline constexpr int kMaxNesting = 31;

struct Skeleton {
  std::string bytes;
  std::vector<CutData> cuts;
  /// Has seen the skeleton without documentation, producer and external file names.
  std::unique_ptr<Xxh3Stream> hash;
};

struct ScanLimits {
  uint64_t maxNodes;
  uint64_t maxFields = 32'000'000; ///< messages and strings: what protobuf allocates for
  uint64_t maxSkeletonBytes = uint64_t(1) << 28;
};

/// Errors: InvalidInput (empty, not ONNX, truncated, malformed, nested too deeply), ResourceLimit. Messages lack the
/// path.
Expected<Skeleton> scanModel(std::span<const std::byte> file, const ScanLimits &limits);

} // namespace gaudi
