#pragma once
// What the code of a contraction is specialised on: which way round it is computed, and the strides
// that decide instructions.

#include <cstdint>
#include <span>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/tree/strategy.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::cpu {

/// What the generated code is specialised on, besides the structure of the problem.
struct ContractionClass {
  std::vector<codegen::StrideClass> lanes;  ///< each operand's along the problem's lane axis
  bool a_unit = false;                      ///< A's stride along k is 1; else A is always copied
  bool b_unit = false;                      ///< B's stride along n is 1 (fresh B only)
  bool dot = false;           ///< lanes run along K: B's few columns are copied as rows
  bool dot_rest = false;      ///< code exists for rkernel::Strategy::dot_rest
  bool rest_as_rows = false;  ///< rkernel::ContractionShape::rest_as_rows; without dot_rest
  bool may_have_dots() const { return dot_rest || rest_as_rows; }
  bool strips =
      false;  ///< full tiles read A's windows in strips of the tensor (rkernel::lie_in_strips)
  std::vector<Tile> full_tiles;  ///< those that run in a loop of their own: of a panel, of a
                                 ///< vector, both or none; equal rows
  bool sums_in_scratch = false;  ///< their epilogue has many instructions, and reads the sums from
                                 ///< scratch; else from registers
};

/// One way to compute a contraction: with lanes along n; along m, with the sides exchanged, so that
/// tiles cover few columns; or along K. The epilogue's lanes run along the problem's lane axis in
/// any of them.
struct ContractionForm {
  rkernel::Problem problem;
  rkernel::LaneAxis lanes = rkernel::LaneAxis::N;
  std::vector<ContractionClass>
      classes;                     ///< one for each value that an undecided predicate may have
  double epilogue_operations = 0;  ///< vector instructions for one vector of outputs
  double epilogue_bytes = 0;       ///< read and written for each output element
  double a_operations = 0, b_operations = 0;  ///< vector instructions for one vector of a factor
                                              ///< that is computed
  std::int64_t least_columns = 0, most_columns = 0;  ///< outputs that it may compute have so many
  int inlined_rows = 0;  ///< a full tile with an inlined epilogue has so many; 0: none has one
};

/// All forms that the output may need: the one with lanes along n first.
std::vector<ContractionForm> contraction_forms(const rkernel::Problem& problem,
                                               const codegen::Isa& isa);

/// Whether some of the output's columns may be dots beside vectors of columns
/// (rkernel::Strategy::dot_rest).
bool may_have_rest(const rkernel::Problem& problem, const codegen::Isa& isa);

/// Whether those columns are always dots, of a constant right side's rows
/// (rkernel::ContractionShape::rest_as_rows).
bool has_rest_as_rows(const rkernel::Problem& problem, const codegen::Isa& isa);

/// Whether the output may have few enough columns for lanes along K.
bool has_dot_form(const rkernel::Problem& problem, const codegen::Isa& isa);

/// Whether an operand, other than the two that are multiplied, varies along both axes of the
/// output.
bool is_dense(const rkernel::Problem& problem, int operand);

/// Whether a form may compute an output of so many columns.
inline bool covers(const ContractionForm& form, std::int64_t columns) {
  return columns >= form.least_columns && columns <= form.most_columns;
}

/// The class of these slots' values.
std::size_t class_for(const ContractionForm& form, const codegen::SlotTable& slots,
                      std::span<const std::int64_t> ints);

}  // namespace dyn::cpu
