//===- Rules.h - the list of import rules -----------------------*- C++ -*-===//
#pragma once

#include "lib/Import/Node.h"

#include "llvm/ADT/ArrayRef.h"

namespace gaudi::import {

/// Rows of one family; each rules/<Family>.cpp defines one such function.
llvm::ArrayRef<Rule> elementwiseRules();
llvm::ArrayRef<Rule> activationRules();
llvm::ArrayRef<Rule> shapeRules();
llvm::ArrayRef<Rule> sliceRules();
llvm::ArrayRef<Rule> dataRules();
llvm::ArrayRef<Rule> reduceRules();
llvm::ArrayRef<Rule> matmulRules();
llvm::ArrayRef<Rule> einsumRules();
llvm::ArrayRef<Rule> normRules();
llvm::ArrayRef<Rule> attentionRules();
llvm::ArrayRef<Rule> controlRules();
llvm::ArrayRef<Rule> contribRules();
llvm::ArrayRef<Rule> contribAttentionRules();

/// All families, in the order of the list in Rules.cpp.
llvm::ArrayRef<llvm::ArrayRef<Rule>> allRules();

/// The row for an operator at an opset; null if there is none. `earliest`, if set, receives the first opset of the
/// operator that has a row (0: none).
const Rule *findRule(llvm::StringRef domain, llvm::StringRef op, int64_t opset, int64_t *earliest = nullptr);

/// Operators with the most similar names, for "did you mean".
std::string nearestOperator(llvm::StringRef op);

} // namespace gaudi::import
