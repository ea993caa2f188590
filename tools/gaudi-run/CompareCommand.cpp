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
struct Outcome {
  std::string text, firstOver;
  size_t compared = 0, differing = 0;
  json::Writer rows;
};
} // namespace

static Status compareOne(const Options &options, const io::Array &a, const io::Array &b, Outcome &out) {
  if (a.spec.dtype != b.spec.dtype || a.spec.shape != b.spec.shape)
    return Status::error(StatusCode::Usage, cat("output '", a.spec.name, "': types differ (", toString(a.spec), " and ",
                                                toString(b.spec), ")"));
  Tolerance tolerance = toleranceFor(a.spec.dtype, options.tolerance);
  Difference difference = compare(a.spec, b.data.get(), a.data.get(), tolerance);
  ++out.compared;
  if (!difference.ok()) {
    ++out.differing;
    if (out.firstOver.empty())
      out.firstOver = a.spec.name;
  }
  out.text += describe(a.spec, difference, tolerance);
  out.rows.beginObject()
      .field("name", a.spec.name)
      .field("ok", difference.ok())
      .field("differing", difference.differing);
  out.rows.field("max_abs", difference.maxAbs)
      .field("max_rel", difference.maxRel)
      .field("cosine", difference.cosine)
      .endObject();
  return {};
}

/// Taps first, in the order of execution: the first tensor over tolerance is where the two part.
static Status compareAll(const Options &options, const std::vector<io::Array> &left,
                         const std::vector<io::Array> &right, Outcome &out) {
  out.rows.beginArray();
  for (bool taps : {true, false}) {
    for (const io::Array &a : left) {
      if (a.spec.name.starts_with(kTap) != taps)
        continue;
      auto b = std::find_if(right.begin(), right.end(), [&](const io::Array &x) { return x.spec.name == a.spec.name; });
      if (b != right.end())
        GAUDI_TRY(compareOne(options, a, *b, out));
    }
  }
  out.rows.endArray();
  return {};
}

/// Opens the two sides: two models, or one model on two devices.
static Status openBoth(const Options &options, const InputSet &set, const Console &console, Session &a, Session &b) {
  ModelOptions first = options.model, second = options.model;
  if (!options.devices.empty())
    first.device = options.devices.front(), second.device = options.devices.back();
  if (options.models.size() < 2 && options.devices.size() < 2)
    return Status::error(StatusCode::Usage, "compare: only one side given",
                         "give two models, or one model and --device twice");
  Expected<Session> left = openSession(options.models.front(), first, set, console);
  if (!left.ok())
    return left.takeStatus();
  Expected<Session> right = openSession(options.models.back(), second, set, console);
  if (!right.ok())
    return right.takeStatus();
  a = left.take();
  b = right.take();
  return {};
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
  if (out.compared == 0)
    return Status::error(StatusCode::Usage, cat(a.name, " and ", b.name, " have no output name in common"),
                         cat(a.name, " has:\n", formatSignature(a.executable->outputs())));
  GAUDI_TRY(console.result(out.text));
  json::Writer w;
  w.beginObject().field("equal", out.differing == 0).field("first_over_tolerance", out.firstOver).key("tensors");
  std::string json = w.text() + out.rows.text() + "}";
  GAUDI_TRY(console.json(json));
  if (out.differing)
    return Status::error(StatusCode::OutputsDiffer,
                         cat(a.name, " and ", b.name, ": ", out.differing, " of ", out.compared,
                             " tensors differ, first '", out.firstOver, "'"),
                         "--atol and --rtol set the tolerance");
  console.info(cat("OK ", out.compared, out.compared == 1 ? " tensor is" : " tensors are", " equal within tolerance"));
  return {};
}

} // namespace gaudi::run
