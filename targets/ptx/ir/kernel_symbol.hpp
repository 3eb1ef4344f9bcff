#pragma once
// The name of a kernel's function.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace dyn::ptx {

/// Made from the source's key (64-bit FNV-1a), so that everyone who lowers a source gets one and
/// the same module.
inline std::string kernel_symbol(std::string_view key) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return fmt::format("dyn_{:016x}", hash);
}

}  // namespace dyn::ptx
