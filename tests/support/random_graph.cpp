#include "tests/support/random_graph.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace dyn::testing {
namespace {

using Dims = std::vector<std::string>;

struct Tensor {
  std::string name;
  Dims dims;
};

class Writer {
 public:
  explicit Writer(std::mt19937_64& random) : random_(random) {
    tensors_ = {{"x", {"A", "B", "6"}},
                {"y", {"A", "B", "6"}},
                {"u", {"B", "6"}},
                {"v", {"6"}},
                {"m", {"A", "1", "B"}}};
  }

  std::string write(int steps) {
    while (steps > 0) steps -= step();
    std::string results, types;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const bool last = i + 1 == tensors_.size();
      if (!last && (i < 5 ? pick(12) != 0 : pick(4) != 0)) continue;
      results += (results.empty() ? "" : ", ") + tensors_[i].name;
      types += fmt::format("{}r{}: f32{}", types.empty() ? "" : ", ", i, list(tensors_[i].dims));
    }
    return fmt::format(
        "dyn 1\ndim A in 0..100\ndim B in 0..100\n"
        "graph g(x: f32[A, B, 6], y: f32[A, B, 6], u: f32[B, 6], v: f32[6], m: f32[A, 1, B], ids: "
        "i64[A]) -> ({}) {{\n"
        "{}  return {}\n}}\n",
        types, body_, results);
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  const Tensor& any() {
    // Recent ones more often, so that chains grow.
    const int count = static_cast<int>(tensors_.size());
    return tensors_[static_cast<std::size_t>(pick(2) ? count - 1 - pick(std::min(count, 4))
                                                     : pick(count))];
  }
  static std::string list(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

  int add(Dims dims, const std::string& expression) {
    const std::string name = fmt::format("t{}", tensors_.size());
    body_ += fmt::format("  {} = {}\n", name, expression);
    tensors_.push_back({name, std::move(dims)});
    return 1;
  }

  int step() {
    using Step = int (Writer::*)();
    static constexpr Step steps[] = {
        &Writer::unary,   &Writer::unary,  &Writer::binary,    &Writer::binary,
        &Writer::binary,  &Writer::choose, &Writer::normalise, &Writer::reduce,
        &Writer::matmul,  &Writer::matmul, &Writer::transpose, &Writer::reshape,
        &Writer::reshape, &Writer::slice,  &Writer::concat,    &Writer::pad,
        &Writer::windows, &Writer::pool,   &Writer::conv,      &Writer::expand,
        &Writer::gather,  &Writer::range,  &Writer::attention, &Writer::integers,
        &Writer::doubles};
    return (this->*steps[static_cast<std::size_t>(pick(static_cast<int>(std::size(steps))))])();
  }

  int unary() {
    static constexpr const char* ops[] = {"relu", "tanh", "neg", "sigmoid", "gelu",
                                          "silu", "abs",  "sin", "erf"};
    const Tensor t = any();
    return add(t.dims, fmt::format("{}({})", ops[pick(9)], t.name));
  }

  /// True where `small` broadcasts to `large` without changing it.
  static bool fits(const Dims& small, const Dims& large) {
    return small.size() <= large.size() &&
           std::equal(small.rbegin(), small.rend(), large.rbegin(),
                      [](const auto& a, const auto& b) { return a == b || a == "1"; });
  }

  int binary() {
    static constexpr const char* ops[] = {"add", "sub", "mul", "maximum"};
    const Tensor a = any(), b = any();
    if (!fits(b.dims, a.dims))
      return pick(4) ? 0 : add(a.dims, fmt::format("{} * 0.5 + 1.0", a.name));
    return pick(2) ? add(a.dims, fmt::format("{}({}, {})", ops[pick(4)], a.name, b.name))
                   : add(a.dims, fmt::format("{}({}, {})", ops[pick(4)], b.name, a.name));
  }

  int choose() {
    const Tensor a = any(), b = any();
    if (!fits(b.dims, a.dims)) return 0;
    // Continuous operators, or rounding would decide.
    return add(a.dims,
               fmt::format("where(greater({0}, {1}), {0} - {1}, {1} - {0})", a.name, b.name));
  }

  int normalise() {
    const Tensor t = any();
    if (t.dims.empty()) return 0;
    const int rank = static_cast<int>(t.dims.size());
    if (t.dims.back() == "6" && pick(2))
      return add(t.dims, fmt::format("layer_norm({}, gain: f32[6], shift: f32[6])", t.name));
    return add(t.dims, fmt::format("softmax({}) axis={}", t.name, pick(rank)));
  }

  int reduce() {
    static constexpr const char* ops[] = {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min"};
    const Tensor t = any();
    Dims dims;
    std::string axes;
    const bool keep = pick(2);
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
      const bool reduced = pick(2);
      if (reduced) axes += (axes.empty() ? "" : ", ") + std::to_string(i);
      if (!reduced) dims.push_back(t.dims[i]);
      if (reduced && keep) dims.push_back("1");
    }
    if (axes.empty()) return 0;
    return add(dims, fmt::format("{}({}) axes=[{}] keepdims={}", ops[pick(4)], t.name, axes, keep));
  }

  int matmul() {
    const Tensor a = any(), b = any();
    if (a.dims.size() < 2) return 0;
    const bool left = pick(4) == 0;
    const std::string rows = a.dims[a.dims.size() - (left ? 1 : 2)],
                      inner = a.dims[a.dims.size() - (left ? 2 : 1)];
    Dims dims(a.dims.begin(), a.dims.end() - 2);
    dims.push_back(rows);
    if (inner == "6" && pick(2)) {
      dims.push_back("5");
      return add(dims, fmt::format("matmul({}, weight: f32[6, 5]) transpose_a={}", a.name, left));
    }
    if (b.dims.size() < 2) return 0;
    for (const bool right : {true, false}) {
      if (b.dims[b.dims.size() - (right ? 1 : 2)] != inner) continue;
      if (!fits({b.dims.begin(), b.dims.end() - 2}, {a.dims.begin(), a.dims.end() - 2})) continue;
      dims.push_back(b.dims[b.dims.size() - (right ? 2 : 1)]);
      return add(dims, fmt::format("matmul({}, {}) transpose_a={} transpose_b={}", a.name, b.name,
                                   left, right));
    }
    return 0;
  }

  int transpose() {
    const Tensor t = any();
    if (t.dims.size() < 2) return 0;
    std::vector<std::size_t> perm(t.dims.size());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = i;
    std::ranges::shuffle(perm, random_);
    Dims dims;
    for (const std::size_t axis : perm) dims.push_back(t.dims[axis]);
    return add(dims, fmt::format("transpose({}) perm=[{}]", t.name, fmt::join(perm, ", ")));
  }

  /// Merges two axes, splits a 6, or adds a 1.
  int reshape() {
    const Tensor t = any();
    if (t.dims.empty()) return 0;
    Dims dims = t.dims;
    const auto axis = static_cast<std::ptrdiff_t>(pick(static_cast<int>(dims.size())));
    auto at = dims.begin() + axis;
    if (*at == "6") {
      *at = "2";
      dims.insert(at + 1, "3");
    } else if (at + 1 != dims.end() && pick(3)) {
      *at = *at == "1" ? at[1] : at[1] == "1" ? *at : fmt::format("({} * {})", *at, at[1]);
      if (*at == "(2 * 3)") *at = "6";
      dims.erase(at + 1);
    } else {
      dims.insert(at, "1");
    }
    return add(dims, fmt::format("reshape({}) shape={}", t.name, list(dims)));
  }

  int slice() {
    const Tensor t = any();
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
      if (t.dims[i] == "6") {
        Dims dims = t.dims;
        dims[i] = "3";
        return pick(2)
                   ? add(dims, fmt::format("slice({}) axes=[{}] starts=[2] ends=[5]", t.name, i))
                   : add(dims, fmt::format("slice({}) axes=[{}] starts=[1] ends=[6] steps=[2]",
                                           t.name, i));
      }
    }
    if (t.dims.empty()) return 0;
    return add(t.dims, fmt::format("slice({}) axes=[{}] steps=[-1]", t.name,
                                   pick(static_cast<int>(t.dims.size()))));
  }

  int concat() {
    const Tensor a = any(), b = any();
    if (a.dims.empty() || a.dims.size() != b.dims.size()) return 0;
    const auto axis = static_cast<std::size_t>(pick(static_cast<int>(a.dims.size())));
    for (std::size_t i = 0; i < a.dims.size(); ++i) {
      if (i != axis && a.dims[i] != b.dims[i]) return 0;
    }
    Dims dims = a.dims;
    dims[axis] = fmt::format("({} + {})", a.dims[axis], b.dims[axis]);
    if (dims[axis] == "(3 + 3)") dims[axis] = "6";
    return add(dims, fmt::format("concat({}, {}) axis={}", a.name, b.name, axis));
  }

  int pad() {
    const Tensor t = any();
    Dims dims = t.dims;
    std::string before, after;
    for (std::string& dim : dims) {
      const int left = pick(2), right = pick(2);
      before += fmt::format("{}{}", before.empty() ? "" : ", ", left);
      after += fmt::format("{}{}", after.empty() ? "" : ", ", right);
      if (left + right > 0) dim = fmt::format("({} + {})", dim, left + right);
    }
    return add(dims,
               fmt::format("pad({}) before=[{}] after=[{}] value=0.25", t.name, before, after));
  }

  /// Windows of two along an axis: padding makes one fit, whatever the dim.
  int windows() {
    const Tensor t = any();
    if (t.dims.empty() || t.dims.size() > 5) return 0;
    Dims dims = t.dims;
    const auto axis = static_cast<std::size_t>(pick(static_cast<int>(dims.size())));
    const bool skips = pick(2) == 0;
    dims[axis] = skips ? fmt::format("(floordiv({}, 2) + 1)", dims[axis])
                       : fmt::format("({} + 1)", dims[axis]);
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, "2");
    return add(
        dims,
        fmt::format("windows({}) axes=[{}] sizes=[2] strides=[{}] before=[1] after=[1] value=0.5",
                    t.name, axis, skips ? 2 : 1));
  }

  int pool() {
    static constexpr const char* ops[] = {"max_pool", "average_pool"};
    const Tensor t = any();
    if (t.dims.size() < 2) return 0;
    Dims dims = t.dims;
    std::string& slid = dims[dims.size() - 2];
    slid = fmt::format("({} + 1)", slid);
    // All windows have an element of their own only where the dim is not 0.
    return add(dims, fmt::format("maximum({}({}) sizes=[2] before=[1] after=[1], -4.0)",
                                 ops[pick(2)], t.name));
  }

  int conv() {
    const Tensor t = any();
    if (t.dims.size() < 2 || t.dims.back() != "6") return 0;
    Dims dims = t.dims;
    if (dims.size() > 2 && pick(2)) {
      for (const std::size_t axis : {dims.size() - 3, dims.size() - 2})
        dims[axis] = fmt::format("({} + 2)", dims[axis]);
      dims.back() = "5";
      return add(dims, fmt::format("conv({}, filter: f32[2, 3, 6, 5]) before=[1, 2] after=[2, 2]",
                                   t.name));
    }
    dims[dims.size() - 2] = fmt::format("(floordiv({}, 2) + 1)", dims[dims.size() - 2]);
    const int groups = std::vector{1, 2, 6}[static_cast<std::size_t>(pick(3))];
    return add(
        dims,
        fmt::format(
            "conv({0}, filter{1}: f32[3, {2}, 6]) strides=[2] before=[1] after=[2] groups={1}",
            t.name, groups, 6 / groups));
  }

  int expand() {
    const Tensor t = any();
    Dims dims = t.dims;
    for (std::string& dim : dims) {
      if (dim == "1" && pick(2)) dim = pick(2) ? "B" : "4";
    }
    if (pick(3) == 0) dims.insert(dims.begin(), "2");
    return add(dims, fmt::format("expand({}) shape={}", t.name, list(dims)));
  }

  int gather() {
    const Tensor t = any();
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
      if (t.dims[i] != "6") continue;
      Dims dims = t.dims;
      dims[i] = "A";
      return add(dims, fmt::format("gather({}, ids) axis={}", t.name, i));
    }
    return 0;
  }

  int range() {
    const Tensor t = any();
    if (t.dims.empty()) return 0;
    return add(t.dims, fmt::format("{} + cast(range() start=1 end=(1 + {})) dtype=f32", t.name,
                                   t.dims.back()));
  }

  int attention() {
    const Tensor t = any();
    if (t.dims.size() < 2) return 0;
    return add(t.dims, fmt::format("attention({0}, {0}, {0}) causal={1}", t.name, pick(2) == 0));
  }

  /// Statements on indices, which are whole, so that no rounding decides.
  int integers() {
    struct Form {
      const char* expression;
      Dims dims;
    };
    static const Form forms[] = {
        {"{0} * 37 + 100", {"A"}},
        {"bit_xor({0}, 21)", {"A"}},
        {"shift_left({0}, 5)", {"A"}},
        {"shift_right(neg({0}), 2)", {"A"}},
        {"{0} / 3", {"A"}},
        {"mod(neg({0}), 4)", {"A"}},
        {"maximum(neg({0}), {0} * {0})", {"A"}},
        {"pow({0}, 3)", {"A"}},
        {"where(less(neg({0}), 1), {0}, bit_not({0}))", {"A"}},
        {"reduce_sum({0} * 50) axes=[0]", {"1"}},
        {"reduce_max(neg({0})) axes=[0]", {"1"}},
        {"matmul(reshape({0}) shape=[A, 1], reshape({0}) shape=[1, A])", {"A", "A"}}};
    static constexpr const char* dtypes[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
    const std::string name = fmt::format("n{}", tensors_.size());
    body_ += fmt::format("  {} = cast(ids) dtype={}\n", name, dtypes[pick(8)]);
    const Form& form = forms[pick(12)];
    return add(form.dims, fmt::format("tanh(cast({}) dtype=f32 * 0.01)",
                                      fmt::format(fmt::runtime(form.expression), name)));
  }

  int doubles() {
    static constexpr const char* forms[] = {"exp(neg(abs({})))", "sin({})", "tanh({}) * 0.5 + 1.0",
                                            "gelu({})", "sigmoid({})"};
    const Tensor t = any();
    const std::string wide = fmt::format("cast({}) dtype=f64", t.name);
    return add(t.dims,
               fmt::format("cast({}) dtype=f32", fmt::format(fmt::runtime(forms[pick(5)]), wide)));
  }

  std::mt19937_64& random_;
  std::vector<Tensor> tensors_;
  std::string body_;
};

}  // namespace

std::string random_graph(std::mt19937_64& random, int steps) { return Writer(random).write(steps); }

}  // namespace dyn::testing
