//===- PackSources.cpp - model files -> source tensors --------------------===//
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "runtime/load/WeightPack.h"

namespace gaudi::pack {

namespace {

struct Range {
  std::string_view name;
  uint8_t dtype;
  std::span<const int64_t> shape;
  uint32_t file;
  uint64_t offset, length;
};

Expected<Source> resolve(const Range &range, std::span<const std::span<const std::byte>> files) {
  auto bad = [&](const std::string &what) {
    return Status::error(StatusCode::InvalidInput, cat("weight '", range.name, "': ", what));
  };
  if (range.dtype > static_cast<uint8_t>(DType::Bool))
    return bad(cat("unknown dtype ", range.dtype));
  if (range.file >= files.size())
    return bad(cat("file ", range.file, " of ", files.size()));
  std::span<const std::byte> file = files[range.file];
  if (!insideRange(range.offset, range.length, file.size()))
    return bad(cat("needs bytes ", range.offset, "-", range.offset + range.length, ", file has ", file.size()));
  auto dtype = static_cast<DType>(range.dtype);
  uint64_t elements, bytes;
  if (!checkedElementCount(range.shape, elements) || !checkedMul(elements, sizeOf(dtype), bytes))
    return bad("element count overflows");
  if (bytes != range.length)
    return bad(
        cat("has ", range.length, " bytes, shape [", join(range.shape, ","), "] ", nameOf(dtype), " needs ", bytes));
  return Source{dtype, file.subspan(range.offset, range.length)};
}

} // namespace

Expected<std::vector<Source>> sourcesFrom(const schema::ProgramT &program,
                                          std::span<const std::span<const std::byte>> files) {
  std::vector<Source> result;
  for (const auto &source : program.sources) {
    Expected<Source> resolved =
        resolve({source->name, source->dtype, source->shape, source->file, source->offset, source->length}, files);
    if (!resolved.ok())
      return resolved.takeStatus();
    result.push_back(*resolved);
  }
  return result;
}

Expected<std::vector<Source>> sourcesFrom(const schema::Program &program,
                                          std::span<const std::span<const std::byte>> files) {
  std::vector<Source> result;
  for (flatbuffers::uoffset_t i = 0; program.sources() && i < program.sources()->size(); ++i) {
    const schema::Source &source = *program.sources()->Get(i);
    std::span<const int64_t> shape;
    if (source.shape())
      shape = {source.shape()->data(), source.shape()->size()};
    std::string_view name = source.name() ? source.name()->string_view() : std::string_view();
    Expected<Source> resolved =
        resolve({name, source.dtype(), shape, source.file(), source.offset(), source.length()}, files);
    if (!resolved.ok())
      return resolved.takeStatus();
    result.push_back(*resolved);
  }
  return result;
}

} // namespace gaudi::pack
