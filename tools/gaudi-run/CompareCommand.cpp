//===- CompareCommand.cpp - gaudi-run compare -----------------------------===//
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Commands.h"
#include "tools/gaudi-run/Compare.h"
#include "tools/gaudi-run/Session.h"

#include <algorithm>

namespace gaudi::run {

/// Prefix of outputs that show an intermediate tensor; they stand in the order of execution.
static constexpr std::string_view kTap = "tap:";

static Expected<std::vector<io::Array>> runOnce(const Session &session, const ModelOptions &options,
                                                const std::vector<io::Array> &inputs) {
  Expected<std::vector<io::Array>> outputs = makeOutputs(session.executable->outputs());
  if (!outputs.ok())
    return outputs;
  Expected<std::unique_ptr<Context>> context = makeContext(session, options);
  if (!context.ok())
    return context.takeStatus();
  GAUDI_TRY((*context)->run(viewsOf(inputs), viewsOf(*outputs)));
  return outputs;
}

/// Both sides must take the same inputs; order may differ.
static Status checkSameInputs(const Session &a, const Session &b) {
  const std::vector<TensorSpec> &left = a.executable->inputs(), &right = b.executable->inputs();
  for (const TensorSpec &spec : left) {
    Expected<size_t> index = findSpec(right, spec.name, "input");
    if (!index.ok())
      return index.takeStatus().annotate(b.name);
    const TensorSpec &other = right[*index];
    if (spec.dtype != other.dtype || spec.shape != other.shape)
      return Status::error(
          StatusCode::Usage,
          cat("input '", spec.name, "': ", a.name, " takes ", toString(spec), ", ", b.name, " takes ", toString(other)),
          "compile both with the same --shape");
  }
  if (left.size() != right.size())
    return Status::error(StatusCode::Usage,
                         cat(a.name, " has ", left.size(), " inputs, ", b.name, " has ", right.size()));
  return {};
}

static std::vector<io::Array> reordered(std::vector<io::Array> inputs, const std::vector<TensorSpec> &order) {
  std::vector<io::Array> out;
  for (const TensorSpec &spec : order)
    out.push_back(std::move(
        *std::find_if(inputs.begin(), inputs.end(), [&](auto &a) { return a.valid() && a.spec.name == spec.name; })));
  return out;
}

namespace {
struct Row {
  TensorSpec spec; ///< of the first side
  Tolerance tolerance;
  Difference difference;
  bool isTap() const { return spec.name.starts_with(kTap); }
};
struct Outcome {
  std::vector<Row> rows; ///< taps first, in the order of execution, then the outputs
  size_t unlike = 0;     ///< taps of one name that hold different numbers of elements
  const Row *first = nullptr;
  size_t differing = 0;
};
} // namespace

/// Two targets may keep a value in shapes that differ by a reshape; outputs must be of one type.
static bool isComparable(const TensorSpec &a, const TensorSpec &b) {
  return a.dtype == b.dtype &&
         (a.shape == b.shape || (a.name.starts_with(kTap) && a.elementCount() == b.elementCount()));
}

static Status compareOne(const Options &options, const io::Array &a, const io::Array &b, Outcome &out) {
  if (!isComparable(a.spec, b.spec)) {
    if (!a.spec.name.starts_with(kTap))
      return Status::error(StatusCode::Usage, cat("output '", a.spec.name, "': types differ (", toString(a.spec),
                                                  " and ", toString(b.spec), ")"));
    ++out.unlike;
    return {};
  }
  Tolerance tolerance = toleranceFor(a.spec.dtype, options.tolerance);
  out.rows.push_back({a.spec, tolerance, compare(a.spec, b.data.get(), a.data.get(), tolerance)});
  return {};
}

/// The first tensor over tolerance, taps before outputs, is where the two part.
static Status compareAll(const Options &options, const std::vector<io::Array> &left,
                         const std::vector<io::Array> &right, Outcome &out) {
  for (bool taps : {true, false}) {
    for (const io::Array &a : left) {
      if (a.spec.name.starts_with(kTap) != taps)
        continue;
      auto b = std::find_if(right.begin(), right.end(), [&](const io::Array &x) { return x.spec.name == a.spec.name; });
      if (b != right.end())
        GAUDI_TRY(compareOne(options, a, *b, out));
    }
  }
  for (const Row &row : out.rows) {
    out.differing += !row.difference.ok();
    if (!row.difference.ok() && !out.first)
      out.first = &row;
  }
  return {};
}

/// The outputs and the first layer that differs; all with -v.
static std::string report(const Outcome &out, bool all) {
  std::string text;
  size_t layers = 0, equal = 0;
  for (const Row &row : out.rows) {
    if (row.isTap())
      ++layers, equal += row.difference.ok();
    if (all || !row.isTap() || &row == out.first)
      text += describe(row.spec, row.difference, row.tolerance);
  }
  if (layers)
    text = cat(layers, " layers compared, ", equal, " equal",
               out.unlike ? cat("; ", out.unlike, " not comparable (kept in another form)") : "", "\n", text);
  return text;
}

static std::string jsonOf(const Outcome &out) {
  json::Writer w;
  w.beginObject()
      .field("equal", out.differing == 0)
      .field("first_over_tolerance", out.first ? out.first->spec.name : "");
  w.key("tensors").beginArray();
  for (const Row &row : out.rows) {
    w.beginObject().field("name", row.spec.name).field("ok", row.difference.ok());
    w.field("differing", row.difference.differing).field("max_abs", row.difference.maxAbs);
    w.field("max_rel", row.difference.maxRel).field("cosine", row.difference.cosine).endObject();
  }
  return w.endArray().endObject().text();
}

/// "layer '/encoder/layer.1/Add_output_0'", "output 'logits'".
static std::string nameOf(const Row &row) {
  return row.isTap() ? cat("layer '", row.spec.name.substr(kTap.size()), "'") : cat("output '", row.spec.name, "'");
}

/// Opens the two sides: two models, or one model on two devices.
static Status openBoth(const Options &options, const InputSet &set, const Console &console, Session &a, Session &b) {
  ModelOptions first = options.model, second = options.model;
  first.taps = second.taps = true;
  if (!options.devices.empty())
    first.device = options.devices.front(), second.device = options.devices.back();
  bool isOneSided = options.models.size() < 2 && options.devices.size() < 2;
  if (isOneSided)
    second.device = "ref"; // the judge
  Expected<Session> left = openSession(options.models.front(), first, set, console);
  if (!left.ok())
    return left.takeStatus();
  if (isOneSided && left->origin.cache == "none")
    return Status::error(StatusCode::Usage, "compare: only one side given",
                         "an artefact is for one device: give two, or the .onnx model");
  Expected<Session> right = openSession(options.models.back(), second, set, console);
  if (!right.ok())
    return right.takeStatus();
  a = left.take();
  b = right.take();
  return {};
}

/// "bert on cpu".
static std::string sideName(const Session &session) {
  const std::string &target = session.executable->target();
  return cat(session.name, " on ", target.substr(0, target.find(' ')));
}

Status compareCommand(const Options &options, const Console &console) {
  Expected<InputSet> set = parseInputs(options);
  if (!set.ok())
    return set.takeStatus();
  Session a, b;
  GAUDI_TRY(openBoth(options, *set, console, a, b));
  GAUDI_TRY(checkSameInputs(a, b));
  Expected<std::vector<io::Array>> inputs = buildInputs(set.take(), a.executable->inputs());
  if (!inputs.ok())
    return inputs.takeStatus();
  Expected<std::vector<io::Array>> left = runOnce(a, options.model, *inputs);
  if (!left.ok())
    return left.takeStatus();
  Expected<std::vector<io::Array>> right = runOnce(b, options.model, reordered(inputs.take(), b.executable->inputs()));
  if (!right.ok())
    return right.takeStatus();

  Outcome out;
  GAUDI_TRY(compareAll(options, *left, *right, out));
  if (out.rows.empty())
    return Status::error(StatusCode::Usage, cat(a.name, " and ", b.name, " have no output name in common"),
                         cat(a.name, " has:\n", formatSignature(a.executable->outputs())));
  GAUDI_TRY(console.result(report(out, console.verbose())));
  GAUDI_TRY(console.json(jsonOf(out)));
  if (out.differing)
    return Status::error(StatusCode::OutputsDiffer,
                         cat(sideName(a), " and ", sideName(b), ": ", out.differing, " of ", out.rows.size(),
                             " tensors differ, first ", nameOf(*out.first)),
                         "--atol and --rtol set the tolerance; -v shows every layer");
  console.info(
      cat("OK ", out.rows.size(), out.rows.size() == 1 ? " tensor is" : " tensors are", " equal within tolerance"));
  return {};
}

} // namespace gaudi::run
