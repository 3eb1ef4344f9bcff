#include "src/choice/cost/cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/base/bytes.hpp"
#include "src/choice/cost/block_sizes.hpp"
#include "src/choice/cost/copy_cost.hpp"
#include "src/choice/cost/rest_columns.hpp"

namespace dyn::choice {
namespace {

constexpr std::int64_t l1_way_bytes = 4096;  ///< addresses this far apart share a cache set
constexpr double rounding = 1e-12;           ///< of sums and products in another order

// The greatest common divisor with `power`, a power of two: of the distance of rows, in how many
// places of a cache way or of a line they begin.
std::int64_t common_power(std::int64_t bytes, std::int64_t power) {
  return std::min(power, bytes & -bytes);
}

// The share of rows, so far apart, that begin within a line.
double share_within_lines(std::int64_t row_bytes) {
  return 1 - static_cast<double>(common_power(row_bytes, line_bytes)) / line_bytes;
}

// How much more often A is fetched where its rows fall into few cache sets.
double conflict_factor(const Machine& machine, const ContractionShape& shape, double rows) {
  // Lanes along K take a line whole.
  if (shape.a_row_bytes <= 0 || shape.lanes == rkernel::LaneAxis::K) return 1;
  const auto distinct =
      static_cast<double>(l1_way_bytes / common_power(shape.a_row_bytes, l1_way_bytes));
  const double rows_per_set = rows / std::min(distinct, rows);
  return rows_per_set > static_cast<double>(rows_without_conflicts(machine))
             ? machine.fitted.conflict_refetches
             : 1;
}

// Seconds to read `bytes` by one of `active` threads from a level; the nearest is part of layer 0's
// measurement.
double read_seconds(const Machine& machine, double bytes, std::size_t level, int active) {
  return level == 0 ? 0 : bytes / machine.bandwidth_per_thread(level, active);
}

// With lanes along K all columns are one tile.
double tile_columns(const ContractionShape& shape, const BlockSizes& sizes) {
  return shape.lanes == rkernel::LaneAxis::K ? static_cast<double>(shape.n)
                                             : sizes.block_n / std::max(1.0, sizes.column_tiles);
}

// What a tile waits for rows of A that were evicted.
double conflict_seconds(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, const BlockSizes& sizes, int active) {
  const double rows = sizes.block_m / sizes.row_tiles;
  const double again = strategy.copy_a ? 0 : conflict_factor(machine, shape, rows) - 1;
  return again > 0 ? machine.fitted.exposed_conflicts * again *
                         read_seconds(machine, rows * sizes.block_k * float_bytes, 1, active)
                   : 0;
}

// Whether the rows of B, read as they lie, evict each other from L1 before the next row tile comes.
bool shares_sets(const ContractionShape& shape, const rkernel::Strategy& strategy) {
  return strategy.direct_b && shape.b_row_bytes > 0 &&
         common_power(shape.b_row_bytes, l1_way_bytes) * 4 >= l1_way_bytes;
}

// Memory traffic of a tile's outputs. Rows that do not begin on a line have lines that two column
// tiles share. Unless a pass has only one row tile, such a line comes back when the next pass does:
// from L2, which multiply-adds of a tile hide as far as they last, or from further where the rows
// of a pass leave it.
double output_seconds(const Machine& machine, const ContractionShape& shape,
                      const BlockSizes& sizes, double rows, double outputs, double register_tile,
                      int active) {
  const double row_bytes = static_cast<double>(shape.n) * shape.epilogue_bytes;
  const auto all_bytes =
      static_cast<std::int64_t>(static_cast<double>(shape.batch * shape.m) * row_bytes);
  const std::size_t level = std::max<std::size_t>(1, machine.level_of(all_bytes));
  const double seconds = read_seconds(machine, outputs * shape.epilogue_bytes, level, active);
  const double rows_of_pass = sizes.n_blocks > 1 ? static_cast<double>(shape.m) : sizes.block_m;
  const double column_tiles = sizes.column_tiles * sizes.n_blocks;
  if (level == 1 || column_tiles == 1 || rows_of_pass <= rows) return seconds;
  // Rows that begin within a line share it with the tile on the left, where there is one.
  const double shared = share_within_lines(shape.n * float_bytes) * (1 - 1 / column_tiles);
  const double from_l2 =
      std::max(0.0, rows * machine.fitted.seconds_per_returning_line - register_tile);
  const bool leaves_l2 = machine.level_of(static_cast<std::int64_t>(rows_of_pass * row_bytes)) > 1;
  return seconds +
         shared * (from_l2 +
                   (leaves_l2 ? 2 * read_seconds(machine, rows * line_bytes, level, active) : 0));
}

// The time of one tile's call of its main loop.
double call_seconds(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy, const BlockSizes& sizes) {
  const bool inlines = sizes.k_blocks == 1 && sizes.slices == 1 &&
                       strategy.tile_columns == machine.panel &&
                       sizes.rows.first.tile == shape.inlined_rows;
  const double full = inlines ? static_cast<double>(sizes.rows.first.count) / sizes.row_tiles : 0;
  return machine.seconds_per_call * (1 - full + full * machine.fitted.inlined_share_of_call);
}

// The time of a tile's epilogue, and of its outputs' way to where they belong.
double store_seconds(const Machine& machine, const ContractionShape& shape, const BlockSizes& sizes,
                     double rows, double outputs, double register_tile, int active) {
  return outputs * shape.epilogue_operations / machine.vector_width *
             machine.seconds_per_vector_operation +
         output_seconds(machine, shape, sizes, rows, outputs, register_tile, active);
}

// The share of `seconds`, which only blocks with the last columns take, in the mean block. Where
// each thread has a few blocks, all wait for the longest.
double of_last_columns(const BlockSizes& sizes, double seconds) {
  return sizes.longest ? std::max(0.0, seconds) : seconds / sizes.n_blocks;
}

// How much longer the mean tile takes where dots compute the last columns. Only the last column
// tile has them; where the rows are packed, only its last block of K, over all of K.
double mean_rest_seconds(const Machine& machine, const ContractionShape& shape,
                         const BlockSizes& sizes) {
  const double blocks = shape.rest_as_rows ? sizes.k_blocks : 1;
  return of_last_columns(sizes, rest_seconds(machine, shape, sizes.rows, sizes.block_k * blocks)) /
         (sizes.column_tiles * blocks);
}

// What dots for the last columns spare at most.
double spared_by_rest(const Machine& machine, const ContractionShape& shape,
                      const BlockSizes& sizes) {
  return rest_columns(machine, shape) > 0 || shape.rest_as_rows
             ? std::max(0.0, -mean_rest_seconds(machine, shape, sizes))
             : 0;
}

// Where dots compute the last column tile in less time than its rows of A take to come, nothing
// hides these: how much longer that makes the mean tile.
double bare_dots_seconds(const Machine& machine, const ContractionShape& shape,
                         const rkernel::Strategy& strategy, const BlockSizes& sizes, double load,
                         double register_tile) {
  if (!has_dots(shape, strategy) || sizes.column_tiles * sizes.n_blocks == 1) return 0;
  const double of_last = of_last_columns(sizes, 1) / sizes.column_tiles,
               wide = seconds_per_k(machine, sizes.rows, strategy.tile_columns, shape.b_dtype);
  const double other = register_tile - mean_rest_seconds(machine, shape, sizes) +
                       sizes.block_k * (wide - sizes.seconds_per_k);
  const double dots = (register_tile - (1 - of_last) * other) / of_last;
  return std::max(0.0, (1 - of_last) * std::max(load, other) + of_last * std::max(load, dots) -
                           std::max(load, register_tile));
}

// The time of a tile to read its columns of B. The first row tile brings them near, the others find
// them there; blocks of other rows find them where all of B's block fits.
struct ColumnSeconds {
  double first, again;
  bool far;  ///< again from beyond L2, row by row
};

// Lines of a row of a panel as it lies, in those that it has where it begins on a line: most rows
// that begin within one end in one more.
double line_share(const Machine& machine, const ContractionShape& shape,
                  const rkernel::Strategy& strategy) {
  if (!strategy.direct_b) return 1;
  return 1 + share_within_lines(shape.b_row_bytes) * line_bytes /
                 static_cast<double>(machine.panel * float_bytes);
}

ColumnSeconds column_seconds(const Machine& machine, const ContractionShape& shape,
                             const rkernel::Strategy& strategy, const BlockSizes& sizes,
                             double bytes, int active) {
  const double block_bytes =
      sizes.block_n * static_cast<double>(shape.k) * static_cast<double>(size_of(shape.b_dtype));
  const double lines = line_share(machine, shape, strategy);
  const std::size_t near_level =
      std::max(machine.level_of(2 * static_cast<std::int64_t>(bytes * lines)),
               shares_sets(shape, strategy) ? std::size_t{1} : 0);
  const std::size_t again_level = machine.level_of(static_cast<std::int64_t>(2 * block_bytes));
  const bool in_place = shape.b_packed || strategy.direct_b;
  const std::size_t first_level =
      in_place ? shape.b_level : std::min<std::size_t>(again_level, machine.levels.size() - 1);
  // Blocks of K leave one panel for the next one; without them panels follow each other.
  const double seconds_per_run = first_level + 1 == machine.levels.size()
                                     ? machine.fitted.seconds_per_memory_run
                                 : first_level > 1 ? machine.fitted.seconds_per_shared_run
                                                   : 0;
  const double new_run = sizes.k_blocks * sizes.slices > 1 ? seconds_per_run : 0;
  const double panels = strategy.tile_columns / machine.panel;
  const double streams = in_place && first_level > 1 && sizes.rows.first.tile > 1
                             ? 1 + machine.fitted.share_of_stream * (panels - 1)
                             : 1;
  const bool far_tile = strategy.direct_b && near_level > 1;
  const bool far_block =
      strategy.direct_b && machine.level_of(static_cast<std::int64_t>(block_bytes * lines)) > 1;
  const auto again = [&](std::size_t level, bool far_rows) {
    return std::max(read_seconds(machine, bytes, level, active),
                    far_rows ? sizes.block_k * lines * machine.fitted.seconds_per_far_row : 0);
  };
  const double first =
      (read_seconds(machine, bytes, first_level, active) * streams + new_run) / sizes.m_blocks +
      again(again_level, far_block) * (1 - 1 / sizes.m_blocks);
  return {first, again(near_level, far_tile), far_tile && sizes.row_tiles > 1};
}

// How much longer the mean tile takes where row tiles do not ask for the next columns: the first
// one of them waits for all of it.
double first_tile_seconds(const BlockSizes& sizes, const ColumnSeconds& columns, double a_seconds,
                          double register_tile) {
  const double first = std::max(a_seconds + columns.first, register_tile),
               others = std::max(a_seconds + columns.again, register_tile);
  const double mean = a_seconds + columns.again + (columns.first - columns.again) / sizes.row_tiles;
  return std::max(0.0, others + (first - others) / sizes.row_tiles - std::max(mean, register_tile));
}

LayerTerms tile_terms(const Machine& machine, const ContractionShape& shape,
                      const rkernel::Strategy& strategy, const BlockSizes& sizes,
                      double register_tile, int active) {
  LayerTerms terms{.name = "L1"};
  const double rows = sizes.block_m / sizes.row_tiles;
  const double columns = tile_columns(shape, sizes);
  terms.spatial_trips = sizes.row_tiles * sizes.column_tiles;
  const double a_bytes = rows * sizes.block_k * float_bytes *
                         (strategy.copy_a ? 1 : conflict_factor(machine, shape, rows));
  const auto b_element_bytes = static_cast<double>(size_of(shape.b_dtype));
  const double b_bytes = columns * sizes.block_k * b_element_bytes;
  const auto block_a_bytes = static_cast<std::int64_t>(sizes.block_m * sizes.block_k * float_bytes);
  const std::size_t block_level = std::max<std::size_t>(
      machine.level_of(2 * block_a_bytes), a_bytes > rows * sizes.block_k * float_bytes ? 1 : 0);
  // One column tile reads each row of A once, from where it is.
  const std::size_t a_level = sizes.column_tiles * sizes.n_blocks == 1 && !strategy.copy_a
                                  ? std::max(block_level, shape.a_level)
                                  : block_level;
  // The panel that comes next is asked for from memory while row tiles, or other blocks, read this
  // one again: where both take more than half of L2, each comes late.
  const bool from_memory = shape.b_packed && shape.b_level + 1 == machine.levels.size();
  const bool read_again = sizes.row_tiles > 1 || sizes.m_blocks > 1;
  const bool crowded =
      from_memory && read_again && machine.level_of(static_cast<std::int64_t>(4 * b_bytes)) > 1;
  const bool cuts_rows = sizes.k_blocks * sizes.slices > 1 && a_level + 1 == machine.levels.size();
  const double a_seconds = read_seconds(machine, a_bytes, a_level, active) +
                           (cuts_rows ? rows * machine.fitted.seconds_per_row_run : 0);
  const ColumnSeconds of_columns = column_seconds(machine, shape, strategy, sizes, b_bytes, active);
  terms.exposed = of_columns.far ? 1
                  : crowded      ? machine.fitted.exposed_loads_beyond_l2
                                 : machine.fitted.exposed_loads;
  terms.load =
      a_seconds + of_columns.again + (of_columns.first - of_columns.again) / sizes.row_tiles;
  if (a_level > 1 && sizes.column_tiles > 1 && terms.exposed < machine.fitted.exposed_far_rows)
    terms.exposed += (machine.fitted.exposed_far_rows - terms.exposed) * a_seconds / terms.load;
  const double outputs = rows * std::min(columns, static_cast<double>(shape.n));
  terms.store = store_seconds(machine, shape, sizes, rows, outputs, register_tile, active);
  // A tile is stored once for all blocks of K.
  terms.store /= sizes.k_blocks;
  if (!asks_ahead(machine, shape, static_cast<std::int64_t>(b_bytes)))
    terms.store += first_tile_seconds(sizes, of_columns, a_seconds, register_tile);
  terms.store += bare_dots_seconds(machine, shape, strategy, sizes, terms.load, register_tile);
  if (strategy.lanes == rkernel::LaneAxis::K)
    terms.store +=
        outputs * machine.fitted.dot_reduction_operations * machine.seconds_per_vector_operation;
  // A tile between blocks of K is written to scratch and read again.
  if (sizes.k_blocks > 1)
    terms.store += read_seconds(machine, 2 * outputs * float_bytes, 1, active);
  return terms;
}

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
                                  shape.a_level, false, active);
  }
  if (strategy.lanes == rkernel::LaneAxis::K) {
    seconds += static_cast<double>(shape.n) * sizes.block_k * machine.seconds_per_vector_operation;
  } else if (!shape.b_packed && !strategy.direct_b) {
    seconds += block_move_seconds(machine, sizes.block_n * sizes.block_k, DType::f32, shape.b_level,
                                  true, active);
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

BlockSizes of_longest(BlockSizes sizes) {
  sizes.seconds_per_k = sizes.longest_seconds_per_k;
  sizes.longest = true;
  return sizes;
}

double tickets_of(const ContractionShape& shape, const BlockSizes& sizes) {
  return static_cast<double>(shape.batch) * sizes.m_blocks * sizes.n_blocks * sizes.slices;
}

}  // namespace

double contraction_cost(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, const BlockSizes& sizes, int threads,
                        CostBreakdown* breakdown, double enough) {
  LayerTerms top{.name = "threads"};
  top.parallel_trips = tickets_of(shape, sizes);
  top.units = threads;
  top.fixed = machine.seconds_per_ticket;
  const int active =
      static_cast<int>(std::clamp(top.parallel_trips, 1.0, static_cast<double>(threads)));
  const bool few = threads > 1 && sizes.n_blocks > 1 &&
                   top.parallel_trips < machine.fitted.few_tickets_per_thread * threads;
  const BlockSizes counted = few ? of_longest(sizes) : sizes;
  const double moves = move_seconds(machine, shape, strategy, counted, active);
  // Moves and multiply-adds are known before anything else; dots may spare some of these.
  const double least = layer_cost(
      top,
      sizes.k_blocks *
          (moves + sizes.row_tiles * sizes.column_tiles * sizes.block_k * counted.seconds_per_k),
      false);
  if (!has_dots(shape, strategy) && least * (1 - rounding) >= enough) return least;
  const TicketTerms ticket = ticket_terms(machine, shape, strategy, counted, moves, active);
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
  const auto b_element_bytes = static_cast<double>(size_of(shape.b_dtype));
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
  const double b_bytes = reads_b ? static_cast<double>(shape.batch * shape.n * shape.k) *
                                       static_cast<double>(size_of(shape.b_dtype))
                                 : 0;
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
