//===- Support.h - which operators can be imported --------------*- C++ -*-===//
#pragma once

namespace llvm {
class raw_ostream;
}

namespace gaudi {

/// docs/onnx-support.md: every operator of the rule list with its opsets and what is refused of it, as Markdown.
void printSupport(llvm::raw_ostream &out);

} // namespace gaudi
