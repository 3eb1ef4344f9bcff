#pragma once
// Decision trees in the form in which they are walked.

#include <cstdint>
#include <memory>
#include <span>

namespace dyn::host {

/// The operands of tree_ensemble, as its documentation describes them.
template <class T>
struct Trees {
  std::span<const std::int32_t> roots, features;
  std::span<const T> thresholds;
  std::span<const std::int32_t> children;  ///< two of each node
  std::span<const std::int32_t> targets;
  std::span<const T> weights;
  std::int64_t results;
};

enum class Aggregate : std::uint8_t { Sum, Min, Max };

/// Immutable; thread-safe.
template <class T>
class Forest {
 public:
  virtual ~Forest() = default;
  /// The columns that x has at least.
  virtual std::int64_t least_columns() const = 0;
  /// x: [rows, columns], results: [rows, results of Trees], both dense.
  virtual void run(const T* x, std::int64_t rows, std::int64_t columns, T* results) const = 0;
};

/// nullptr where the trees are not as the operator's documentation asks. T is float or double.
template <class T>
std::unique_ptr<const Forest<T>> make_forest(const Trees<T>& trees, Aggregate aggregate);

}  // namespace dyn::host
