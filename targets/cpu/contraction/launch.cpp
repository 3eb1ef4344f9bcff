#include "targets/cpu/contraction/launch.hpp"

#include <algorithm>

#include "dyn/error.hpp"
#include "src/base/bytes.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/cost/block_sizes.hpp"
#include "src/choice/cost/copy_cost.hpp"
#include "src/choice/cost/rest_columns.hpp"

namespace dyn::cpu {
namespace {

using choice::ContractionShape;
using rkernel::LaneAxis;
using rkernel::Region;
using rkernel::Strategy;

/// A region in blocks and tiles; of blocks of unequal sizes the largest, and as many tiles as any
/// has.
struct Blocks {
  std::int64_t m_blocks, n_blocks, k_blocks;
  std::int64_t block_m, block_panels, block_k;
  std::int64_t tile_panels, row_tiles, column_tiles;
};

Blocks blocks_of(const codegen::Isa& isa, const ContractionShape& shape, const Region& region) {
  const Strategy& strategy = region.strategy;
  Blocks blocks;
  blocks.m_blocks = std::max<std::int64_t>(1, ceil_div(region.m, strategy.block_m));
  blocks.n_blocks = std::max<std::int64_t>(1, ceil_div(region.n, strategy.block_n));
  const std::int64_t slice_k = shape.slice_of_k(strategy.split_k),
                     step = std::max<std::int64_t>(line_floats, shape.factors().block_steps());
  const std::int64_t wanted_k_blocks =
      std::max<std::int64_t>(1, ceil_div(slice_k, strategy.block_k));
  blocks.block_k = std::max(round_up(ceil_div(slice_k, wanted_k_blocks), step), step);
  blocks.k_blocks = std::max<std::int64_t>(1, ceil_div(slice_k, blocks.block_k));
  blocks.block_m = ceil_div(region.m, blocks.m_blocks);
  blocks.block_panels = ceil_div(ceil_div(region.n, isa.panel_f32), blocks.n_blocks);
  blocks.tile_panels = strategy.tile_columns / isa.panel_f32;
  blocks.row_tiles = rkernel::tiling_of(blocks.block_m, strategy.tile_rows).tiles();
  // Panels that do not fill a wide tile are tiles by themselves: most of them in a block with one
  // panel less, or with a panel that is cut and not read as it lies.
  blocks.column_tiles = std::min(blocks.block_panels,
                                 blocks.block_panels / blocks.tile_panels + blocks.tile_panels - 1);
  return blocks;
}

/// Columns whose lanes run along K, where the region has the last panel.
std::int64_t rest_of(const choice::Machine& machine, const ContractionShape& shape,
                     const Region& region) {
  if (!choice::has_dots(shape, region.strategy) || region.n0 + region.n != shape.n) return 0;
  return shape.rest_as_rows ? shape.n % machine.vector_width : choice::rest_columns(machine, shape);
}

/// The parts of a thread's scratch, one after the other: tiles, A's copy, B's panels, a turned
/// tile, B's rest as rows, where A's windows begin in a strip, and it.
struct Scratch {
  std::int64_t tile_bytes, a_row, a_bytes, b_bytes, turned_bytes, rest_bytes, offsets_bytes,
      strip_bytes;
};

/// Whether all blocks read A's windows in strips, which full tiles alone can: no column is left to
/// others.
bool reads_strips(const codegen::Isa& isa, const choice::Machine& machine,
                  const ContractionShape& shape, const Region& region, const Blocks& blocks,
                  std::int64_t rest) {
  if (blocks.k_blocks * region.strategy.split_k != 1 || rest > 0 ||
      (!isa.mask_registers && region.n % isa.panel_f32 != 0))
    return false;
  const auto reads = [&](std::int64_t rows) {
    return choice::reads_strip(machine, shape, region.strategy, rows);
  };
  return reads(blocks.block_m) && reads(region.m / blocks.m_blocks);
}

/// The rows that other tiles than full ones have in a block whose full tiles read a strip.
std::int64_t rows_of_others(const Region& region, const Blocks& blocks) {
  const auto others = [&](std::int64_t rows) {
    const rkernel::Run second = rkernel::tiling_of(rows, region.strategy.tile_rows).second;
    return second.tile * second.count;
  };
  return std::max(others(blocks.block_m), others(region.m / blocks.m_blocks));
}

Scratch scratch_of(const codegen::Isa& isa, const ContractionShape& shape, const Region& region,
                   const Blocks& blocks, std::int64_t rest, bool in_strip) {
  const Strategy& strategy = region.strategy;
  Scratch scratch;
  const std::int64_t tiles = blocks.k_blocks > 1 ? blocks.row_tiles * blocks.column_tiles : 1;
  scratch.tile_bytes = round_up(
      tiles * strategy.tile_rows * strategy.tile_columns * shape.right_sides * 4, line_bytes);
  // An odd number of lines apart, rows do not share cache sets.
  scratch.a_row = (blocks.block_k / line_floats | 1) * line_floats;
  const std::int64_t copied_rows = !strategy.copy_a ? 0
                                   : in_strip       ? rows_of_others(region, blocks)
                                                    : blocks.block_m;
  scratch.a_bytes = round_up(round_up(copied_rows, isa.f32_lanes) * scratch.a_row * 4, line_bytes);
  const std::int64_t moved_panels = shape.b_packed      ? 0
                                    : strategy.direct_b ? 1
                                                        : blocks.block_panels;
  // Transposing moves write whole blocks of vectors.
  scratch.b_bytes =
      strategy.lanes == LaneAxis::K
          ? round_up(round_up(shape.n, isa.f32_lanes) * scratch.a_row * 4, line_bytes)
          : moved_panels * isa.panel_f32 * round_up(blocks.block_k, isa.f32_lanes) * 4;
  scratch.turned_bytes =
      strategy.lanes == LaneAxis::M
          ? strategy.tile_columns * round_up(strategy.tile_rows, isa.f32_lanes) * 4
          : 0;
  scratch.rest_bytes =
      shape.rest_as_rows ? 0
                         : round_up(round_up(rest, isa.f32_lanes) * scratch.a_row * 4, line_bytes);
  scratch.offsets_bytes = in_strip ? round_up(blocks.block_m * 8, line_bytes) : 0;
  scratch.strip_bytes =
      in_strip ? shape.a_strips.most_rows(blocks.block_m) * shape.a_strips.row_elements * 4 : 0;
  return scratch;
}

/// Writes one region's slots, and adds what it needs to the launch.
class RegionWriter {
 public:
  RegionWriter(const ContractionContext& context, const StrategySlots& slots,
               const ContractionShape& shape, std::size_t number, rkernel::Launch& launch)
      : context_(context),
        slots_(slots),
        shape_(shape),
        first_(slots.first_of_region + static_cast<std::int64_t>(number) * slots.slots_of_region),
        launch_(launch) {}

  void write(const Region& region) {
    const Blocks blocks = blocks_of(context_.isa(), shape_, region);
    write_blocks(region, blocks);
    write_tables(region.strategy, blocks.block_m);
    const std::int64_t rest = rest_of(context_.machine(), shape_, region);
    write_rest(rest);
    write_scratch(region, blocks, rest);
    const bool is_empty = region.m <= 0 || region.n <= 0;
    launch_.tickets +=
        is_empty ? 0 : shape_.batch * blocks.m_blocks * blocks.n_blocks * region.strategy.split_k;
  }

 private:
  void set(int slot, std::int64_t value) {
    launch_.ints[static_cast<std::size_t>(first_ + slot)] = value;
  }

  void write_blocks(const Region& region, const Blocks& blocks) {
    const codegen::Isa& isa = context_.isa();
    const Strategy& strategy = region.strategy;
    set(slots_.first_ticket, launch_.tickets);
    set(slots_.m_begin, region.m0);
    set(slots_.m_size, region.m);
    set(slots_.first_panel, region.n0 / isa.panel_f32);
    set(slots_.panels, ceil_div(region.n, isa.panel_f32));
    set(slots_.k_slices, strategy.split_k);
    set(slots_.m_blocks, blocks.m_blocks);
    set(slots_.n_blocks, blocks.n_blocks);
    set(slots_.tile_rows, strategy.tile_rows);
    set(slots_.tile_panels, blocks.tile_panels);
    for (const auto& [slots, rows] : {std::pair{slots_.larger, blocks.block_m},
                                      std::pair{slots_.smaller, region.m / blocks.m_blocks}}) {
      const rkernel::Tiling tiling = rkernel::tiling_of(rows, strategy.tile_rows);
      set(slots.first_rows, tiling.first.tile);
      set(slots.first_tiles, tiling.first.count);
      set(slots.second_rows, tiling.second.tile);
      set(slots.tiles, tiling.tiles());
    }
    set(slots_.block_k, blocks.block_k);
    set(slots_.k_blocks, blocks.k_blocks);
    set(slots_.copy_a, strategy.copy_a ? 1 : 0);
    const auto panel_bytes = static_cast<std::int64_t>(
        static_cast<double>(blocks.block_k * strategy.tile_columns) * shape_.b_element_bytes());
    set(slots_.ask_ahead,
        blocks.row_tiles > 1 && choice::asks_ahead(context_.machine(), shape_, panel_bytes) ? 1
                                                                                            : 0);
    set(slots_.direct_b, strategy.direct_b ? 1 : 0);
  }

  void write_tables(const Strategy& strategy, std::int64_t block_m) {
    const codegen::Isa& isa = context_.isa();
    const bool dot = strategy.lanes == LaneAxis::K;
    set(slots_.wide_table, dot ? context_.dot_table(static_cast<int>(shape_.n))
                               : context_.table(strategy.tile_columns, shape_.factors()));
    set(slots_.narrow_table, context_.table(isa.panel_f32, shape_.factors()));
    set(slots_.half_table, context_.table(isa.f32_lanes, shape_.factors()));
    const int together = choice::columns_of_sides(context_.machine(), shape_, strategy, block_m);
    set(slots_.sides_table, together > 0 ? context_.table(together, shape_.factors()) : 0);
  }

  void write_rest(std::int64_t rest) {
    const auto groups = choice::rest_groups(context_.machine(), rest);
    set(slots_.rest_columns, rest);
    for (const auto& [slots, group] :
         {std::pair{slots_.rest_first, groups[0]}, std::pair{slots_.rest_second, groups[1]}}) {
      set(slots.columns, group.columns);
      set(slots.rows, group.rows);
      set(slots.table, group.columns > 0 ? context_.dot_table(static_cast<int>(group.columns)) : 0);
    }
  }

  void write_scratch(const Region& region, const Blocks& blocks, std::int64_t rest) {
    const bool in_strip =
        reads_strips(context_.isa(), context_.machine(), shape_, region, blocks, rest);
    const Scratch scratch = scratch_of(context_.isa(), shape_, region, blocks, rest, in_strip);
    set(slots_.reads_strip, in_strip ? 1 : 0);
    const std::int64_t before_turned = scratch.tile_bytes + scratch.a_bytes + scratch.b_bytes;
    set(slots_.a_row, scratch.a_row);
    set(slots_.a_scratch, scratch.tile_bytes);
    set(slots_.b_scratch, scratch.tile_bytes + scratch.a_bytes);
    set(slots_.turned_scratch, before_turned);
    const rkernel::PackedLayout packed{DType::f32, context_.isa().panel_f32, shape_.k, shape_.n,
                                       rest};
    set(slots_.rest_place,
        shape_.rest_as_rows ? packed.rows_offset_bytes() : before_turned + scratch.turned_bytes);
    set(slots_.rest_row, shape_.rest_as_rows ? packed.row_stride() : scratch.a_row);
    const std::int64_t before_offsets =
        round_up(before_turned + scratch.turned_bytes + scratch.rest_bytes, line_bytes);
    set(slots_.offsets_scratch, before_offsets);
    set(slots_.strip_scratch, before_offsets + scratch.offsets_bytes);
    launch_.scratch_bytes = std::max(
        launch_.scratch_bytes,
        static_cast<std::size_t>(before_offsets + scratch.offsets_bytes + scratch.strip_bytes));
  }

  const ContractionContext& context_;
  const StrategySlots& slots_;
  const ContractionShape& shape_;
  const std::int64_t first_;  ///< the region's first slot
  rkernel::Launch& launch_;
};

}  // namespace

namespace {

constexpr int slots_of_program = 13;

StrategySlots add_strategy_slots(codegen::SlotTable& slots) {
  StrategySlots strategy;
  int reserved = slots.first_reserved();
  for (int* slot : {&strategy.regions, &strategy.regions_begin, &strategy.slices,
                    &strategy.sums_row, &strategy.merge_rows, &strategy.a_move,
                    &strategy.image_work, &strategy.b_move, &strategy.rest_move, &strategy.epilogue,
                    &strategy.full_panel, &strategy.full_vector, &strategy.full_rows})
    *slot = reserved++;
  // Those of one region stand together, and last: KernelArgs::ints ends with one such group for
  // each region.
  strategy.first_of_region = slots.size();
  const auto add = [&] { return slots.add_strategy_slot() - strategy.first_of_region; };
  for (int* slot : {&strategy.first_ticket,    &strategy.m_begin,        &strategy.m_size,
                    &strategy.first_panel,     &strategy.panels,         &strategy.k_slices,
                    &strategy.m_blocks,        &strategy.n_blocks,       &strategy.tile_rows,
                    &strategy.tile_panels,     &strategy.block_k,        &strategy.k_blocks,
                    &strategy.copy_a,          &strategy.ask_ahead,      &strategy.direct_b,
                    &strategy.wide_table,      &strategy.narrow_table,   &strategy.half_table,
                    &strategy.sides_table,     &strategy.a_row,          &strategy.a_scratch,
                    &strategy.b_scratch,       &strategy.reads_strip,    &strategy.strip_scratch,
                    &strategy.offsets_scratch, &strategy.turned_scratch, &strategy.rest_columns,
                    &strategy.rest_place,      &strategy.rest_row}) {
    *slot = add();
  }
  for (RowSlots* rows : {&strategy.larger, &strategy.smaller}) {
    for (int* slot : {&rows->first_rows, &rows->first_tiles, &rows->second_rows, &rows->tiles})
      *slot = add();
  }
  for (RestSlots* rest : {&strategy.rest_first, &strategy.rest_second}) {
    for (int* slot : {&rest->columns, &rest->rows, &rest->table}) *slot = add();
  }
  strategy.slots_of_region = slots.size() - strategy.first_of_region;
  return strategy;
}

}  // namespace

ContractionSlots::ContractionSlots(const rkernel::Problem& problem)
    : table(problem, factor_count, slots_of_program), strategy(add_strategy_slots(table)) {
  const rkernel::Contraction& contraction = *problem.contraction;
  if (std::max(contraction.a, contraction.b) >= static_cast<int>(factor_count))
    throw Error(ErrorKind::internal,
                "the factors of contraction " + problem.name + " are not its first operands");
}

void write_program(const ContractionContext& context, const StrategySlots& slots,
                   const ContractionShape& shape, const rkernel::Program& program,
                   rkernel::Launch& launch) {
  const std::size_t regions = program.regions.size();
  launch.ints[static_cast<std::size_t>(slots.regions)] = static_cast<std::int64_t>(regions);
  launch.ints[static_cast<std::size_t>(slots.regions_begin)] = slots.first_of_region;
  launch.ints.resize(static_cast<std::size_t>(slots.first_of_region) +
                     regions * static_cast<std::size_t>(slots.slots_of_region));
  for (std::size_t i = 0; i < regions; ++i)
    RegionWriter(context, slots, shape, i, launch).write(program.regions[i]);
}

void write_merge(const ContractionContext& context, const StrategySlots& slots,
                 const ContractionShape& shape, const Strategy& strategy, int threads,
                 rkernel::Launch& launch) {
  const std::int64_t tickets_per_thread = context.machine().fitted.merge_tickets_per_thread;
  const std::int64_t sums_row = round_up(shape.n, context.isa().panel_f32);
  const std::int64_t row_blocks =
      std::clamp<std::int64_t>(ceil_div(tickets_per_thread * threads, shape.batch), 1, shape.m);
  const std::int64_t merge_rows = ceil_div(shape.m, row_blocks);
  launch.ints[static_cast<std::size_t>(slots.slices)] = strategy.split_k;
  launch.ints[static_cast<std::size_t>(slots.sums_row)] = sums_row;
  launch.ints[static_cast<std::size_t>(slots.merge_rows)] = merge_rows;
  launch.merge_tickets = shape.batch * ceil_div(shape.m, merge_rows);
  launch.shared_bytes =
      static_cast<std::size_t>(strategy.split_k * shape.batch * shape.m * sums_row * 4);
  launch.scratch_bytes =
      std::max(launch.scratch_bytes, static_cast<std::size_t>(round_up(sums_row * 4, line_bytes)));
}

}  // namespace dyn::cpu
