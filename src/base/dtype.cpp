#include "dyn/dtype.hpp"

#include <array>

namespace dyn {
namespace {

struct DTypeRow {
  DType dtype;
  std::size_t bytes;
  std::string_view name;
};

/// In the order of the enum.
constexpr std::array<DTypeRow, 23> rows = {{{DType::f32, 4, "f32"},
                                            {DType::f16, 2, "f16"},
                                            {DType::bf16, 2, "bf16"},
                                            {DType::f64, 8, "f64"},
                                            {DType::i8, 1, "i8"},
                                            {DType::i16, 2, "i16"},
                                            {DType::i32, 4, "i32"},
                                            {DType::i64, 8, "i64"},
                                            {DType::u8, 1, "u8"},
                                            {DType::u16, 2, "u16"},
                                            {DType::u32, 4, "u32"},
                                            {DType::u64, 8, "u64"},
                                            {DType::boolean, 1, "bool"},
                                            {DType::f8e4m3fn, 1, "f8e4m3fn"},
                                            {DType::f8e4m3fnuz, 1, "f8e4m3fnuz"},
                                            {DType::f8e5m2, 1, "f8e5m2"},
                                            {DType::f8e5m2fnuz, 1, "f8e5m2fnuz"},
                                            {DType::f8e8m0, 1, "f8e8m0"},
                                            {DType::f4e2m1, 1, "f4e2m1"},
                                            {DType::i4, 1, "i4"},
                                            {DType::u4, 1, "u4"},
                                            {DType::i2, 1, "i2"},
                                            {DType::u2, 1, "u2"}}};

constexpr const DTypeRow& row(DType dtype) noexcept {
  return rows[static_cast<std::size_t>(dtype)];
}

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(rows_follow_the_enum());

}  // namespace

std::span<const DType> all_dtypes() noexcept {
  static constexpr std::array dtypes = [] {
    std::array<DType, rows.size()> all{};
    for (std::size_t i = 0; i < rows.size(); ++i) all[i] = rows[i].dtype;
    return all;
  }();
  return dtypes;
}

std::size_t size_of(DType dtype) noexcept { return row(dtype).bytes; }

std::string_view name_of(DType dtype) noexcept { return row(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (const DTypeRow& candidate : rows) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

}  // namespace dyn
