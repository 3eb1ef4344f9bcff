#include "src/import/onnx/parts/integers/narrowing.hpp"

#include <fmt/format.h>

#include "graph/ir/codes.hpp"

namespace dyn::onnx {
namespace {

TensorExpr bit_cast(const TensorExpr& x, DType to) {
  return apply("bit_cast", {x}, {{"dtype", std::string(name_of(to))}});
}

/// A power of two that is not less than x, or not greater: by way of the bits of the float, whose
/// fraction goes. x is not negative.
TensorExpr power_of_two(const TensorExpr& x, bool is_up) {
  constexpr double fraction_bits = 23, fraction = 0x7fffff, least = 0x1p-127;
  TensorExpr bits = bit_cast(x, DType::u32);
  if (is_up) bits = bits + fraction;
  const TensorExpr shift = bits.scalar(fraction_bits);
  const TensorExpr power =
      bit_cast(apply("shift_left", {apply("shift_right", {bits, shift}), shift}), DType::f32);
  return where(less_equal(x, least), least, where(apply("isnan", {x}), x, power));
}

}  // namespace

TensorExpr narrowed(const TensorExpr& x, DType to, const Narrowing& narrowing) {
  if (!graph::is_narrow_float(to)) return cast(x, to);
  TensorExpr number = cast(x, DType::f32);
  if (narrowing.saturates) {
    const double greatest =
        graph::float_of_code(to, static_cast<std::uint16_t>(graph::format_of(to).greatest()));
    number = maximum(minimum(number, greatest), -greatest);
  }
  if (to == DType::f8e8m0) {
    if (narrowing.direction != "up" && narrowing.direction != "down" &&
        narrowing.direction != "nearest")
      x.node().fail(fmt::format("round_mode {} is unknown", narrowing.direction));
    if (narrowing.direction != "nearest")
      number = power_of_two(number, narrowing.direction == "up");
  }
  return cast(number, to);
}

}  // namespace dyn::onnx
