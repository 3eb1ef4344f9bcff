#pragma once
// UTF-8, and the numbers of letters that NumPy writes.

#include <optional>
#include <string>
#include <string_view>

namespace dyn::cli {

/// The letters of UTF-8; nothing where it is none.
std::optional<std::u32string> code_points_of(std::string_view utf8);

/// UTF-8 of letters of 32 bits each, little-endian, up to the NULs at their end; nothing where one
/// of them is no letter.
std::optional<std::string> text_of_code_points(std::string_view bytes);

/// The bytes up to the NULs at their end.
std::string without_nuls(std::string_view bytes);

}  // namespace dyn::cli
