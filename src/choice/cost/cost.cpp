#include "src/choice/cost/cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/bytes.hpp"
#include "src/choice/cost/block_sizes.hpp"
#include "src/choice/cost/copy_cost.hpp"
#include "src/choice/cost/rest_columns.hpp"
#include "src/choice/cost/tile_cost.hpp"

namespace dyn::choice {
namespace {

constexpr double rounding = 1e-12;  ///< of sums and products in another order

// Moves of one ticket, for each block of K; `any_depth`: or less, for some blocks of K that are not
// as deep.
double move_seconds(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy, const BlockSizes& sizes, int active,
                    bool any_depth = false) {
  double seconds = 0;
  if (strategy.copy_a && shape.a_slides) {
    seconds += window_copy_seconds(machine, shape, strategy, sizes, active, any_depth);
  } else if (strategy.copy_a) {
    seconds += block_move_seconds(machine, sizes.block_m * sizes.block_k, shape.a_dtype,
                                  shape.a_level, false, active) +
               computing_seconds(machine, sizes.block_m * sizes.block_k, shape.a_operations);
  }
  if (strategy.lanes == rkernel::LaneAxis::K) {
    seconds += static_cast<double>(shape.n) * sizes.block_k * machine.seconds_per_vector_operation;
  } else if (!shape.b_packed && !strategy.direct_b) {
    seconds += block_move_seconds(machine, sizes.block_n * sizes.block_k, DType::f32, shape.b_level,
                                  true, active) +
               computing_seconds(machine, sizes.block_n * sizes.block_k, shape.b_operations);
  }
  if (strategy.dot_rest && !shape.rest_as_rows)
    seconds += of_last_columns(sizes, sizes.block_k * rest_move_seconds(machine, shape));
  if (strategy.direct_b && shape.n % machine.panel != 0)
    seconds += of_last_columns(sizes, sizes.block_k * machine.fitted.seconds_per_cut_row);
  return seconds;
}

// The second stage of a split K: every slice's sums are written, then read by all threads, and the
// epilogue runs.
double merge_seconds(const Machine& machine, const ContractionShape& shape, const BlockSizes& sizes,
                     int threads) {
  if (sizes.slices == 1) return 0;
  const double outputs =
      static_cast<double>(shape.batch * shape.m) * sizes.block_n * sizes.n_blocks;
  const double bytes = outputs * sizes.slices * float_bytes;
  const std::size_t level =
      std::max<std::size_t>(1, machine.level_of(static_cast<std::int64_t>(bytes)));
  const double operations = outputs * (sizes.slices + shape.epilogue_operations) /
                            machine.vector_width * machine.seconds_per_vector_operation;
  const int active =
      static_cast<int>(std::clamp<double>(static_cast<double>(shape.batch * shape.m), 1, threads));
  const double work = 2 * machine.seconds_per_ticket +
                      (operations + 2 * read_seconds(machine, bytes, level, active)) / active;
  if (threads == 1) return work;
  // The end of the first stage is seen, the second is announced, and its end is seen; lines that
  // other threads wrote come as flags do, several at once.
  const double handover = machine.seconds_per_wakeup / machine.fitted.handovers_per_wakeup;
  return work + machine.fitted.stage_handovers * handover +
         bytes / line_bytes * handover / machine.fitted.lines_in_flight;
}

}  // namespace

double layer_cost(const LayerTerms& terms, double below, bool overlapped) {
  const double step = std::max(terms.load, below) + terms.exposed * std::min(terms.load, below);
  double temporal;
  if (terms.reduction_trips <= 0) {
    temporal = terms.spatial_trips * terms.store;
  } else if (overlapped) {
    const double iterations = terms.spatial_trips * terms.reduction_trips;
    temporal = terms.load + (iterations - 1) * step + below + terms.spatial_trips * terms.store;
  } else {
    temporal = terms.spatial_trips *
               (terms.load + (terms.reduction_trips - 1) * step + below + terms.store);
  }
  return std::ceil(terms.parallel_trips / terms.units) * (terms.fixed + temporal);
}

namespace {

struct TicketTerms {
  double register_tile;
  LayerTerms l1, l2;
  double l1_cost, l2_cost;
};

// The time of a block's tiles. `terms` comes with the loads of whole tiles and leaves with those of
// steps: lines arrive one by one while a tile runs, and a step of the pipeline is a line of each
// row of A.
double tiles_seconds(LayerTerms& terms, double register_tile, double block_k) {
  terms.reduction_trips = std::max(1.0, block_k * float_bytes / line_bytes);
  terms.load /= terms.reduction_trips;
  return layer_cost(terms, register_tile / terms.reduction_trips, true);
}

TicketTerms ticket_terms(const Machine& machine, const ContractionShape& shape,
                         const rkernel::Strategy& strategy, const BlockSizes& sizes, double moves,
                         int active) {
  TicketTerms terms;
  terms.register_tile = sizes.block_k * sizes.seconds_per_k +
                        call_seconds(machine, shape, strategy, sizes) +
                        conflict_seconds(machine, shape, strategy, sizes, active);
  if (has_dots(shape, strategy)) terms.register_tile += mean_rest_seconds(machine, shape, sizes);
  terms.l1 = tile_terms(machine, shape, strategy, sizes, terms.register_tile, active);
  terms.l2 = {.name = "L2"};
  terms.l2.reduction_trips = sizes.k_blocks;
  terms.l2.load = moves;
  terms.l1_cost = tiles_seconds(terms.l1, terms.register_tile, sizes.block_k);
  // Moves do not overlap with the tiles that wait for them.
  terms.l2_cost = sizes.k_blocks * (terms.l2.load + terms.l1_cost);
  return terms;
}

double tickets_of(const ContractionShape& shape, const BlockSizes& sizes) {
  return static_cast<double>(shape.batch) * sizes.m_blocks * sizes.n_blocks * sizes.slices;
}

// Blocks of whole panels take longer than the mean of all blocks. Where there are few of them, the
// thread that has most of them is done last.
BlockSizes of_last_thread(const BlockSizes& sizes, double tickets, int threads) {
  BlockSizes last = sizes;
  const double whole = tickets * (1 - 1 / sizes.n_blocks);
  last.seconds_per_k =
      std::max(sizes.seconds_per_k, sizes.whole_seconds_per_k * std::ceil(whole / threads) /
                                        std::ceil(tickets / threads));
  return last;
}

}  // namespace

double contraction_cost(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, const BlockSizes& mean_sizes,
                        int threads, CostBreakdown* breakdown, double enough) {
  LayerTerms top{.name = "threads"};
  top.parallel_trips = tickets_of(shape, mean_sizes);
  const BlockSizes sizes = of_last_thread(mean_sizes, top.parallel_trips, threads);
  top.units = threads;
  top.fixed = machine.seconds_per_ticket;
  const int active =
      static_cast<int>(std::clamp(top.parallel_trips, 1.0, static_cast<double>(threads)));
  const double moves = move_seconds(machine, shape, strategy, sizes, active);
  // Moves and multiply-adds are known before anything else; dots may spare some of these.
  const double least = layer_cost(
      top,
      sizes.k_blocks *
          (moves + sizes.row_tiles * sizes.column_tiles * sizes.block_k * sizes.seconds_per_k),
      false);
  if (!has_dots(shape, strategy) && least * (1 - rounding) >= enough) return least;
  const TicketTerms ticket = ticket_terms(machine, shape, strategy, sizes, moves, active);
  const double seconds =
      layer_cost(top, ticket.l2_cost, false) + merge_seconds(machine, shape, sizes, threads);
  if (breakdown != nullptr) {
    *breakdown = {ticket.register_tile,
                  {ticket.l1, ticket.l2, top},
                  {ticket.l1_cost, ticket.l2_cost, seconds},
                  static_cast<std::int64_t>(top.parallel_trips),
                  seconds};
  }
  return seconds;
}

double contraction_cost(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, int threads, CostBreakdown* breakdown) {
  return contraction_cost(machine, shape, strategy, BlockSizer(machine, shape).of(strategy),
                          threads, breakdown);
}

namespace {

// No ticket costs less whose K is cut in blocks and whose operands are moved in the best way: with
// equal terms, blocks of K cost together what one of all K costs. What is left out depends on their
// depth: the level of A and of the panel that is read again, more calls and sums in scratch.
double least_ticket(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy, const BlockSizes& sizes, double spared,
                    int active) {
  LayerTerms terms{
      .exposed = std::min(machine.fitted.exposed_loads, machine.fitted.exposed_loads_beyond_l2)};
  const double rows = sizes.block_m / sizes.row_tiles;
  const double columns = tile_columns(shape, sizes);
  terms.spatial_trips = sizes.row_tiles * sizes.column_tiles;
  const double outputs = rows * std::min(columns, static_cast<double>(shape.n));
  const double below =
      sizes.block_k * sizes.seconds_per_k + call_seconds(machine, shape, strategy, sizes);
  const auto b_element_bytes = shape.b_element_bytes();
  const double b_bytes = columns * sizes.block_k * b_element_bytes;
  const std::size_t again_level = machine.level_of(static_cast<std::int64_t>(
      2 * sizes.block_n * static_cast<double>(shape.k) * b_element_bytes));
  const double again = read_seconds(machine, b_bytes, again_level, active);
  double best = std::numeric_limits<double>::infinity();
  for_each_form(shape, strategy, [&](const rkernel::Strategy& form) {
    if (form.copy_a && !copies_may_pay(machine, shape, form)) return;
    const double first = shape.b_packed || form.direct_b
                             ? read_seconds(machine, b_bytes, shape.b_level, active)
                             : again;
    terms.load = (first / sizes.m_blocks + again * (1 - 1 / sizes.m_blocks)) / sizes.row_tiles;
    const double tile = below + conflict_seconds(machine, shape, form, sizes, active);
    terms.store = store_seconds(machine, shape, sizes, rows, outputs, tile, active);
    best = std::min(best, move_seconds(machine, shape, form, sizes, active, true) +
                              tiles_seconds(terms, tile - spared, sizes.block_k));
  });
  return machine.seconds_per_ticket + best;
}

}  // namespace

double least_cost(const Machine& machine, const ContractionShape& shape,
                  const rkernel::Strategy& strategy, const BlockSizes& sizes, int threads,
                  double enough) {
  const double blocks = static_cast<double>(shape.batch) * sizes.m_blocks * sizes.n_blocks;
  // Blocks in several slices of K: these may make up for blocks that are fewer than the threads,
  // and where their number is fixed for a last round that is not full.
  const bool slices = blocks < threads || shape.fixed_slices > 1;
  // What copies B's few columns for lanes along K is not priced by where B is.
  const bool reads_b = shape.lanes != rkernel::LaneAxis::K || shape.b_packed;
  const double b_bytes =
      reads_b ? static_cast<double>(shape.batch * shape.n * shape.k) * shape.b_element_bytes() : 0;
  const double spared = spared_by_rest(machine, shape, sizes);
  const double multiply_adds = (static_cast<double>(shape.k) * sizes.seconds_per_k - spared) *
                               sizes.row_tiles * sizes.column_tiles;
  const double rounds = slices ? blocks / threads : std::ceil(blocks / threads);
  const double least = std::max(rounds * multiply_adds,
                                read_seconds(machine, b_bytes / threads, shape.b_level, threads));
  if (slices || least >= enough) return least;
  return std::max(least, rounds * least_ticket(machine, shape, strategy, sizes, spared, threads) *
                             (1 - rounding));
}

std::int64_t rows_without_conflicts(const Machine& machine) {
  return std::max<std::int64_t>(1, machine.levels[0].bytes / l1_way_bytes);
}

bool copies_may_pay(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy) {
  return shape.must_copy_a || conflict_factor(machine, shape, strategy.tile_rows) > 1;
}

TicketCost ticket_cost(const Machine& machine, const ContractionShape& shape,
                       const rkernel::Region& region, int active) {
  ContractionShape part = shape;
  part.m = region.m;
  part.n = region.n;
  const BlockSizes sizes = BlockSizer(machine, part).of(region.strategy);
  const double moves = move_seconds(machine, part, region.strategy, sizes, active);
  return {ticket_terms(machine, part, region.strategy, sizes, moves, active).l2_cost +
              machine.seconds_per_ticket,
          region.m > 0 && region.n > 0 ? static_cast<std::int64_t>(tickets_of(part, sizes)) : 0};
}

}  // namespace dyn::choice
