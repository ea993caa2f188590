//===- Explain.cpp - why an entry is missing ------------------------------===//
#include "runtime/base/Text.h"
#include "runtime/cache/CacheImpl.h"

#include <algorithm>

namespace gaudi::cache {

static const Component *find(const std::vector<Component> &list, const std::string &name) {
  auto at = std::find_if(list.begin(), list.end(), [&](const Component &c) { return c.name == name; });
  return at == list.end() ? nullptr : &*at;
}

/// "input-spec (entry has 1x128, asked 4x128)".
static std::string describe(const Component &asked, const Component *stored) {
  if (!stored)
    return cat(asked.name, " (not in the entry)");
  if (asked.text.empty() || stored->text.empty())
    return asked.name;
  return cat(asked.name, " (entry has ", stored->text, ", asked ", asked.text, ")");
}

static std::vector<std::string> differences(const std::vector<Component> &asked, const std::vector<Component> &stored) {
  std::vector<std::string> out;
  for (const Component &component : asked) {
    const Component *other = find(stored, component.name);
    if (!other || other->digest != component.digest)
      out.push_back(describe(component, other));
  }
  for (const Component &component : stored)
    if (!find(asked, component.name))
      out.push_back(cat(component.name, " (only in the entry)"));
  return out;
}

std::string Cache::explain(const std::vector<Component> &components) {
  std::vector<std::string> best;
  std::string bestName;
  bool any = false;
  // Newest first, and only a strictly better one replaces it: of equals, the latest is what the user remembers.
  for (const Info &info : list(false)) {
    if (info.kind != Kind::Program || !info.damage.empty())
      continue;
    std::vector<std::string> differ = differences(components, info.metadata.components);
    if (any && differ.size() >= best.size())
      continue;
    any = true;
    best = std::move(differ);
    bestName = cat(info.key.shortHex(), info.metadata.label.empty() ? "" : " (" + info.metadata.label + ")");
  }
  if (!any)
    return "the cache holds no program";
  if (best.empty())
    return cat("entry ", bestName, " has the same components; the key holds something they do not name");
  return cat("nearest entry ", bestName, " differs in ", join(best, ", "));
}

} // namespace gaudi::cache
