#pragma once
// What a contraction's epilogue costs, from its problem alone.

#include "src/rkernel/problem/problem.hpp"

namespace dyn::ptx {

/// For each sum, of which an output has as many as there are right sides.
struct EpilogueFigures {
  double operations = 0;  ///< instructions
  double bytes = 0;       ///< read and written
};
EpilogueFigures epilogue_figures(const rkernel::Problem& problem);

}  // namespace dyn::ptx
