#include "targets/cpu/contraction/ticket.hpp"

#include "targets/cpu/tile/widening.hpp"

#include <llvm/IR/Function.h>

#include "targets/cpu/contraction/full_tiles.hpp"

namespace dyn::cpu {

ContractionFunction::ContractionFunction(const ContractionSource& source, codegen::Builder& builder,
                                         llvm::Function* function, codegen::Operands& operands,
                                         const codegen::KernelArgsValues& args)
    : source_(source),
      builder_(builder),
      function_(function),
      operands_(operands),
      ints_(args.ints),
      shared_(codegen::load_shared_memory(builder, kernel_args())),
      extents_(load_extents()),
      sums_row_(slot(source.strategy.sums_row)),
      a_base_(load_base(args.pointers, source.contraction().a)),
      b_base_(load_base(args.pointers, source.contraction().b)) {}

std::vector<llvm::Value*> ContractionFunction::load_extents() const {
  std::vector<llvm::Value*> extents;
  for (std::size_t axis = 0; axis < source_.problem().axes.size(); ++axis)
    extents.push_back(slot(source_.slots.extent(static_cast<int>(axis))));
  return extents;
}

llvm::Value* ContractionFunction::load_base(llvm::Value* pointers, int operand) const {
  llvm::Value* field = builder_.CreateConstInBoundsGEP1_64(builder_.getPtrTy(), pointers,
                                                           static_cast<std::uint64_t>(operand));
  return builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
}

llvm::Value* ContractionFunction::blocks_of_codes() const {
  const int block = source_.factors().block_steps();
  return builder_.CreateUDiv(builder_.CreateAdd(extent(source_.contraction().k), number(block - 1)),
                             number(block));
}

std::vector<llvm::Value*> ContractionFunction::batch_of(const Ticket& ticket) const {
  std::vector<llvm::Value*> indices;
  for (const int axis : batch_axes(source_.problem())) indices.push_back(ticket.index.at(axis));
  return indices;
}

namespace {

// The slots of a region.
llvm::Value* slots_of_region(const ContractionFunction& code, llvm::Value* region) {
  codegen::Builder& builder = code.builder();
  const StrategySlots& strategy = code.source().strategy;
  llvm::Value* behind = builder.CreateMul(region, code.number(strategy.slots_of_region));
  return builder.CreateGEP(builder.getInt64Ty(), code.ints(),
                           builder.CreateAdd(code.slot(strategy.regions_begin), behind));
}

// How many regions after the first have their first ticket at or before this one.
llvm::Value* find_region(const ContractionFunction& code, llvm::Value* ticket) {
  codegen::Builder& builder = code.builder();
  const StrategySlots& strategy = code.source().strategy;
  llvm::Value* none[]{code.number(0)};
  codegen::CountedLoop regions(builder, code.number(1), code.slot(strategy.regions), code.number(1),
                               "region", none);
  llvm::Value* first =
      code.region_slot(slots_of_region(code, regions.index()), strategy.first_ticket);
  llvm::Value* next[]{builder.CreateAdd(
      regions.carried(0),
      builder.CreateZExt(builder.CreateICmpSGE(ticket, first), builder.getInt64Ty()))};
  return regions.close(next)[0];
}

RegionValues load_region(const ContractionFunction& code, llvm::Value* region) {
  codegen::Builder& builder = code.builder();
  const StrategySlots& strategy = code.source().strategy;
  const ContractionClass& shape_class = code.source().shape_class;
  llvm::Value* ints = slots_of_region(code, region);
  const auto load = [&](int slot) { return code.region_slot(ints, slot); };
  const auto load_flag = [&](int slot) { return builder.CreateICmpNE(load(slot), code.number(0)); };
  const auto load_pointer = [&](int slot) {
    return builder.CreateIntToPtr(load(slot), builder.getPtrTy());
  };
  return {
      .ints = ints,
      .m_blocks = load(strategy.m_blocks),
      .n_blocks = load(strategy.n_blocks),
      .k_slices = load(strategy.k_slices),
      .tile_rows = load(strategy.tile_rows),
      .tile_panels = load(strategy.tile_panels),
      .block_k = load(strategy.block_k),
      .k_blocks = load(strategy.k_blocks),
      .copy_a = load(strategy.copy_a),
      .ask_ahead = load_flag(strategy.ask_ahead),
      .a_row = load(strategy.a_row),
      .wide_table = load_pointer(strategy.wide_table),
      .narrow_table = load_pointer(strategy.narrow_table),
      .half_table = load_pointer(strategy.half_table),
      .direct_b = shape_class.b_unit ? load_flag(strategy.direct_b) : builder.getFalse(),
      .a_scratch = code.scratch(load(strategy.a_scratch)),
      .b_scratch = code.scratch(load(strategy.b_scratch)),
      .rest_columns = shape_class.may_have_dots() ? load(strategy.rest_columns) : code.number(0),
      .sides_table = load_pointer(strategy.sides_table)};
}

// The ticket's place among those of its region, as an index along each axis of the threads layer.
std::map<int, llvm::Value*> block_indices(const ContractionFunction& code,
                                          const RegionValues& region, llvm::Value* ticket) {
  const rkernel::Contraction& contraction = code.source().contraction();
  const std::vector<rkernel::Loop>& loops = code.source().kernel.layers[threads_layer].loops;
  std::map<int, llvm::Value*> indices;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    llvm::Value* trips = loop->axis == contraction.m   ? region.m_blocks
                         : loop->axis == contraction.n ? region.n_blocks
                         : loop->axis == contraction.k ? region.k_slices
                                                       : code.extent(loop->axis);
    indices[loop->axis] = code.builder().CreateURem(ticket, trips);
    ticket = code.builder().CreateUDiv(ticket, trips);
  }
  return indices;
}

ColumnBlock column_block(const ContractionFunction& code, const RegionValues& region,
                         llvm::Value* index) {
  codegen::Builder& builder = code.builder();
  const StrategySlots& strategy = code.source().strategy;
  const codegen::Part part = codegen::equal_part(builder, code.region_slot(region, strategy.panels),
                                                 region.n_blocks, index);
  const codegen::Part panels{
      builder.CreateAdd(part.start, code.region_slot(region, strategy.first_panel)), part.size};
  // A panel with fewer columns is a tile of its own where B is read as it lies, for it is packed,
  // and where dots compute its rest.
  llvm::Value* is_cut =
      builder.CreateICmpSGT(builder.CreateMul(builder.CreateAdd(panels.start, panels.size),
                                              code.number(code.source().isa.panel_f32)),
                            code.extent(code.source().contraction().n));
  llvm::Value* has_rest =
      builder.CreateAnd(builder.CreateICmpNE(region.rest_columns, code.number(0)), is_cut);
  llvm::Value* cut_panels = builder.CreateZExt(
      builder.CreateOr(builder.CreateAnd(region.direct_b, is_cut), has_rest), builder.getInt64Ty());
  llvm::Value* wide_tiles =
      builder.CreateUDiv(builder.CreateSub(panels.size, cut_panels), region.tile_panels);
  llvm::Value* tiles = builder.CreateSub(
      panels.size,
      builder.CreateMul(wide_tiles, builder.CreateSub(region.tile_panels, code.number(1))));
  return {panels, has_rest, cut_panels, wide_tiles, tiles};
}

RowBlock row_block(const ContractionFunction& code, const RegionValues& region,
                   llvm::Value* index) {
  codegen::Builder& builder = code.builder();
  const StrategySlots& strategy = code.source().strategy;
  llvm::Value* rows = code.region_slot(region, strategy.m_size);
  const codegen::Part part = codegen::equal_part(builder, rows, region.m_blocks, index);
  llvm::Value* is_larger =
      builder.CreateICmpSGT(builder.CreateMul(part.size, region.m_blocks), rows);
  const auto of_block = [&](int larger, int smaller) {
    return builder.CreateSelect(is_larger, code.region_slot(region, larger),
                                code.region_slot(region, smaller));
  };
  return {.rows = {builder.CreateAdd(part.start, code.region_slot(region, strategy.m_begin)),
                   part.size},
          .first_rows = of_block(strategy.larger.first_rows, strategy.smaller.first_rows),
          .first_tiles = of_block(strategy.larger.first_tiles, strategy.smaller.first_tiles),
          .second_rows = of_block(strategy.larger.second_rows, strategy.smaller.second_rows),
          .tiles = of_block(strategy.larger.tiles, strategy.smaller.tiles)};
}

// Slices of codes begin with a block.
codegen::Part slice_of(const ContractionFunction& code, const RegionValues& region,
                       llvm::Value* index) {
  codegen::Builder& builder = code.builder();
  llvm::Value* k = code.extent(code.source().contraction().k);
  const rkernel::Factors factors = code.source().factors();
  if (!factors.coded()) return codegen::equal_part(builder, k, region.k_slices, index);
  llvm::Value* size = code.number(factors.block_steps());
  const codegen::Part part =
      codegen::equal_part(builder, code.blocks_of_codes(), region.k_slices, index);
  llvm::Value* start = builder.CreateMul(part.start, size);
  return {start, code.minimum(builder.CreateMul(part.size, size), builder.CreateSub(k, start))};
}

}  // namespace

Ticket locate_ticket(const ContractionFunction& code, llvm::Value* ticket) {
  const rkernel::Contraction& contraction = code.source().contraction();
  const RegionValues region = load_region(code, find_region(code, ticket));
  llvm::Value* place = code.builder().CreateSub(
      ticket, code.region_slot(region, code.source().strategy.first_ticket));
  const std::map<int, llvm::Value*> index = block_indices(code, region, place);
  return {.region = region,
          .index = index,
          .slice = slice_of(code, region, index.at(contraction.k)),
          .columns = column_block(code, region, index.at(contraction.n)),
          .rows = row_block(code, region, index.at(contraction.m))};
}

llvm::Value* matrix_of_batch(const ContractionFunction& code, const Ticket& ticket, int operand) {
  codegen::Builder& builder = code.builder();
  llvm::Value* offset = code.slot(code.source().slots.offset(operand));
  for (const int axis : batch_axes(code.source().problem())) {
    offset = builder.CreateAdd(
        offset, builder.CreateMul(ticket.index.at(axis), code.stride(operand, axis)));
  }
  const ContractionSource& source = code.source();
  const DType element = operand == source.contraction().b ? source.b_element() : source.a_element();
  return element_of(builder, element, code.base(operand), offset);
}

}  // namespace dyn::cpu
