#pragma once
// What the code of a contraction is specialised on: which way round it is computed, and the strides that decide instructions.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "src/rkernel/problem.hpp"
#include "targets/cpu/isa.hpp"
#include "targets/llvm/slots.hpp"

namespace dyn::cpu {

/// What the generated code is specialised on, besides the structure of the problem.
struct ContractionClass {
  std::vector<codegen::StrideClass> lanes;  ///< of each operand along the problem's lane axis
  bool a_unit = false;  ///< A's stride along k is 1; else A is always copied
  bool b_unit = false;  ///< B's stride along n is 1 (fresh B only)
};

/// One way round of a contraction: the problem as it came, or with its sides exchanged, so that lanes run along m and tiles cover few
/// columns. The epilogue's lanes run along the lane axis either way.
struct ContractionForm {
  rkernel::Problem problem;
  std::vector<ContractionClass> classes;  ///< one for each value that an undecided predicate may have
  double epilogue_operations = 0;         ///< vector instructions for one vector of outputs
  double epilogue_bytes = 0;              ///< read and written for each output element
};

ContractionForm contraction_form(const rkernel::Problem& problem);

/// The problem with a and b, m and n exchanged, where the ISA has more lanes than the output may have columns: full vectors then go along
/// rows (the right side stays as its form says).
std::optional<rkernel::Problem> with_sides_exchanged(const rkernel::Problem& problem, const Isa& isa);
bool has_sides_exchanged(const rkernel::Problem& problem);
/// Whether an output of so many columns is computed with its sides exchanged at all.
bool is_thin(const Isa& isa, std::int64_t columns);

/// The class of these slots' values.
std::size_t class_for(const ContractionForm& form, const codegen::SlotTable& slots, std::span<const std::int64_t> ints);

}  // namespace dyn::cpu
