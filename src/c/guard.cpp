#include "src/c/guard.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "dyn/dtype.hpp"
#include "dyn/error.hpp"

namespace dyn::c {

void user_error(const std::string& message) { throw Error(ErrorKind::user, message); }

void check_struct_size(std::size_t size, const char* argument) {
  constexpr std::size_t largest = std::size_t{1} << 16;  // beyond it nobody has set the member
  if (size < sizeof size || size > largest)
    user_error(fmt::format("{0}->struct_size is {1}; set it to sizeof *{0}", argument, size));
}

void check_pointer(const void* pointer, std::size_t alignment, const char* argument) {
  if (pointer == nullptr) user_error(fmt::format("the argument '{}' is NULL", argument));
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0)
    user_error(fmt::format("the argument '{}' is {}, which is no multiple of {}", argument,
                           fmt::ptr(pointer), alignment));
}

std::string_view required_text(const char* text, const char* argument) {
  check_pointer(text, 1, argument);
  return text;
}

void refuse_number(std::size_t index, std::size_t count, std::string_view what,
                   std::string_view whole) {
  user_error(fmt::format("there is no {} number {}; {} {}", what, index, whole, count));
}

std::optional<DType> find_dtype(dyn_dtype dtype) noexcept {
  if (dtype < 0 || static_cast<std::size_t>(dtype) >= all_dtypes().size()) return std::nullopt;
  return static_cast<DType>(dtype);
}

DType dtype_of(dyn_dtype dtype) {
  if (const std::optional<DType> found = find_dtype(dtype)) return *found;
  user_error(fmt::format("the dtype {} is none; they are 0 to {}", dtype, all_dtypes().size() - 1));
}

dyn_dtype c_dtype(DType dtype) noexcept { return static_cast<dyn_dtype>(dtype); }

Shape shape_of(std::size_t rank, const std::int64_t* sizes) {
  if (rank > most_axes)
    user_error(
        fmt::format("the rank {} is more than the {} that a tensor may have", rank, most_axes));
  const auto given = required_array(sizes, rank, "sizes");
  return {given.begin(), given.end()};
}

}  // namespace dyn::c
