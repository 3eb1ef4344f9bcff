#pragma once
// The JSON header of a safetensors file, as written: syntax and structure are checked here, meaning
// is not.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::runtime {

struct RawEntry {
  std::string key;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  ///< begin and end within the data
};

/// The entries in the order of the file. Nothing recurses, and nothing but these entries is built,
/// whatever the text holds. Throws Error(model) with a message that does not name the file.
std::vector<RawEntry> parse_safetensors_header(std::string_view json);

}  // namespace dyn::runtime
