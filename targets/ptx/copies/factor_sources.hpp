#pragma once
// Factors of a contraction that are computed where their tiles are loaded (prologues): what they
// are computed from.

#include <cstdint>
#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

/// Elements of a factor that a thread computes together: neighbours along the factor's columns, as
/// the tile in shared memory has them.
inline constexpr int factor_group = 4;

/// A factor of a problem's contraction. Rows and columns are those of its tile in shared memory.
struct ComputedFactor {
  const rkernel::Problem* problem;
  int root;  ///< the expression of an element; -1: the factor is copied as it lies
  int row_axis, column_axis;

  bool is_computed() const { return root >= 0; }
};
/// Rows along m, columns along k.
ComputedFactor left_factor(const rkernel::Problem& problem);
/// Rows along k, columns along n.
ComputedFactor right_factor(const rkernel::Problem& problem);

/// True where an expression only loads a factor. Widening is a part of every load: such a factor is
/// copied as it lies, as in with_plain_factors().
bool has_plain_factor(const rkernel::Problem& problem);
rkernel::Problem with_plain_factors(rkernel::Problem problem);

/// An operand that the factor is computed from, and how it varies over the factor.
struct FactorSource {
  int operand;
  std::vector<int> loads;  ///< expressions
  bool along_rows, along_columns;

  bool is_dense() const { return along_rows && along_columns; }
};
std::vector<FactorSource> sources_of(const ComputedFactor& factor);

/// True where the source's rows begin with whole groups, whose elements are neighbours, for these
/// values of the problem's slots.
bool groups_now(const ComputedFactor& factor, const FactorSource& source,
                const codegen::SlotTable& slots, std::span<const std::int64_t> ints);

/// Bytes of memory that an element of the factor stands for: those of operands that vary along both
/// of its axes.
double bytes_of_element(const ComputedFactor& factor);

/// Instructions for an element. `aligned`: its group is loaded as vectors.
double operations_of_element(const ComputedFactor& factor, bool aligned);

/// A tile of a factor, and the threads that compute it.
struct FactorTile {
  int rows, columns, threads;

  int groups_in_row() const { return columns / factor_group; }
  int groups() const { return rows * groups_in_row(); }
  int groups_of_thread() const { return (groups() + threads - 1) / threads; }
  /// All groups of a thread lie in one column of groups.
  bool has_fixed_columns() const { return threads % groups_in_row() == 0; }
};
/// Registers of a thread for what it has loaded of a tile and not computed yet, and for the places
/// of all that it loads.
int registers_of(const ComputedFactor& factor, const FactorTile& tile);

/// Whether each expression is a part of what the contraction's epilogue computes.
std::vector<bool> epilogue_exprs(const rkernel::Problem& problem);
/// The same for operands: those that it loads, and those that it stores.
std::vector<bool> epilogue_operands(const rkernel::Problem& problem);

}  // namespace dyn::ptx
