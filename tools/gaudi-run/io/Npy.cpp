//===- Npy.cpp - numpy's .npy format --------------------------------------===//
#include "tools/gaudi-run/io/Npy.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/io/WriteFile.h"

#include <algorithm>
#include <cstring>

namespace gaudi::io {

static void swapBytes(std::byte *data, uint64_t count, size_t width) {
  for (uint64_t i = 0; i < count; ++i, data += width)
    std::reverse(data, data + width);
}

/// Column-major to row-major, by counting through the row-major index and keeping the column-major offset in step.
static void fromFortranOrder(const std::byte *from, std::byte *to, const std::vector<int64_t> &shape, uint64_t count,
                             size_t width) {
  std::vector<uint64_t> stride(shape.size()), index(shape.size(), 0);
  uint64_t step = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<uint64_t>(shape[d]);
  }
  uint64_t offset = 0;
  for (uint64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * width, from + offset * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += stride[d];
      if (++index[d] < static_cast<uint64_t>(shape[d]))
        break;
      offset -= stride[d] * index[d];
      index[d] = 0;
    }
  }
}

/// numpy writes 0 and 1; kernels may rely on that, files may not be trusted to.
static void normaliseBool(std::byte *data, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    data[i] = data[i] == std::byte{0} ? std::byte{0} : std::byte{1};
}

Expected<Array> parseNpy(std::span<const std::byte> file, const std::string &where, const Limits &limits) {
  Expected<NpyHeader> header = parseNpyHeader(file, where, limits);
  if (!header.ok())
    return header.takeStatus();
  TensorSpec spec = {"", header->dtype, header->shape};
  size_t width = sizeOf(spec.dtype);
  uint64_t count, bytes;
  if (!checkedElementCount(spec.shape, count) || !checkedMul(count, width, bytes))
    return Status::error(StatusCode::InvalidInput, cat(where, ": element count overflows in ", toString(spec)));
  if (bytes > limits.maxBytes)
    return Status::error(StatusCode::ResourceLimit, cat(where, ": ", toString(spec), " is ", formatBytes(bytes),
                                                        "; limit ", formatBytes(limits.maxBytes)));
  uint64_t found = file.size() - header->dataOffset;
  if (found != bytes)
    return Status::error(StatusCode::InvalidInput,
                         cat(where, ": ", found < bytes ? "truncated" : "has trailing bytes", " (found ", found,
                             " bytes of data, expected ", bytes, " for ", toString(spec), ")"));
  Array array = Array::zeros(std::move(spec));
  if (!array.valid())
    return Status::error(StatusCode::ResourceLimit, cat(where, ": no memory for ", formatBytes(bytes)));
  const std::byte *data = file.data() + header->dataOffset;
  if (header->fortranOrder && array.spec.shape.size() > 1)
    fromFortranOrder(data, array.data.get(), array.spec.shape, count, width);
  else if (bytes)
    std::memcpy(array.data.get(), data, bytes);
  if (header->bigEndian)
    swapBytes(array.data.get(), count, width);
  if (array.spec.dtype == DType::Bool)
    normaliseBool(array.data.get(), count);
  return array;
}

Expected<Array> readNpy(const std::string &path, const Limits &limits) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.takeStatus();
  return parseNpy(file->bytes(), path, limits);
}

Status writeNpy(const std::string &path, const TensorSpec &spec, TensorView data) {
  return writeFile(path, {npyHeader(spec), {static_cast<const char *>(data.data), data.sizeBytes}});
}

} // namespace gaudi::io
