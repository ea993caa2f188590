//===- Profile.cpp - time per kernel --------------------------------------===//
#include "tools/gaudi-run/Profile.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/Words.h"

#include <algorithm>

namespace gaudi::run {

std::vector<ProfileRow> profileRows(const std::vector<KernelInfo> &kernels, const std::vector<KernelTime> &times,
                                    unsigned runs) {
  std::vector<double> ns(kernels.size(), 0);
  double total = 0;
  for (const KernelTime &time : times) {
    auto spent = static_cast<double>(time.endNs - time.beginNs);
    ns[time.launch] += spent;
    total += spent;
  }
  std::vector<ProfileRow> rows;
  for (size_t i = 0; i < kernels.size(); ++i) {
    double each = ns[i] / std::max(runs, 1u);
    ProfileRow row = {i, kernels[i].name, kernels[i].kernel, each / 1e6, total > 0 ? 100 * ns[i] / total : 0};
    if (each > 0)
      row.gflops = kernels[i].flops / each, row.gbytes = kernels[i].bytes / each; // per ns = giga per s
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const ProfileRow &a, const ProfileRow &b) { return a.ms != b.ms ? a.ms > b.ms : a.launch < b.launch; });
  return rows;
}

static std::string right(const std::string &text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

static std::string line(const std::string &ms, const std::string &percent, const std::string &gflops,
                        const std::string &gbytes, const std::string &name) {
  return cat(right(ms, 9), right(percent, 7), right(gflops, 10), right(gbytes, 8), "  ", name, "\n");
}

std::string formatProfile(const std::vector<ProfileRow> &rows, size_t maxRows) {
  std::string out = line("us", "%", "GFLOP/s", "GB/s", "node (kernel)");
  double restMs = 0, restPercent = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const ProfileRow &r = rows[i];
    if (i < maxRows)
      out += line(fixed(r.ms * 1e3, 1), fixed(r.percent, 1), fixed(r.gflops, 1), fixed(r.gbytes, 1),
                  cat(r.name, " (", r.kernel, ")"));
    else
      restMs += r.ms, restPercent += r.percent;
  }
  if (rows.size() > maxRows)
    out +=
        line(fixed(restMs * 1e3, 1), fixed(restPercent, 1), "", "", cat(rows.size() - maxRows, " more; -v shows all"));
  return out;
}

void writeProfile(json::Writer &w, const std::vector<ProfileRow> &rows) {
  w.key("profile").beginArray();
  for (const ProfileRow &r : rows)
    w.beginObject()
        .field("name", r.name)
        .field("kernel", r.kernel)
        .field("ms", r.ms)
        .field("percent", r.percent)
        .field("gflops", r.gflops)
        .field("gbytes", r.gbytes)
        .endObject();
  w.endArray();
}

std::string chromeTrace(const std::vector<KernelInfo> &kernels, const std::vector<KernelTime> &times) {
  json::Writer w;
  uint64_t origin = times.empty() ? 0 : times.front().beginNs;
  w.beginObject().field("displayTimeUnit", "ms").key("traceEvents").beginArray();
  for (const KernelTime &time : times) {
    const KernelInfo &kernel = kernels[time.launch];
    w.beginObject().field("name", kernel.name).field("ph", "X").field("pid", 0).field("tid", 0);
    w.field("ts", double(time.beginNs - origin) / 1e3).field("dur", double(time.endNs - time.beginNs) / 1e3);
    w.key("args")
        .beginObject()
        .field("kernel", kernel.kernel)
        .field("flops", kernel.flops)
        .field("bytes", kernel.bytes);
    w.endObject().endObject();
  }
  return w.endArray().endObject().text();
}

} // namespace gaudi::run
