//===- Inputs.cpp - values for a whole signature --------------------------===//
#include "tools/gaudi-run/Inputs.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Words.h"

#include <algorithm>
#include <unistd.h>

namespace gaudi::run {

static bool exists(const std::string &path) { return ::access(path.c_str(), F_OK) == 0; }

/// input_0.pb, input_1.pb ... until one is missing. Both spellings: ORT's perf_test users trip over them (#2762).
static Status readPositional(InputSet &set) {
  for (unsigned i = 0;; ++i) {
    std::string path = cat(set.directory, "/input_", i, ".pb");
    if (!exists(path))
      path = cat(set.directory, "/input", i, ".pb");
    if (!exists(path))
      return {};
    Expected<io::Array> array = loadTensor(path, "", nullptr);
    if (!array.ok())
      return array.takeStatus();
    set.byPosition.push_back(array.take());
  }
}

Expected<InputSet> parseInputs(const Options &options) {
  InputSet set;
  for (const std::string &argument : options.inputs) {
    Expected<InputRequest> request = parseInput(argument);
    if (!request.ok())
      return request.takeStatus();
    for (const InputRequest &other : set.requests)
      if (other.name == request->name)
        return Status::error(StatusCode::Usage, cat("--input ", other.name, ": given twice"));
    set.requests.push_back(request.take());
  }
  if (options.inputsDir.empty())
    return set;
  set.directory = options.inputsDir;
  if (!exists(set.directory))
    return Status::error(StatusCode::Usage, cat("--inputs: no folder '", set.directory, "'"));
  if (exists(set.directory + "/test_data_set_0"))
    set.directory += "/test_data_set_0";
  GAUDI_TRY(readPositional(set));
  return set;
}

std::string formatSignature(const std::vector<TensorSpec> &specs) {
  size_t width = 0;
  for (const TensorSpec &spec : specs)
    width = std::max(width, spec.name.size());
  std::string out;
  for (const TensorSpec &spec : specs)
    out += cat("  ", spec.name, std::string(width - spec.name.size() + 2, ' '), toString(spec), "\n");
  return out;
}

static std::vector<std::string> namesOf(const std::vector<TensorSpec> &specs) {
  std::vector<std::string> names;
  for (const TensorSpec &spec : specs)
    names.push_back(spec.name);
  return names;
}

Expected<size_t> findSpec(const std::vector<TensorSpec> &specs, const std::string &name, const char *what) {
  for (size_t i = 0; i < specs.size(); ++i)
    if (specs[i].name == name)
      return i;
  std::vector<std::string> names = namesOf(specs);
  return Status::error(StatusCode::Usage, cat("no ", what, " '", name, "'", didYouMean(name, names)),
                       cat(what, "s: ", join(names, ", ")));
}

/// DIR/NAME.npy or the .pb that has the name or position; not valid() if there is none.
static Expected<io::Array> fromDirectory(InputSet &set, const TensorSpec &spec, size_t position) {
  for (io::Array &array : set.byPosition)
    if (array.valid() && array.spec.name == spec.name)
      return std::move(array);
  std::string leaf = spec.name;
  std::replace(leaf.begin(), leaf.end(), '/', '_');
  std::string path = cat(set.directory, '/', leaf, ".npy");
  if (!set.directory.empty() && exists(path))
    return loadTensor(path, spec.name, nullptr);
  // A name that the signature does not have says nothing: exporters rename. Then the position counts.
  if (position < set.byPosition.size() && set.byPosition[position].valid())
    return std::move(set.byPosition[position]);
  return io::Array();
}

static Status missing(const std::vector<const TensorSpec *> &specs, const std::vector<TensorSpec> &signature) {
  std::string names, flags;
  for (const TensorSpec *spec : specs) {
    names += cat(names.empty() ? "" : ", ", "'", spec->name, "'");
    flags +=
        cat(" --input '", spec->name, spec->dtype >= DType::I8 && spec->dtype <= DType::U64 ? "=ids'" : "=random'");
  }
  std::string list = formatSignature(signature);
  list.pop_back();
  return Status::error(StatusCode::Usage,
                       cat("no value for input", specs.size() > 1 ? "s " : " ", names, "; the inputs are:\n", list),
                       cat("add", flags, ", or --input '*=random'"));
}

Expected<std::vector<io::Array>> buildInputs(InputSet set, const std::vector<TensorSpec> &signature) {
  std::vector<InputRequest *> chosen(signature.size(), nullptr);
  InputRequest *rest = nullptr;
  for (InputRequest &request : set.requests) {
    if (request.name == "*") {
      rest = &request;
      continue;
    }
    Expected<size_t> index = findSpec(signature, request.name, "input");
    if (!index.ok())
      return index.takeStatus();
    chosen[*index] = &request;
  }
  std::vector<io::Array> arrays(signature.size());
  std::vector<const TensorSpec *> without;
  for (size_t i = 0; i < signature.size(); ++i) {
    const TensorSpec &spec = signature[i];
    Expected<io::Array> array = chosen[i] ? makeInput(*chosen[i], spec) : fromDirectory(set, spec, i);
    if (array.ok() && !array->valid() && rest)
      array = makeInput(*rest, spec);
    if (!array.ok())
      return array.takeStatus();
    if (!array->valid()) {
      without.push_back(&spec);
      continue;
    }
    GAUDI_TRY(checkSpec(cat("input '", spec.name, "'"), array->spec, spec));
    arrays[i] = array.take();
  }
  if (!without.empty())
    return missing(without, signature);
  return arrays;
}

} // namespace gaudi::run
