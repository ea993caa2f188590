//===- IoCheck.h - do the caller's tensors fit the signature? ---*- C++ -*-===//
#pragma once

#include "gaudi/Runtime.h"

namespace gaudi {

/// Checks number, sizes, null pointers and element alignment of all views, and that no output overlaps another view.
/// Allocates only when something is wrong. Errors: Usage, `input 'x': got 508 bytes, need f32[1,128] (512 bytes)`.
Status checkIo(const std::vector<TensorSpec> &inputSpecs, std::span<const TensorView> inputs,
               const std::vector<TensorSpec> &outputSpecs, std::span<const TensorView> outputs);

} // namespace gaudi
