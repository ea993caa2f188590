//===- Outputs.cpp - --output and --expect --------------------------------===//
#include "tools/gaudi-run/Outputs.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Compare.h"
#include "tools/gaudi-run/Elements.h"
#include "tools/gaudi-run/Inputs.h"
#include "tools/gaudi-run/Literal.h"
#include "tools/gaudi-run/Words.h"
#include "tools/gaudi-run/io/Npz.h"

#include <algorithm>
#include <cmath>

namespace gaudi::run {

namespace {
/// One --output or --expect.
struct Target {
  std::string name; ///< "" = all outputs
  std::string path; ///< "" = stdout
};
} // namespace

static Expected<Target> parseTarget(const std::string &argument, const char *flag) {
  size_t equals = argument.find('=');
  bool all = argument.starts_with("@") && argument.ends_with(".npz");
  std::string name = all || equals == std::string::npos ? "" : argument.substr(0, equals);
  std::string value = all ? argument : equals == std::string::npos ? "" : argument.substr(equals + 1);
  if (value == "-" && !name.empty())
    return Target{name, ""};
  bool known = value.ends_with(".npy") || value.ends_with(".npz");
  if (value.starts_with("@") && (known || std::string_view(flag) == "--expect") && (all || !name.empty()))
    return Target{name, value.substr(1)};
  return Status::error(StatusCode::Usage, cat(flag, ": cannot read '", argument, "'"),
                       std::string_view(flag) == "--expect" ? "use NAME=@REF.npy, .npz or .pb"
                                                            : "use NAME=@F.npy, NAME=@F.npz, @ALL.npz or NAME=-");
}

Status checkOutputFlags(const Options &options, const std::vector<TensorSpec> &signature) {
  auto check = [&](const std::vector<std::string> &arguments, const char *flag) -> Status {
    for (const std::string &argument : arguments) {
      Expected<Target> target = parseTarget(argument, flag);
      if (!target.ok())
        return target.takeStatus();
      if (target->name.empty())
        continue;
      if (Expected<size_t> index = findSpec(signature, target->name, "output"); !index.ok())
        return index.takeStatus();
    }
    return {};
  };
  GAUDI_TRY(check(options.outputs, "--output"));
  return check(options.expects, "--expect");
}

static const io::Array &find(const std::vector<io::Array> &outputs, const std::string &name) {
  return *std::find_if(outputs.begin(), outputs.end(), [&](const io::Array &a) { return a.spec.name == name; });
}

static io::NamedData named(const io::Array &array) { return {array.spec.name, array.spec, array.view()}; }

Status writeOutputs(const Options &options, const std::vector<io::Array> &outputs, const Console &console) {
  std::vector<std::pair<std::string, std::vector<io::NamedData>>> archives;
  auto archive = [&](const std::string &path) -> std::vector<io::NamedData> & {
    for (auto &[known, arrays] : archives)
      if (known == path)
        return arrays;
    return archives.emplace_back(path, std::vector<io::NamedData>()).second;
  };
  for (const std::string &argument : options.outputs) {
    Target target = parseTarget(argument, "--output").take();
    if (target.name.empty()) {
      for (const io::Array &array : outputs)
        archive(target.path).push_back(named(array));
    } else if (const io::Array &array = find(outputs, target.name); target.path.empty()) {
      GAUDI_TRY(console.result(cat(target.name, " ", formatLiteral(array.spec, array.data.get()), "\n")));
    } else if (target.path.ends_with(".npz")) {
      archive(target.path).push_back(named(array));
    } else {
      GAUDI_TRY(io::writeNpy(target.path, array.spec, array.view()));
    }
  }
  for (auto &[path, arrays] : archives)
    GAUDI_TRY(io::writeNpz(path, arrays));
  return {};
}

namespace {
struct Range {
  double min = INFINITY, max = -INFINITY, sum = 0;
  uint64_t finite = 0, nans = 0, infinities = 0, firstBad = 0;
};
} // namespace

static Range rangeOf(const io::Array &array) {
  Range r;
  auto count = static_cast<uint64_t>(array.spec.elementCount());
  for (uint64_t i = 0; i < count; ++i) {
    double v = loadElement(array.spec.dtype, array.data.get(), i);
    if (!std::isfinite(v)) {
      if (r.nans + r.infinities == 0)
        r.firstBad = i;
      ++(std::isnan(v) ? r.nans : r.infinities);
      continue;
    }
    r.min = std::min(r.min, v), r.max = std::max(r.max, v);
    r.sum += v;
    ++r.finite;
  }
  return r;
}

std::string summarizeOutputs(const std::vector<io::Array> &outputs) {
  std::string out;
  for (const io::Array &array : outputs) {
    Range r = rangeOf(array);
    out += cat(array.spec.name, " ", toString(array.spec));
    if (r.finite)
      out += cat(" min ", brief(r.min), " max ", brief(r.max), " mean ", brief(r.sum / double(r.finite)));
    if (r.nans)
      out += cat(" NaN ", r.nans);
    if (r.infinities)
      out += cat(" inf ", r.infinities);
    out += "\n";
  }
  return out;
}

Status checkFinite(const std::vector<io::Array> &outputs) {
  for (const io::Array &array : outputs) {
    Range r = rangeOf(array);
    if (r.nans + r.infinities)
      return Status::error(StatusCode::Failed,
                           cat("output '", array.spec.name, "': ", r.nans, " NaN and ", r.infinities, " infinite of ",
                               array.spec.elementCount(), " elements (first at element ", r.firstBad, ")"));
  }
  return {};
}

Expected<bool> checkExpectations(const Options &options, const std::vector<io::Array> &outputs, std::string &report) {
  bool equal = true;
  auto one = [&](const io::Array &got, const std::string &path) -> Status {
    Expected<io::Array> expected = loadTensor(path, got.spec.name, &got.spec);
    if (!expected.ok())
      return expected.takeStatus();
    if (Status status = checkSpec(cat("--expect ", got.spec.name), expected->spec, got.spec); !status.ok())
      return Status::error(StatusCode::Usage, cat("--expect ", got.spec.name, ": reference is ",
                                                  toString(expected->spec), ", output is ", toString(got.spec)));
    Tolerance tolerance = toleranceFor(got.spec.dtype, options.tolerance);
    Difference difference = compare(got.spec, got.data.get(), expected->data.get(), tolerance);
    report += describe(got.spec, difference, tolerance);
    equal &= difference.ok();
    return {};
  };
  for (const std::string &argument : options.expects) {
    Target target = parseTarget(argument, "--expect").take();
    for (const io::Array &got : outputs)
      if (target.name.empty() || target.name == got.spec.name)
        GAUDI_TRY(one(got, target.path));
  }
  return equal;
}

} // namespace gaudi::run
