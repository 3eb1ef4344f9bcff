// Arithmetic on what the file holds: on a few floats, sizes on their way through a square root or a
// quotient, which would depend on data otherwise; on weights of any size where the result is no
// larger, so that it is a weight and not computed at each run.

#include "src/import/onnx/parts/folded.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/import/onnx/functions.hpp"

namespace dyn::onnx {
namespace {

constexpr std::int64_t most_folded = 64;
/// Parts of constants are constants of their own up to here, such as the gates of a recurrent layer
/// that its exporter put in another order. Both may stay in memory.
constexpr std::int64_t most_moved_bytes = 32 << 20;

/// With one operand, b is unused. In double precision; rounded once to f32, what is `exact` equals
/// f32 arithmetic.
struct FoldedOperator {
  std::string_view op;
  std::size_t operands;
  bool exact;
  double (*compute)(double a, double b);
};
constexpr FoldedOperator folded_operators[] = {
    {"Add", 2, true, [](double a, double b) { return a + b; }},
    {"Sub", 2, true, [](double a, double b) { return a - b; }},
    {"Mul", 2, true, [](double a, double b) { return a * b; }},
    {"Div", 2, true, [](double a, double b) { return a / b; }},
    {"Pow", 2, false, [](double a, double b) { return std::pow(a, b); }},
    {"Sqrt", 1, true, [](double a, double) { return std::sqrt(a); }},
    {"Reciprocal", 1, true, [](double a, double) { return 1 / a; }},
    {"Neg", 1, true, [](double a, double) { return -a; }},
    {"Abs", 1, true, [](double a, double) { return std::abs(a); }},
    {"Floor", 1, true, [](double a, double) { return std::floor(a); }},
    {"Ceil", 1, true, [](double a, double) { return std::ceil(a); }},
    {"Round", 1, true, [](double a, double) { return std::nearbyint(a); }},
    {"Log", 1, false, [](double a, double) { return std::log(a); }},
    {"Exp", 1, false, [](double a, double) { return std::exp(a); }},
};

template <class T>
void append(Tensor& tensor, T element) {
  tensor.bytes.append(reinterpret_cast<const char*>(&element), sizeof element);
}

/// Does not ask for values of inputs: what is not known here is computed when the model runs.
const Tensor* held(NodeContext& node, std::size_t input) {
  return node.has(input) ? node.operand(input)->constant.get() : nullptr;
}

bool is_short(const Tensor& tensor) { return tensor.elements() <= most_folded; }

/// The dims of both sides after broadcasting; nothing where they do not broadcast, or the result
/// has more elements than either.
std::optional<std::vector<std::int64_t>> joint_dims(const Tensor& a, const Tensor& b) {
  std::vector<std::int64_t> dims(std::max(a.dims.size(), b.dims.size()), 1);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto dim_of = [&](const Tensor& tensor) {
      const std::size_t missing = dims.size() - tensor.dims.size();
      return i < missing ? 1 : tensor.dims[i - missing];
    };
    const std::int64_t left = dim_of(a), right = dim_of(b);
    if (left != right && left != 1 && right != 1) return std::nullopt;
    dims[i] = left == 1 ? right : left;
    if (__builtin_mul_overflow(elements, dims[i], &elements)) return std::nullopt;
  }
  if (elements > std::max(a.elements(), b.elements())) return std::nullopt;
  return dims;
}

/// For each element of `dims`, in order, the place of the element of a tensor that broadcasts.
class Places {
 public:
  Places(const std::vector<std::int64_t>& dims, const Tensor& tensor)
      : dims_(dims), steps_(dims.size(), 0), at_(dims.size(), 0) {
    std::int64_t step = 1;
    const std::size_t missing = dims.size() - tensor.dims.size();
    for (std::size_t i = dims.size(); i-- > missing;) {
      steps_[i] = tensor.dims[i - missing] == 1 ? 0 : step;
      step *= tensor.dims[i - missing];
    }
  }

  std::size_t place() const { return static_cast<std::size_t>(place_); }
  void advance() {
    for (std::size_t i = dims_.size(); i-- > 0;) {
      place_ += steps_[i];
      if (++at_[i] < dims_[i]) return;
      place_ -= steps_[i] * dims_[i];
      at_[i] = 0;
    }
  }

 private:
  const std::vector<std::int64_t>& dims_;
  std::vector<std::int64_t> steps_, at_;
  std::int64_t place_ = 0;
};

float float_at(const Tensor& tensor, std::size_t place) {
  float element;
  std::memcpy(&element, tensor.bytes.data() + place * sizeof element, sizeof element);
  return element;
}

/// Integers and booleans of any number as f32, as a run would round them.
bool give_widened(NodeContext& node, const Tensor& integers) {
  Tensor floats{DType::f32, integers.dims,
                std::string(static_cast<std::size_t>(integers.elements()) * sizeof(float), '\0')};
  for_each_element(integers, [&](std::size_t i, auto number) {
    const auto element = static_cast<float>(number);
    std::memcpy(floats.bytes.data() + i * sizeof element, &element, sizeof element);
  });
  node.give(std::move(floats));
  return true;
}

bool give_folded_cast(NodeContext& node) {
  const Tensor* const floats = held(node, 0);
  if (floats == nullptr) return false;
  const DType to = node.dtype("to");
  if (to == DType::f32 && size_of(floats->dtype) < sizeof(float) && !is_float(floats->dtype) &&
      !is_short(*floats))
    return give_widened(node, *floats);
  if (floats->dtype != DType::f32 || !is_short(*floats) || (to != DType::i64 && to != DType::i32))
    return false;
  const double limit = to == DType::i64 ? 0x1p63 : 0x1p31;
  Tensor integers{to, floats->dims, {}};
  for (const double each : numbers_of(*floats)) {
    if (!(each >= -limit && each < limit)) return false;
    if (to == DType::i64)
      append(integers, static_cast<std::int64_t>(each));
    else
      append(integers, static_cast<std::int32_t>(each));
  }
  node.give(std::move(integers));
  return true;
}

bool is_moved(const Tensor& tensor, std::int64_t elements) {
  return is_float(tensor.dtype) && !tensor.dims.empty() &&
         elements * static_cast<std::int64_t>(size_of(tensor.dtype)) <= most_moved_bytes;
}

/// Appends what lies at the places along `axis` and those behind it, from byte `at` on.
void append_part(const Tensor& from, const std::vector<PlacesAlong>& places, std::size_t axis,
                 std::int64_t at, std::int64_t bytes_of_axis, std::string& to) {
  const PlacesAlong& along = places[axis];
  const std::int64_t step = bytes_of_axis / from.dims[axis];
  const bool is_last = axis + 1 == places.size();
  for (std::int64_t i = 0; i < along.count; ++i) {
    const std::int64_t place = at + (along.start + i * along.step) * step;
    if (is_last)
      to.append(from.bytes, static_cast<std::size_t>(place), static_cast<std::size_t>(step));
    else
      append_part(from, places, axis + 1, place, step, to);
  }
}

}  // namespace

bool give_folded_floats(NodeContext& node) {
  if (!is_standard(node.node().domain())) return false;
  if (node.node().op_type() == "Cast") return give_folded_cast(node);
  const auto* const folded = std::ranges::find(
      folded_operators, std::string_view(node.node().op_type()), &FoldedOperator::op);
  if (folded == std::end(folded_operators) || node.inputs() != folded->operands ||
      node.attribute("axis") != nullptr)
    return false;
  const Tensor* const a = held(node, 0);
  const Tensor* const b = a != nullptr && folded->operands == 2 ? held(node, 1) : a;
  if (a == nullptr || b == nullptr || a->dtype != DType::f32 || b->dtype != DType::f32)
    return false;
  if (!folded->exact && !(is_short(*a) && is_short(*b))) return false;
  const auto dims = joint_dims(*a, *b);
  if (!dims) return false;
  Tensor result{DType::f32, *dims, {}};
  const auto count = static_cast<std::size_t>(result.elements());
  result.bytes.reserve(count * sizeof(float));
  Places left(*dims, *a), right(*dims, *b);
  for (std::size_t i = 0; i < count; ++i, left.advance(), right.advance())
    append(result,
           static_cast<float>(folded->compute(static_cast<double>(float_at(*a, left.place())),
                                              static_cast<double>(float_at(*b, right.place())))));
  node.give(std::move(result));
  return true;
}

bool give_folded_part(NodeContext& node, const std::vector<PlacesAlong>& places) {
  const Tensor* const whole = held(node, 0);
  if (whole == nullptr || whole->dims.size() != places.size()) return false;
  Tensor part{whole->dtype, {}, {}};
  for (const PlacesAlong& along : places) part.dims.push_back(along.count);
  const std::int64_t elements = part.elements();
  if (!is_moved(*whole, elements)) return false;
  if (elements > 0)
    append_part(*whole, places, 0, 0, static_cast<std::int64_t>(whole->bytes.size()), part.bytes);
  node.give(std::move(part));
  return true;
}

bool give_folded_concat(NodeContext& node, int axis) {
  std::vector<const Tensor*> parts;
  for (std::size_t i = 0; i < node.inputs(); ++i) parts.push_back(held(node, i));
  if (parts.empty() || std::ranges::count(parts, nullptr) > 0) return false;
  const auto along = static_cast<std::size_t>(axis);
  Tensor whole{parts[0]->dtype, parts[0]->dims, {}};
  for (const Tensor* const part : std::span(parts).subspan(1)) {
    std::vector<std::int64_t> dims = part->dims;
    if (part->dtype != whole.dtype || dims.size() != whole.dims.size()) return false;
    whole.dims[along] += std::exchange(dims[along], whole.dims[along] + dims[along]);
    if (dims != whole.dims) return false;
  }
  if (!is_moved(whole, whole.elements())) return false;
  std::size_t rows = 1;
  for (std::size_t i = 0; i < along; ++i) rows *= static_cast<std::size_t>(whole.dims[i]);
  for (std::size_t row = 0; row < rows; ++row) {
    for (const Tensor* const part : parts) {
      const std::size_t bytes = part->bytes.size() / rows;
      whole.bytes.append(part->bytes, row * bytes, bytes);
    }
  }
  node.give(std::move(whole));
  return true;
}

}  // namespace dyn::onnx
