//===- Npy.h - numpy's .npy format ------------------------------*- C++ -*-===//
//
// Own reader because the known ones read out of bounds on hostile headers (cnpy #106, libnpy #44) and numpy's executes
// pickles (CVE-2019-6446). Versions 1.0 to 3.0; Fortran order and big-endian data are converted; object, string,
// structured, complex and date types are refused. bf16 has no numpy type: it is written and read as '<V2', which is
// what ml_dtypes gives.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "gaudi/Status.h"
#include "tools/gaudi-run/io/Array.h"
#include "tools/gaudi-run/io/Limits.h"

#include <span>

namespace gaudi::io {

/// What stands before the data.
struct NpyHeader {
  DType dtype = DType::F32;
  bool bigEndian = false, fortranOrder = false;
  std::vector<int64_t> shape;
  size_t dataOffset = 0;
};

/// Errors: InvalidInput, ResourceLimit. `where` leads the messages. Looks at the header only, not at the data's size.
Expected<NpyHeader> parseNpyHeader(std::span<const std::byte> file, const std::string &where,
                                   const Limits &limits = {});
/// A whole npy file in memory.
Expected<Array> parseNpy(std::span<const std::byte> file, const std::string &where, const Limits &limits = {});
Expected<Array> readNpy(const std::string &path, const Limits &limits = {});

/// Magic, version and header, padded so that data starts at a multiple of 64.
std::string npyHeader(const TensorSpec &spec);
/// Written beside and renamed: no half file is left behind. Errors: Runtime.
Status writeNpy(const std::string &path, const TensorSpec &spec, TensorView data);

} // namespace gaudi::io
