#include "src/choice/cost/tile_cost.hpp"

#include <algorithm>

#include "src/base/bytes.hpp"
#include "src/choice/cost/rest_columns.hpp"

namespace dyn::choice {

namespace {

// The greatest common divisor with `power`, a power of two: of the distance of rows, in how many
// places of a cache way or of a line they begin.
std::int64_t common_power(std::int64_t bytes, std::int64_t power) {
  return std::min(power, bytes & -bytes);
}

// The share of rows, so far apart, that begin within a line.
double share_within_lines(std::int64_t row_bytes) {
  return 1 - static_cast<double>(common_power(row_bytes, line_bytes)) / line_bytes;
}

}  // namespace

double conflict_factor(const Machine& machine, const ContractionShape& shape, double rows) {
  // Lanes along K take a line whole.
  if (shape.a_row_bytes <= 0 || shape.lanes == rkernel::LaneAxis::K) return 1;
  const std::int64_t distinct = l1_way_bytes / common_power(shape.a_row_bytes, l1_way_bytes);
  const double rows_per_set = rows / std::min(static_cast<double>(distinct), rows);
  return rows_per_set > static_cast<double>(rows_without_conflicts(machine))
             ? machine.fitted.conflict_refetches
             : 1;
}

double read_seconds(const Machine& machine, double bytes, std::size_t level, int active) {
  return level == 0 ? 0 : bytes / machine.bandwidth_per_thread(level, active);
}

double tile_columns(const ContractionShape& shape, const BlockSizes& sizes) {
  return shape.lanes == rkernel::LaneAxis::K ? static_cast<double>(shape.n)
                                             : sizes.block_n / std::max(1.0, sizes.column_tiles);
}

double conflict_seconds(const Machine& machine, const ContractionShape& shape,
                        const rkernel::Strategy& strategy, const BlockSizes& sizes, int active) {
  const double rows = sizes.block_m / sizes.row_tiles;
  const double again = strategy.copy_a ? 0 : conflict_factor(machine, shape, rows) - 1;
  return again > 0 ? machine.fitted.exposed_conflicts * again *
                         read_seconds(machine, rows * sizes.block_k * float_bytes, 1, active)
                   : 0;
}

namespace {

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

}  // namespace

double call_seconds(const Machine& machine, const ContractionShape& shape,
                    const rkernel::Strategy& strategy, const BlockSizes& sizes) {
  const bool inlines = sizes.k_blocks == 1 && sizes.slices == 1 &&
                       strategy.tile_columns == machine.panel &&
                       sizes.rows.first.tile == shape.inlined_rows;
  const double full = inlines ? static_cast<double>(sizes.rows.first.count) / sizes.row_tiles : 0;
  return machine.seconds_per_call * sizes.loop_calls *
         (1 - full + full * machine.fitted.inlined_share_of_call);
}

double store_seconds(const Machine& machine, const ContractionShape& shape, const BlockSizes& sizes,
                     double rows, double outputs, double register_tile, int active) {
  return outputs * shape.epilogue_operations / machine.vector_width *
             machine.seconds_per_vector_operation +
         output_seconds(machine, shape, sizes, rows, outputs, register_tile, active);
}

double of_last_columns(const BlockSizes& sizes, double seconds) { return seconds / sizes.n_blocks; }

double mean_rest_seconds(const Machine& machine, const ContractionShape& shape,
                         const BlockSizes& sizes) {
  const double blocks = shape.rest_as_rows ? sizes.k_blocks : 1;
  return of_last_columns(sizes, rest_seconds(machine, shape, sizes.rows, sizes.block_k * blocks)) /
         (sizes.column_tiles * blocks);
}

double spared_by_rest(const Machine& machine, const ContractionShape& shape,
                      const BlockSizes& sizes) {
  return rest_columns(machine, shape) > 0 || shape.rest_as_rows
             ? std::max(0.0, -mean_rest_seconds(machine, shape, sizes))
             : 0;
}

namespace {

// Where dots compute the last column tile in less time than its rows of A take to come, nothing
// hides these: how much longer that makes the mean tile.
double bare_dots_seconds(const Machine& machine, const ContractionShape& shape,
                         const rkernel::Strategy& strategy, const BlockSizes& sizes, double load,
                         double register_tile) {
  if (!has_dots(shape, strategy) || sizes.column_tiles * sizes.n_blocks == 1) return 0;
  const double of_last = of_last_columns(sizes, 1) / sizes.column_tiles,
               wide = seconds_per_k(machine, sizes.rows, strategy.tile_columns, shape.factors());
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
  const double block_bytes = sizes.block_n * static_cast<double>(shape.k) * shape.b_element_bytes();
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
  const int panels = strategy.tile_columns / machine.panel * shape.right_sides / sizes.loop_calls;
  const double streams = in_place && first_level > 1 && sizes.rows.first.tile > 1
                             ? 1 + machine.fitted.share_of_stream * (panels - 1)
                             : 1;
  const bool far_tile = strategy.direct_b && near_level > 1;
  const double from_near = read_seconds(machine, bytes, near_level, active);
  const double first =
      (read_seconds(machine, bytes, first_level, active) * streams + new_run) / sizes.m_blocks +
      read_seconds(machine, bytes, again_level, active) * (1 - 1 / sizes.m_blocks);
  return {first, from_near, far_tile && sizes.row_tiles > 1};
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

}  // namespace

LayerTerms tile_terms(const Machine& machine, const ContractionShape& shape,
                      const rkernel::Strategy& strategy, const BlockSizes& sizes,
                      double register_tile, int active) {
  LayerTerms terms{.name = "L1"};
  const double rows = sizes.block_m / sizes.row_tiles;
  const double columns = tile_columns(shape, sizes);
  terms.spatial_trips = sizes.row_tiles * sizes.column_tiles;
  const double a_bytes = rows * sizes.block_k * float_bytes *
                         (strategy.copy_a ? 1 : conflict_factor(machine, shape, rows));
  const auto b_element_bytes = shape.b_element_bytes();
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
    terms.store += read_seconds(machine, 2 * outputs * float_bytes * shape.right_sides, 1, active);
  return terms;
}

}  // namespace dyn::choice
