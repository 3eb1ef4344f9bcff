#pragma once
// The cost model: one recursive function over layers, and what a contraction's strategy means for
// its terms.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "dyn/dtype.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/cost/machine.hpp"
#include "src/rkernel/problem/factors.hpp"
#include "src/rkernel/tree/strategy.hpp"

namespace dyn::choice {

/// The terms of one layer above layer 0, in seconds and trip counts (Vortex, equations 2 to 4).
struct LayerTerms {
  const char* name = "";
  double parallel_trips = 1;  ///< of the layer's parallel loops
  double units = 1;
  double spatial_trips = 1;    ///< n_ts: serial iterations that make other outputs
  double reduction_trips = 1;  ///< n_tr: serial iterations that add to the same outputs
  double load = 0;             ///< T_load of one iteration
  double store = 0;            ///< T_store of one spatial iteration
  double fixed = 0;            ///< once for each parallel trip: moves into scratch, taking a ticket
  double exposed =
      0;  ///< share of the shorter of load and work below that the longer one does not hide
};

/// Cost(L) = F_parallel(L) * T_temporal(L) from the layer below (Vortex, equations 2 to 4, with one
/// store for each spatial iteration): T_temporal = n_ts * (T_load + (n_tr - 1) * max(T_load, below)
/// + below + T_store) with n_tr > 0, else n_ts * T_store; F_parallel = ceil(parallel trips /
/// units). On a machine that prefetches, the load of a spatial iteration overlaps the one before it
/// too: `overlapped` counts n_ts * n_tr iterations in one pipeline. With `exposed` above 0, dyn's
/// own correction, max(T_load, below) grows by exposed * min(T_load, below): nothing overlaps
/// without loss.
double layer_cost(const LayerTerms& terms, double below, bool overlapped);

/// The rows of a tensor, with their padding, in which windows lie (lie_in_strips).
struct WindowStrips {
  std::int64_t row_elements = 0;    ///< 0: windows are not read so
  std::int64_t windows = 1;         ///< along such a row
  std::int64_t step = 0, taps = 0;  ///< rows from one row of windows to the next, and rows that one
                                    ///< row of windows lies in
  bool operator==(const WindowStrips&) const = default;

  /// At most, of a strip for so many windows one after the other.
  std::int64_t most_rows(std::int64_t count) const {
    const std::int64_t steps = count < 2 ? 0 : (count - 2) / windows + 1;
    return steps * std::max(step, taps) + taps;
  }
};

/// Sizes and surroundings of one contraction.
struct ContractionShape {
  rkernel::LaneAxis lanes = rkernel::LaneAxis::N;  ///< with M, a and b, m and n are those of a
                                                   ///< problem whose sides have changed places
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  DType a_dtype = DType::f32, b_dtype = DType::f32;  ///< in memory; computing is in f32
  rkernel::Group group = rkernel::Group::None;       ///< then k counts groups, and both dtypes are
                                                     ///< as wide as one
  rkernel::Coding coding = {};                       ///< of b in blocks
  bool b_packed =
      true;  ///< constant, packed at load; else packed by each ticket, or read as it lies
  bool must_pack_b = false;      ///< a fresh B whose stride along n is not 1
  std::int64_t b_row_bytes = 0;  ///< distance of a fresh B's rows
  bool must_copy_a = false;      ///< A's stride along k is not 1, or rows are no whole groups
  std::int64_t a_row_bytes = 0;  ///< distance of A's rows, for the risk that they share cache sets
  bool a_slides = false;         ///< A's rows are windows of a tensor, and copied run by run
  float a_distinct = 1;  ///< of their elements, the share that a copy reads for the first time; the
                         ///< others are near by then
  int a_runs = 0;        ///< of one row
  WindowStrips a_strips = {};  ///< where its windows may be read so
  /// Vector instructions for one vector of a factor that is computed where it is moved.
  float a_operations = 0, b_operations = 0;
  int right_sides = 1;             ///< packed ones, each with sums of its own for every output
  double epilogue_operations = 1;  ///< vector instructions for one vector of outputs
  int inlined_rows =
      0;  ///< of the full tiles of one panel, over all of K, whose epilogue is inlined; 0: none is
  double epilogue_bytes = 8;      ///< read and written for each output element
  std::int64_t fixed_slices = 0;  ///< of K; 0: as many as pay
  bool may_dot_rest = false;      ///< code exists for Strategy::dot_rest
  bool rest_as_rows = false;  ///< B's columns beyond the last whole vector are packed as rows: dots
                              ///< compute them over a whole slice of K, whatever the strategy
  /// Level of memory where each operand is expected when the kernel starts.
  std::size_t a_level = 0, b_level = 0;

  rkernel::Factors factors() const {
    if (coding) return rkernel::Factors(coding, group);
    return group == rkernel::Group::None ? rkernel::Factors(b_dtype) : rkernel::Factors(group);
  }
  /// A step of K reads so many of one column of packed b, and of the other right sides.
  double b_element_bytes() const { return factors().step_bytes() * right_sides; }
  /// Steps of K of the largest of so many slices: slices of codes begin with a block.
  std::int64_t slice_of_k(std::int64_t slices) const {
    if (!coding) return ceil_div(k, slices);
    const std::int64_t block = factors().block_steps();
    return std::min(k, ceil_div(ceil_div(k, block), slices) * block);
  }
};

/// Whether the row tiles of a block ask for the panel that comes next, which has so many bytes.
/// From memory it comes in time only so. From L3 hardware brings it in time, and two panels that
/// take more than half of L2 push each other out (docs/calibration.md has the measurements).
inline bool asks_ahead(const Machine& machine, const ContractionShape& shape,
                       std::int64_t panel_bytes) {
  return shape.b_level + 1 == machine.levels.size() || machine.level_of(4 * panel_bytes) <= 1;
}

struct CostBreakdown {
  double register_tile = 0;        ///< layer 0: one full tile over block_k
  std::vector<LayerTerms> layers;  ///< nearest first
  std::vector<double> costs;       ///< of each layer
  std::int64_t tickets = 0;
  double seconds = 0;
};

/// Predicted time of `strategy` on `threads` threads. `breakdown`, where given, receives every
/// term.
double contraction_cost(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, int threads,
                        CostBreakdown* breakdown = nullptr);

struct BlockSizes;
/// The same where its sizes are known (src/choice/cost/block_sizes.hpp). For a strategy that takes
/// `enough` or longer it may give less than the whole, but no less than `enough`.
double contraction_cost(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, const BlockSizes& sizes, int threads,
                        CostBreakdown* breakdown = nullptr,
                        double enough = std::numeric_limits<double>::infinity());

/// No strategy with the tiles and blocks along M and N of `strategy`, whose one block and slice has
/// all of K, costs less on `threads` threads, whatever its blocks and slices of K and its moves:
/// what does not depend on these, and what the best moves cost. Where a simpler bound reaches
/// `enough`, that one.
double least_cost(const Machine& machine, const ContractionShape& shape,
                  const rkernel::Strategy& strategy, const BlockSizes& sizes, int threads,
                  double enough = std::numeric_limits<double>::infinity());

/// Calls `visit` with every way to read the operands that there is: as they lie, or moved into
/// scratch.
template <typename Visit>
void for_each_form(const ContractionShape& shape, rkernel::Strategy strategy, const Visit& visit) {
  for (const bool direct_b : {false, true}) {
    if (direct_b && (shape.b_packed || shape.must_pack_b || shape.lanes == rkernel::LaneAxis::K))
      continue;
    for (const bool copy_a : {false, true}) {
      if (!copy_a && shape.must_copy_a) continue;
      strategy.copy_a = copy_a;
      strategy.direct_b = direct_b;
      visit(strategy);
    }
  }
}

/// As many rows of A as the nearest cache has ways: so many stay in it where all of them fall into
/// one set. B's stream beside them was not seen to evict them.
std::int64_t rows_without_conflicts(const Machine& machine);

/// Whether copying A into scratch can make anything faster: its rows, as they lie, share cache
/// sets.
bool copies_may_pay(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy);

std::string to_string(const CostBreakdown& breakdown);

/// What the tickets of one region cost where `active` threads share the machine: seconds of one,
/// its taking included, and how many there are.
struct TicketCost {
  double seconds = 0;
  std::int64_t tickets = 0;
};
TicketCost ticket_cost(const Machine& machine, const ContractionShape& shape,
                       const rkernel::Region& region, int active);

}  // namespace dyn::choice
