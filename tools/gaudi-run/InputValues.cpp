//===- InputValues.cpp - one --input --------------------------------------===//
#include "tools/gaudi-run/InputValues.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Elements.h"
#include "tools/gaudi-run/Literal.h"
#include "tools/gaudi-run/Words.h"
#include "tools/gaudi-run/io/Npz.h"
#include "tools/gaudi-run/io/TensorProto.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gaudi::run {

using Kind = InputRequest::Kind;

static Status usage(std::string message, std::string hint = {}) {
  return Status::error(StatusCode::Usage, std::move(message), std::move(hint));
}

std::string InputRequest::shapeFlag() const {
  if (kind != Kind::Data || data.spec.shape.empty() || name == "*")
    return {};
  return cat(name, '=', join(data.spec.shape, "x"));
}

/// Splits "f.npz:key" at the colon behind the suffix; other colons belong to the path.
static std::string splitKey(std::string &path) {
  size_t at = path.find(".npz:");
  if (at == std::string::npos)
    return {};
  std::string key = path.substr(at + 5);
  path.resize(at + 4);
  return key;
}

static Expected<io::Array> loadNpz(const std::string &path, std::string key, const std::string &name) {
  Expected<io::NpzReader> reader = io::NpzReader::open(path);
  if (!reader.ok())
    return reader.takeStatus();
  std::vector<std::string> names = reader->names();
  if (key.empty())
    key = names.size() == 1 ? names[0] : name;
  return reader->read(key);
}

static Expected<io::Array> loadRaw(const std::string &path, const TensorSpec &spec) {
  Expected<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.takeStatus();
  if (file->bytes().size() != spec.sizeBytes())
    return usage(cat(path, ": wrong size for raw data (found ", file->bytes().size(), " bytes, expected ",
                     spec.sizeBytes(), " for ", toString(spec), ")"));
  io::Array array = io::Array::zeros(spec);
  if (!array.valid())
    return Status::error(StatusCode::ResourceLimit, cat(path, ": no memory for ", toString(spec)));
  if (spec.sizeBytes())
    std::memcpy(array.data.get(), file->bytes().data(), spec.sizeBytes());
  return array;
}

static bool hasOwnType(std::string_view path) {
  return path.ends_with(".npy") || path.ends_with(".npz") || path.ends_with(".pb") || path.find(".npz:") != path.npos;
}

Expected<io::Array> loadTensor(const std::string &where, const std::string &name, const TensorSpec *spec) {
  std::string path = where, key = splitKey(path);
  if (path.ends_with(".npy"))
    return io::readNpy(path);
  if (path.ends_with(".npz"))
    return loadNpz(path, key, name);
  if (path.ends_with(".pb"))
    return io::readTensorProto(path);
  if (spec)
    return loadRaw(path, *spec);
  return usage(cat(path, ": cannot tell the format"), "use .npy, .npz, .pb, or .bin for raw data");
}

/// "seed=1,range=0..1" behind "random:".
static Status parseParameters(std::string_view text, const std::string &where, InputRequest &out) {
  for (std::string_view part : split(text, ',')) {
    size_t equals = part.find('=');
    std::string_view key = part.substr(0, equals), value = equals == part.npos ? "" : part.substr(equals + 1);
    size_t dots = value.find("..");
    double low, high;
    if (key == "seed" && parseNumber(value, out.seed))
      continue;
    if (out.kind == Kind::Ids && key == "max" && parseNumber(value, high) && high >= 1) {
      out.high = high;
      continue;
    }
    if (out.kind == Kind::Random && key == "range" && dots != value.npos && parseNumber(value.substr(0, dots), low) &&
        parseNumber(value.substr(dots + 2), high) && low <= high) {
      out.low = low, out.high = high;
      continue;
    }
    return usage(cat(where, ": cannot read '", part, "'"), out.kind == Kind::Ids
                                                               ? "ids takes max=N (>= 1) and seed=N"
                                                               : "random takes seed=N and range=LOW..HIGH");
  }
  return {};
}

/// zeros, ones, random[:...], ids[:...]; false if `value` is none of them.
static bool parseGenerator(std::string_view value, InputRequest &out, std::string_view &parameters) {
  struct Row {
    std::string_view name;
    Kind kind;
  };
  for (Row row :
       {Row{"zeros", Kind::Zeros}, Row{"ones", Kind::Ones}, Row{"random", Kind::Random}, Row{"ids", Kind::Ids}}) {
    std::string_view rest = value;
    if (!rest.starts_with(row.name))
      continue;
    rest.remove_prefix(row.name.size());
    bool takesParameters = row.kind == Kind::Random || row.kind == Kind::Ids;
    if (!rest.empty() && (rest[0] != ':' || !takesParameters))
      continue;
    out.kind = row.kind;
    parameters = rest.empty() ? rest : rest.substr(1);
    return true;
  }
  return false;
}

/// So that a misspelt generator is named as such, not as a bad number.
static bool looksLikeValues(std::string_view text) {
  std::string_view first = text.substr(0, text.find(','));
  double ignored;
  return parseNumber(first, ignored) || first == "true" || first == "false";
}

static Status parseValue(std::string_view value, const std::string &where, InputRequest &out) {
  std::string_view parameters;
  if (value.starts_with("@")) {
    out.text = value.substr(1);
    out.kind = hasOwnType(out.text) ? Kind::Data : Kind::RawFile;
    if (out.kind == Kind::RawFile)
      return {};
    Expected<io::Array> array = loadTensor(out.text, out.name, nullptr);
    if (!array.ok())
      return array.takeStatus();
    out.data = array.take();
    return {};
  }
  if (parseGenerator(value, out, parameters))
    return parameters.empty() ? Status() : parseParameters(parameters, where, out);
  size_t equals = value.find('=');
  if (equals != value.npos) {
    std::optional<TensorSpec> spec = parseType(value.substr(0, equals));
    if (!spec)
      return usage(cat(where, ": cannot read '", value.substr(0, equals), "' as a type"),
                   "for example f32[2,3]=1,2,3,4,5,6");
    Expected<io::Array> array = parseLiteral(value.substr(equals + 1), *spec, where);
    if (!array.ok())
      return array.takeStatus();
    out.kind = Kind::Data;
    out.data = array.take();
    return {};
  }
  if (!looksLikeValues(value))
    return usage(cat(where, ": cannot read '", value, "'"),
                 "values: @FILE, random, ids, zeros, ones, 1,2,3 or f32[2]=1,2");
  out.kind = Kind::Literal;
  out.text = value;
  return {};
}

Expected<InputRequest> parseInput(std::string_view argument) {
  size_t equals = argument.find('=');
  if (equals == argument.npos || equals == 0)
    return usage(cat("--input: no name (found '", argument, "', expected NAME=VALUE)"));
  InputRequest request;
  request.name = argument.substr(0, equals);
  GAUDI_TRY(parseValue(argument.substr(equals + 1), cat("--input ", request.name), request));
  return request;
}

Status checkSpec(const std::string &where, const TensorSpec &got, const TensorSpec &needed) {
  if (got.dtype == needed.dtype && got.shape == needed.shape)
    return {};
  std::string hint;
  if (got.shape == needed.shape)
    hint = cat("convert the file, in numpy: a.astype('", nameOf(needed.dtype), "')");
  return usage(cat(where, ": got ", toString(got), ", need ", toString(needed)), std::move(hint));
}

/// splitmix64 of a counter: any element can be computed alone.
static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Equal seeds must not give equal tensors to different inputs.
static uint64_t streamOf(const InputRequest &request, const std::string &name) {
  uint64_t hash = mix(request.seed);
  for (char c : name)
    hash = mix(hash ^ static_cast<uint8_t>(c));
  return hash;
}

static void fillRandom(const InputRequest &request, io::Array &array) {
  DType dtype = array.spec.dtype;
  uint64_t stream = streamOf(request, array.spec.name);
  double low = request.low.value_or(0), high = request.high.value_or(1);
  auto count = static_cast<size_t>(array.spec.elementCount());
  for (size_t i = 0; i < count; ++i) {
    double unit = static_cast<double>(mix(stream + i) >> 11) * 0x1p-53;
    if (isFloat(dtype))
      storeElement(dtype, array.data.get(), i, low + unit * (high - low));
    else // both ends included
      storeInteger(dtype, array.data.get(), i, static_cast<int64_t>(low + std::floor(unit * (high - low + 1))));
  }
}

static Status checkRange(const InputRequest &request, const TensorSpec &spec, const std::string &where) {
  if (request.kind == Kind::Ids && (isFloat(spec.dtype) || spec.dtype == DType::Bool))
    return usage(cat(where, ": ids are for integer inputs (found ", nameOf(spec.dtype), ")"), "use random");
  double low = request.low.value_or(0), high = request.high.value_or(1);
  if (!isFloat(spec.dtype) &&
      (low < static_cast<double>(lowestOf(spec.dtype)) || high > static_cast<double>(highestOf(spec.dtype))))
    return usage(cat(where, ": range ", brief(low), "..", brief(high), " does not fit ", nameOf(spec.dtype)));
  return {};
}

Expected<io::Array> makeInput(InputRequest &request, const TensorSpec &spec) {
  std::string where = cat("input '", spec.name, "'");
  if (request.kind == Kind::Data) {
    GAUDI_TRY(checkSpec(where, request.data.spec, spec));
    request.data.spec.name = spec.name;
    return std::move(request.data);
  }
  if (request.kind == Kind::RawFile)
    return loadRaw(request.text, spec);
  if (request.kind == Kind::Literal)
    return parseLiteral(request.text, spec, where);
  GAUDI_TRY(checkRange(request, spec, where));
  io::Array array = io::Array::zeros(spec);
  if (!array.valid())
    return Status::error(StatusCode::ResourceLimit, cat(where, ": no memory for ", toString(spec)));
  InputRequest values;
  values.seed = request.seed, values.low = request.low, values.high = request.high;
  if (request.kind == Kind::Ids)
    values.low = 0, values.high = request.high.value_or(1000) - 1; // 1000: below any real vocabulary
  if (request.kind == Kind::Ones)
    values.low = values.high = 1;
  if (request.kind != Kind::Zeros)
    fillRandom(values, array);
  return array;
}

} // namespace gaudi::run
