//===- Support.cpp - which operators can be imported ----------------------===//
#include "lib/Import/Support.h"

#include "lib/Import/Rules.h"
#include "lib/Onnx/Model.h"

#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace gaudi;
using namespace gaudi::import;

namespace {

/// The rows of one operator, by opset.
using Versions = std::map<int64_t, const Rule *>;

std::map<std::string, Versions> operatorsOf(llvm::StringRef domain, bool refused) {
  std::map<std::string, Versions> operators;
  for (llvm::ArrayRef<Rule> family : allRules())
    for (const Rule &rule : family)
      if (rule.domain == domain && rule.note.starts_with("refused") == refused)
        operators[rule.op.str()][rule.since] = &rule;
  return operators;
}

/// "7-12, 13+": where a row begins, the operator's meaning changes for us. Older opsets than `first` are not read.
std::string opsetsText(const Versions &versions, int64_t first) {
  std::string text;
  for (auto it = versions.begin(); it != versions.end(); ++it) {
    auto next = std::next(it);
    if (next != versions.end() && next->first <= first)
      continue;
    text += (text.empty() ? "" : ", ") + std::to_string(std::max(it->first, first));
    if (next == versions.end())
      text += "+";
    else if (next->first - 1 > std::max(it->first, first))
      text += "-" + std::to_string(next->first - 1);
  }
  return text;
}

void printTable(llvm::raw_ostream &out, llvm::StringRef domain, int64_t first) {
  out << "| operator | opsets | restrictions |\n|---|---|---|\n";
  for (const auto &[op, versions] : operatorsOf(domain, /*refused=*/false)) {
    llvm::StringRef note;
    for (const auto &[since, rule] : versions)
      note = rule->note.empty() ? note : rule->note;
    out << "| " << op << " | " << opsetsText(versions, first) << " | " << note << " |\n";
  }
}

} // namespace

void gaudi::printSupport(llvm::raw_ostream &out) {
  out << "# ONNX operators\n\n"
         "Written by `gaudi-opt --supported` from the rules in `lib/Import/rules`; a test compares. Do not edit.\n\n"
         "Models of ai.onnx opset "
      << kMinOpset << " to " << kMaxOpset
      << " are read. An operator's behaviour is that of the model's opset; where a new range begins, so\n"
         "does another rule. Types: f64, f32, f16, bf16, i8 to i64, u8 to u64, bool. Local functions are inlined. What "
         "is not\n"
         "listed, or restricted, is refused with all such nodes named at once (exit 4).\n\n## ai.onnx\n\n";
  printTable(out, "", kMinOpset);
  out << "\n## com.microsoft\n\n";
  printTable(out, "com.microsoft", 1);
  out << "\n## Known and refused\n\nAttributes are checked, so that a broken model is called broken, then:\n\n";
  for (const auto &[op, versions] : operatorsOf("", /*refused=*/true))
    out << "- " << op << ": " << versions.begin()->second->note.substr(llvm::StringRef("refused: ").size()) << "\n";
}
