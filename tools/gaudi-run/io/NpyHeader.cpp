//===- NpyHeader.cpp - the dictionary at the start of an .npy -------------===//
//
//   \x93NUMPY 01 00 | u16 length (v2, v3: u32) | {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n
//
// The dictionary is a Python literal. We read the subset numpy writes: string, boolean and tuple-of-integers values.
//
//===----------------------------------------------------------------------===//
#include "runtime/base/SafeMath.h"
#include "runtime/base/Text.h"
#include "tools/gaudi-run/io/Npy.h"

#include <charconv>
#include <cstring>

namespace gaudi::io {

static Status invalid(const std::string &where, std::string what, std::string hint = {}) {
  return Status::error(StatusCode::InvalidInput, cat(where, ": ", what), std::move(hint));
}

namespace {
/// Cursor over the dictionary's text; each method skips blanks first and returns false without a match.
struct Scanner {
  std::string_view rest;

  void skip() {
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '\n' || rest[0] == '\t'))
      rest.remove_prefix(1);
  }
  bool take(char c) {
    skip();
    if (rest.empty() || rest[0] != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }
  bool takeWord(std::string_view word) {
    skip();
    if (!rest.starts_with(word))
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  bool string(std::string_view &out) {
    char quote = take('\'') ? '\'' : take('"') ? '"' : 0;
    size_t end = quote ? rest.find(quote) : std::string_view::npos;
    if (end == std::string_view::npos)
      return false;
    out = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
  }
  bool integer(int64_t &out) {
    skip();
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (error != std::errc())
      return false;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    (void)take('L'); // Python 2 wrote 3L
    return true;
  }
};
} // namespace

/// "<f4" -> f32. Names what is refused.
static Status parseDescr(std::string_view descr, const std::string &where, NpyHeader &out) {
  struct Row {
    std::string_view code;
    DType dtype;
  };
  static constexpr Row rows[] = {
      {"f4", DType::F32}, {"f2", DType::F16}, {"V2", DType::BF16}, {"f8", DType::F64}, {"i1", DType::I8},
      {"i2", DType::I16}, {"i4", DType::I32}, {"i8", DType::I64},  {"u1", DType::U8},  {"u2", DType::U16},
      {"u4", DType::U32}, {"u8", DType::U64}, {"b1", DType::Bool},
  };
  std::string_view code = descr.empty() ? descr : descr.substr(1);
  char order = descr.empty() ? ' ' : descr[0];
  if (code.starts_with("O") || descr == "O")
    return invalid(where, "object arrays refused (they are pickles, which can run code)",
                   "save with a numeric dtype: np.save(f, a.astype(np.float32), allow_pickle=False)");
  if (order == '<' || order == '>' || order == '|' || order == '=') {
    for (const Row &row : rows) {
      if (row.code == code) {
        out.dtype = row.dtype;
        out.bigEndian = order == '>' && sizeOf(row.dtype) > 1;
        return {};
      }
    }
  }
  return invalid(where, cat("dtype '", descr.substr(0, 32), "' is not supported"),
                 "numeric types, bool and bfloat16 are");
}

static bool parseShape(Scanner &in, std::vector<int64_t> &shape, unsigned maxRank) {
  shape.clear();
  if (!in.take('('))
    return false;
  while (!in.take(')')) {
    int64_t dim;
    if (shape.size() == maxRank || !in.integer(dim) || dim < 0)
      return false;
    shape.push_back(dim);
    if (!in.take(',')) {
      // "(3)" is an integer in Python, not a tuple; numpy never writes it.
      return shape.size() > 1 && in.take(')');
    }
  }
  return true;
}

static Status parseDictionary(std::string_view text, const std::string &where, const Limits &limits, NpyHeader &out) {
  Scanner in = {text};
  auto malformed = [&] {
    return invalid(where, "npy header is malformed", "is it a complete file written by np.save?");
  };
  if (!in.take('{'))
    return malformed();
  bool seen[3] = {};
  auto once = [&](int index) { return !std::exchange(seen[index], true); };
  while (!in.take('}')) {
    std::string_view key, descr;
    if (!in.string(key) || !in.take(':'))
      return malformed();
    if (key == "descr" && once(0)) {
      if (in.skip(), !in.rest.empty() && in.rest[0] == '[')
        return invalid(where, "structured dtypes are not supported");
      if (!in.string(descr))
        return malformed();
      GAUDI_TRY(parseDescr(descr, where, out));
    } else if (key == "fortran_order" && once(1)) {
      out.fortranOrder = in.takeWord("True");
      if (!out.fortranOrder && !in.takeWord("False"))
        return malformed();
    } else if (key == "shape" && once(2)) {
      if (!parseShape(in, out.shape, limits.maxRank))
        return invalid(where, cat("npy shape is malformed, negative or has more than ", limits.maxRank, " dimensions"));
    } else {
      return invalid(where, cat("npy header has an unknown or repeated key '", key.substr(0, 32), "'"));
    }
    (void)in.take(',');
  }
  return seen[0] && seen[1] && seen[2] ? Status() : malformed();
}

Expected<NpyHeader> parseNpyHeader(std::span<const std::byte> file, const std::string &where, const Limits &limits) {
  auto byteAt = [&](size_t i) { return std::to_integer<uint32_t>(file[i]); };
  if (file.empty())
    return invalid(where, "not an npy file: file is empty");
  if (file.size() < 10 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0)
    return invalid(where, "not an npy file (wrong magic)");
  uint32_t major = byteAt(6);
  if (major < 1 || major > 3)
    return invalid(where,
                   cat("npy version ", major, " unsupported (found ", major, ".", byteAt(7), ", expected 1.0 to 3.0)"));
  size_t lengthBytes = major == 1 ? 2 : 4, start = 8 + lengthBytes;
  uint64_t length = 0;
  for (size_t i = 0; i < lengthBytes && start <= file.size(); ++i)
    length |= uint64_t(byteAt(8 + i)) << (8 * i);
  if (length > limits.maxHeaderBytes)
    return invalid(where, cat("npy header of ", length, " bytes; limit ", limits.maxHeaderBytes));
  if (start > file.size() || length > file.size() - start)
    return invalid(where, cat("truncated in the npy header (found ", file.size(), " bytes, expected at least ",
                              start + length, ")"));
  NpyHeader header;
  header.dataOffset = start + static_cast<size_t>(length);
  GAUDI_TRY(parseDictionary({reinterpret_cast<const char *>(file.data()) + start, static_cast<size_t>(length)}, where,
                            limits, header));
  return header;
}

static std::string_view descrOf(DType dtype) {
  static constexpr std::string_view table[] = {"<f4", "<f2", "<V2", "<f8", "|i1", "<i2", "<i4",
                                               "<i8", "|u1", "<u2", "<u4", "<u8", "|b1"};
  return table[static_cast<size_t>(dtype)];
}

std::string npyHeader(const TensorSpec &spec) {
  std::string shape = join(spec.shape, ", ");
  if (spec.shape.size() == 1)
    shape += ',';
  std::string text = cat("{'descr': '", descrOf(spec.dtype), "', 'fortran_order': False, 'shape': (", shape, "), }");
  // Rank 32 with 19-digit dims is under 800 bytes, so version 1.0 always suffices.
  text.append(63 - (10 + text.size()) % 64, ' ').push_back('\n');
  std::string out("\x93NUMPY\x01\x00", 8);
  out.push_back(static_cast<char>(text.size() & 0xff));
  out.push_back(static_cast<char>(text.size() >> 8));
  return out + text;
}

} // namespace gaudi::io
