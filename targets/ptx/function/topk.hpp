#pragma once
// topk as rows of elements, and its kernels.

#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/ptx/function/code.hpp"

namespace dyn::ptx {

/// A topk with its slots. Rows run along the axis; the other axes number them.
struct TopkProblem {
  explicit TopkProblem(const rkernel::HostCall& call);

  codegen::SlotTable slots;
  bool largest = true;
  DType dtype = DType::f32;
  std::vector<Digit> digits;  ///< of rows
  std::vector<graph::Dim> row_dims;
  FunctionPart x, values, places;                  ///< strides of the rows' axes
  int x_step = 0, value_step = 0, place_step = 0;  ///< slots: from one element of a row to the next
  int rows = 0, tickets = 0, extent = 0, count = 0;  ///< slots; count: of the results
};

/// Two ways. A warp has a row of up to 32 * elements in registers, and takes the first one out of
/// them `count` times. Or a block goes through a row and keeps what may be among the first
/// topk_entries / 2 in shared memory, as often as the row has such parts to give.
struct TopkForm {
  int elements = 1;  ///< of a thread at once
  bool by_warp = true;
};
inline constexpr TopkForm topk_forms[] = {{4, true}, {8, true}, {16, true}, {4, false}};

/// Of a row by a block: places for keys and indices in shared memory, a power of two.
inline constexpr int topk_entries = 1024;
/// Results of one way through a row.
inline constexpr int topk_results = topk_entries / 2;
inline constexpr int topk_warps = function_threads / 32;

/// Bits of what the order compares, 32 or 64.
int topk_key_bits(DType dtype);
int topk_shared_bytes(const TopkForm& form, DType dtype);

void emit_topk(llvm::Module& module, const std::string& symbol, const TopkProblem& problem,
               const TopkForm& form);

}  // namespace dyn::ptx
