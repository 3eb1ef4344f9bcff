#include "tests/kernels/graph_writer.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/support/graph_text.hpp"

namespace dyn::testing {
namespace {

constexpr std::int64_t most_elements = 60'000;
constexpr std::size_t most_dims = 5;

std::int64_t elements(const std::vector<WrittenDim>& dims) {
  std::int64_t count = 1;
  for (const auto& dim : dims) count *= dim.largest;
  return count;
}

WrittenDim constant(std::int64_t size) { return {std::to_string(size), size, size}; }

bool is_one(const WrittenDim& dim) { return dim.constant == 1; }

WrittenDim sum(const WrittenDim& a, const WrittenDim& b) {
  if (a.constant && b.constant) return constant(*a.constant + *b.constant);
  return {fmt::format("({} + {})", a.text, b.text), a.largest + b.largest, std::nullopt};
}

WrittenDim times(const WrittenDim& a, const WrittenDim& b) {
  if (a.constant && b.constant) return constant(*a.constant * *b.constant);
  return {fmt::format("({} * {})", a.text, b.text), a.largest * b.largest, std::nullopt};
}

WrittenDim half(const WrittenDim& a, std::int64_t round_up) {
  if (a.constant) return constant((*a.constant + round_up) / 2);
  return {fmt::format("floordiv({} + {}, 2)", a.text, round_up), (a.largest + round_up) / 2,
          std::nullopt};
}

}  // namespace

std::string shape_text(const std::vector<WrittenDim>& dims) {
  std::vector<std::string> texts;
  for (const auto& dim : dims) texts.push_back(dim.text);
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

const std::vector<std::string>& GraphWriter::symbols() {
  static const std::vector<std::string> names = {"A", "B", "C"};
  return names;
}

GraphWriter::GraphWriter(Random& random) : random_(random) {
  Dims dims;
  for (const auto& name : symbols()) dims.push_back({name, largest_size, std::nullopt});
  if (random_.chance(0.5)) dims[static_cast<std::size_t>(random_.integer(0, 2))] = random_dim();
  // Every symbol must occur in some input.
  for (const auto& name : symbols()) input("f32", {{name, largest_size, std::nullopt}});
  values_.push_back({input("f32", dims), dims});
}

void GraphWriter::write(int count) {
  for (int i = 0; i < count; ++i) step();
}

std::string GraphWriter::text() const {
  const auto& last = values_.back();
  // A value from the middle becomes a second result: it must be in memory, whatever it was fused
  // with.
  const auto& middle = values_[values_.size() / 2];
  std::string results = fmt::format("r: f32{}", shape_text(last.dims)), statements = statements_;
  statements += fmt::format("r = {}", last.name);
  if (middle.name != last.name) {
    results += fmt::format(", s: f32{}", shape_text(middle.dims));
    statements += fmt::format("\n  s = {}", middle.name);
  }
  return graph_text(symbols(), parameters_, results, statements);
}

void GraphWriter::step() {
  using Writer = void (GraphWriter::*)(const WrittenValue&);
  static constexpr Writer writers[] = {
      &GraphWriter::unary,  &GraphWriter::unary,     &GraphWriter::binary,    &GraphWriter::binary,
      &GraphWriter::select, &GraphWriter::reduce,    &GraphWriter::normalize, &GraphWriter::matmul,
      &GraphWriter::matmul, &GraphWriter::transpose, &GraphWriter::merge,     &GraphWriter::slice,
      &GraphWriter::concat, &GraphWriter::pad,       &GraphWriter::expand,    &GraphWriter::gather,
  };
  const auto recent = std::min<std::int64_t>(3, static_cast<std::int64_t>(values_.size()));
  const WrittenValue x =
      values_[values_.size() - static_cast<std::size_t>(random_.integer(1, recent))];
  (this->*random_.pick(writers))(x);
}

void GraphWriter::unary(const WrittenValue& x) {
  static const std::vector<std::string> forms = {"tanh({})", "sigmoid({})", "relu({})", "abs({})",
                                                 "neg({})",  "erf({})",     "gelu({})", "silu({})",
                                                 "{} * 0.5", "{} + 0.25"};
  define(fmt::format(fmt::runtime(random_.pick(forms)), x.name), x.dims);
}

void GraphWriter::binary(const WrittenValue& x) {
  static const std::vector<std::string> ops = {"add", "sub", "mul", "maximum", "minimum"};
  std::string other;
  for (const auto& value : values_) {
    if (value.name != x.name && shape_text(value.dims) == shape_text(x.dims) && random_.chance(0.7))
      other = value.name;
  }
  if (other.empty()) other = input("f32", broadcastable(x.dims));
  const bool swap = random_.chance(0.5);
  define(fmt::format("{}({}, {})", random_.pick(ops), swap ? other : x.name, swap ? x.name : other),
         x.dims);
}

void GraphWriter::select(const WrittenValue& x) {
  define(fmt::format("where({}, {}, {})", input("bool", broadcastable(x.dims)), x.name,
                     input("f32", broadcastable(x.dims))),
         x.dims);
}

void GraphWriter::reduce(const WrittenValue& x) {
  static const std::vector<std::string> ops = {"reduce_sum", "reduce_mean", "reduce_max",
                                               "reduce_min"};
  if (x.dims.empty()) return;
  const auto axis = random_axis(x.dims);
  const bool keep = random_.chance(0.5);
  Dims dims = x.dims;
  if (keep) {
    dims[axis] = constant(1);
  } else {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  define(fmt::format("{}({}) axes=[{}] keepdims={}", random_.pick(ops), x.name, axis, keep), dims);
}

void GraphWriter::normalize(const WrittenValue& x) {
  if (x.dims.empty()) return;
  if (random_.chance(0.5)) {
    define(fmt::format("softmax({}) axis={}", x.name, random_axis(x.dims)), x.dims);
  } else {
    const auto weight = input("f32", {x.dims.back()}), bias = input("f32", {x.dims.back()});
    define(fmt::format("layer_norm({}, {}, {}) epsilon=0.1", x.name, weight, bias), x.dims);
  }
}

void GraphWriter::matmul(const WrittenValue& x) {
  if (x.dims.size() < 2) return;
  const auto rows = x.dims[x.dims.size() - 2], inner = x.dims.back(), columns = random_dim();
  Dims other = {inner, columns}, dims = x.dims;
  dims.back() = columns;
  if (elements(dims) > most_elements || inner.largest * columns.largest > most_elements) return;
  const bool transpose = random_.chance(0.4);
  if (transpose) std::swap(other[0], other[1]);
  if (random_.chance(0.4)) other.insert(other.begin(), x.dims.begin(), x.dims.end() - 2);
  define(fmt::format("matmul({}, {}) transpose_b={}", x.name,
                     input("f32", other, uniform(-0.4, 0.5)), transpose),
         dims);
}

void GraphWriter::transpose(const WrittenValue& x) {
  if (x.dims.size() < 2) return;
  std::vector<std::size_t> order(x.dims.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) {
    std::swap(order[i],
              order[static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(i)))]);
  }
  Dims dims;
  for (const auto axis : order) dims.push_back(x.dims[axis]);
  define(fmt::format("transpose({}) perm=[{}]", x.name, fmt::join(order, ", ")), dims);
}

/// Joins two neighbouring dims, and may split off a 1.
void GraphWriter::merge(const WrittenValue& x) {
  if (x.dims.size() < 2) return;
  Dims dims = x.dims;
  const auto axis =
      static_cast<std::ptrdiff_t>(random_.integer(0, static_cast<std::int64_t>(dims.size()) - 2));
  dims[static_cast<std::size_t>(axis)] =
      times(dims[static_cast<std::size_t>(axis)], dims[static_cast<std::size_t>(axis) + 1]);
  dims.erase(dims.begin() + axis + 1);
  if (random_.chance(0.3)) dims.insert(dims.begin() + axis, constant(1));
  define(fmt::format("reshape({}) shape={}", x.name, shape_text(dims)), dims);
}

void GraphWriter::slice(const WrittenValue& x) {
  if (x.dims.empty()) return;
  const auto axis = random_axis(x.dims);
  Dims dims = x.dims;
  auto& dim = dims[axis];
  std::string how;
  switch (random_.integer(0, 3)) {
    case 0: how = "steps=[-1]"; break;
    case 1:
      how = "steps=[2]";
      dim = half(dim, 1);
      break;
    case 2:
      dim = half(dim, 0);
      how = fmt::format("ends=[{}]", dim.text);
      break;
    default:
      if (!dim.constant || *dim.constant < 2) return;
      how = "starts=[1]";
      dim = constant(*dim.constant - 1);
  }
  define(fmt::format("slice({}) axes=[{}] {}", x.name, axis, how), dims);
}

void GraphWriter::concat(const WrittenValue& x) {
  if (x.dims.empty()) return;
  const auto axis = random_axis(x.dims);
  Dims dims = x.dims, other = x.dims;
  const bool twice = random_.chance(0.3);
  if (!twice) other[axis] = random_dim();
  dims[axis] = sum(x.dims[axis], other[axis]);
  if (elements(dims) > most_elements) return;
  define(fmt::format("concat({}, {}) axis={}", x.name, twice ? x.name : input("f32", other), axis),
         dims);
}

void GraphWriter::pad(const WrittenValue& x) {
  if (x.dims.empty()) return;
  Dims dims = x.dims;
  std::vector<std::int64_t> before(dims.size()), after(dims.size());
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (random_.chance(0.6)) continue;
    before[axis] = random_.integer(0, 2);
    after[axis] = random_.integer(0, 2);
    dims[axis] = sum(dims[axis], constant(before[axis] + after[axis]));
  }
  if (elements(dims) > most_elements) return;
  define(fmt::format("pad({}) before=[{}] after=[{}] value=0.75", x.name, fmt::join(before, ", "),
                     fmt::join(after, ", ")),
         dims);
}

void GraphWriter::expand(const WrittenValue& x) {
  if (x.dims.size() >= most_dims) return;
  Dims dims = x.dims;
  for (auto& dim : dims) {
    if (is_one(dim)) dim = random_dim();
  }
  if (random_.chance(0.5)) dims.insert(dims.begin(), random_dim());
  if (elements(dims) > most_elements) return;
  define(fmt::format("expand({}) shape={}", x.name, shape_text(dims)), dims);
}

void GraphWriter::gather(const WrittenValue& x) {
  if (x.dims.empty()) return;
  const auto axis = random_axis(x.dims);
  if (!x.dims[axis].constant || *x.dims[axis].constant < 1) return;
  const auto extent = static_cast<double>(*x.dims[axis].constant);
  Dims dims = x.dims;
  dims[axis] = random_dim();
  if (elements(dims) > most_elements) return;
  define(fmt::format("gather({}, {}) axis={}", x.name,
                     input("i64", {dims[axis]}, uniform(-extent, extent - 1)), axis),
         dims);
}

WrittenDim GraphWriter::random_dim() {
  if (random_.chance(0.5)) return {random_.pick(symbols()), largest_size, std::nullopt};
  static constexpr std::int64_t sizes[] = {1, 2, 3, 4, 8, 17, 24, 33};
  return constant(random_.pick(sizes));
}

std::string GraphWriter::input(const std::string& dtype, const Dims& dims, Fill how) {
  const auto name = fmt::format("i{}", inputs_++);
  parameters_ +=
      fmt::format("{}{}: {}{}", parameters_.empty() ? "" : ", ", name, dtype, shape_text(dims));
  fills_.push_back(how);
  return name;
}

GraphWriter::Dims GraphWriter::broadcastable(const Dims& dims) {
  Dims result = dims;
  for (auto& dim : result) {
    if (random_.chance(0.25)) dim = constant(1);
  }
  while (!result.empty() && random_.chance(0.2)) result.erase(result.begin());
  return result;
}

void GraphWriter::define(const std::string& expression, Dims dims) {
  const auto name = fmt::format("v{}", values_.size());
  statements_ += fmt::format("{} = {}\n  ", name, expression);
  values_.push_back({name, std::move(dims)});
}

std::size_t GraphWriter::random_axis(const Dims& dims) {
  return static_cast<std::size_t>(random_.integer(0, static_cast<std::int64_t>(dims.size()) - 1));
}

}  // namespace dyn::testing
