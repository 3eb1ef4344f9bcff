#pragma once
// Files that people take for models: other formats, and downloads that failed.

#include <cstddef>
#include <string_view>

namespace dyn {

/// foreign_file() looks at no more than so many bytes.
inline constexpr std::size_t foreign_file_bytes = 256;

/// Tells by its first bytes what a file is and what to do: "a zip archive: unpack it ...". ""
/// for what is not known here, and for models.
std::string_view foreign_file(std::string_view head) noexcept;

}  // namespace dyn
