#pragma once
// Symbolic sizes: expressions of dims that a model names and of integers.

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dyn/dtype.hpp"
#include "dyn/export.hpp"

namespace dyn {

namespace graph {
class Dim;
class DimTable;
struct DimNode;
}  // namespace graph

/// The values that a dim may have. `hint`: a usual one, a help for planning.
struct DimRange {
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  std::int64_t multiple = 1;  ///< all values are multiples of it
  std::optional<std::int64_t> hint = std::nullopt;
};

/// A size: an integer, or an expression of a model's dims, simplified as it is made. Dims of one
/// model go together; those of two are an Error(user). It keeps what it is made of alive. Not for
/// several threads at once, as all dims of a model share a table.
class DYN_API Dim {
 public:
  Dim() = default;
  /// A constant.
  template <std::integral Integer>
  Dim(Integer value)  // NOLINT(google-explicit-constructor)
      : value_(static_cast<std::int64_t>(value)) {}

  /// The value where it does not depend on any dim.
  std::optional<std::int64_t> constant() const;
  /// Bounds of all its values, both included; the ends of 64 bits: there is none.
  std::int64_t low() const;
  std::int64_t high() const;
  /// As the text writes it: "B * S + 1".
  std::string to_string() const;
  /// True where both are the same expression once they are simplified.
  bool operator==(const Dim& other) const;

  /// Inside dyn; not part of the stable API. The table is a model's, or nullptr for constants.
  DYN_INTERNAL Dim(std::shared_ptr<graph::DimTable> table, graph::Dim dim);
  /// The same size as a dim of this table. Throws Error(user) where it is one of another.
  DYN_INTERNAL graph::Dim in(const std::shared_ptr<graph::DimTable>& table) const;
  const std::shared_ptr<graph::DimTable>& table() const noexcept { return table_; }

 private:
  std::shared_ptr<graph::DimTable> table_;
  const graph::DimNode* node_ = nullptr;  ///< nullptr: the constant
  std::int64_t value_ = 0;
};

/// Each throws Error(user) for dims of two models, and Error(model) for an expression of more than
/// 2000 parts.
DYN_API Dim operator+(const Dim& a, const Dim& b);
DYN_API Dim operator-(const Dim& a, const Dim& b);
DYN_API Dim operator*(const Dim& a, const Dim& b);
/// floordiv rounds down, and mod has the sign of the divisor. Throw Error(user) for a constant
/// divisor below 1.
DYN_API Dim floordiv(const Dim& a, const Dim& b);
DYN_API Dim mod(const Dim& a, const Dim& b);
DYN_API Dim min(const Dim& a, const Dim& b);
DYN_API Dim max(const Dim& a, const Dim& b);

using Dims = std::vector<Dim>;

/// "[B, S, 768]"
DYN_API std::string to_string(const Dims& dims);

/// A tensor as shape functions see it: without elements.
struct TensorType {
  DType dtype = DType::f32;
  Dims dims = {};
  std::size_t rank() const noexcept { return dims.size(); }
};

}  // namespace dyn
