#include "targets/cpu/contraction/tiles.hpp"

#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/tile/widening.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {

using codegen::Conditional;
using codegen::CountedLoop;
using codegen::Part;

namespace {

// Lanes run along K: all columns are one tile, whose rows lie a vector apart.
ColumnTile dot_columns(const ContractionFunction& code, const Ticket& ticket, llvm::Value* index) {
  llvm::Value* no = code.builder().getFalse();
  return {.index = index,
          .first = code.number(0),
          .columns = code.number(code.source().isa.f32_lanes),
          .valid = code.extent(code.source().contraction().n),
          .b = {ticket.region.b_scratch, code.number(1), ticket.region.a_row},
          .is_half = no,
          .is_rest = no,
          .table = ticket.region.wide_table};
}

/// The columns of a tile, before it is known where B's are.
struct ColumnRange {
  llvm::Value *first_panel, *panel_of_block;
  llvm::Value *first, *columns, *valid;
};

/// Steps of K of packed panels, with those that only blocks have.
llvm::Value* depth_of_panels(const ContractionFunction& code) {
  const rkernel::Factors factors = code.source().factors();
  if (!factors.coded()) return code.extent(code.source().contraction().k);
  return code.builder().CreateMul(code.blocks_of_codes(), code.number(factors.block_steps()));
}

TileOfB locate_b_tile(const ContractionFunction& code, const Ticket& ticket, const BlockOfK& block,
                      const ColumnRange& range) {
  codegen::Builder& builder = code.builder();
  const ContractionSource& source = code.source();
  const rkernel::Contraction& contraction = source.contraction();
  llvm::Value* width = code.number(source.isa.panel_f32);
  llvm::Value* direct = ticket.region.direct_b;
  if (source.b_packed()) {
    llvm::Value* panel = builder.CreateMul(depth_of_panels(code), width);
    llvm::Value* panel_stride = builder.CreateMul(panel, code.number(source.sides()));
    llvm::Value* offset = builder.CreateAdd(builder.CreateMul(range.first_panel, panel_stride),
                                            builder.CreateMul(block.start, width));
    TileOfB tile{element_of(builder, source.factors(), block.factors.b, offset), width,
                 panel_stride};
    tile.side_stride = panel;
    for (std::int64_t side = 1; side < source.sides(); ++side) {
      offset = builder.CreateAdd(offset, panel);
      tile.others.push_back(element_of(builder, source.factors(), block.factors.b, offset));
    }
    return tile;
  }
  llvm::Value* panel_stride = builder.CreateMul(block.size, width);
  llvm::Value* packed = code.element(
      ticket.region.b_scratch,
      builder.CreateMul(builder.CreateSelect(direct, code.number(0), range.panel_of_block),
                        panel_stride));
  if (!source.shape_class.b_unit) return {packed, width, panel_stride};
  llvm::Value* stride_k = code.stride(contraction.b, contraction.k);
  llvm::Value* as_it_lies = code.element(
      block.factors.b, builder.CreateAdd(builder.CreateMul(block.start, stride_k), range.first));
  llvm::Value* is_direct =
      builder.CreateAnd(direct, builder.CreateICmpEQ(range.valid, range.columns));
  llvm::Value* start = builder.CreateSelect(is_direct, as_it_lies, packed);
  llvm::Value* k_stride = builder.CreateSelect(is_direct, stride_k, width);
  return {start, k_stride, builder.CreateSelect(is_direct, width, panel_stride)};
}

}  // namespace

ColumnTile locate_column_tile(const ContractionFunction& code, const Ticket& ticket,
                              const BlockOfK& block, llvm::Value* index) {
  if (code.source().shape_class.dot) return dot_columns(code, ticket, index);
  codegen::Builder& builder = code.builder();
  const codegen::Isa& isa = code.source().isa;
  const RegionValues& region = ticket.region;
  llvm::Value* width = code.number(isa.panel_f32);
  llvm::Value* wide_tiles = ticket.columns.wide_tiles;
  llvm::Value* is_wide = builder.CreateICmpSLT(index, wide_tiles);
  llvm::Value* narrow = builder.CreateAdd(
      index, builder.CreateMul(wide_tiles, builder.CreateSub(region.tile_panels, code.number(1))));
  llvm::Value* panel =
      builder.CreateSelect(is_wide, builder.CreateMul(index, region.tile_panels), narrow);
  llvm::Value* columns =
      builder.CreateMul(builder.CreateSelect(is_wide, region.tile_panels, code.number(1)), width);
  llvm::Value* first_panel = builder.CreateAdd(ticket.columns.panels.start, panel);
  llvm::Value* first = builder.CreateMul(first_panel, width);
  llvm::Value* left = builder.CreateSub(code.extent(code.source().contraction().n), first);
  llvm::Value* valid = code.minimum(columns, left);
  const TileOfB b = locate_b_tile(code, ticket, block, {first_panel, panel, first, columns, valid});
  llvm::Value* is_narrow = builder.CreateICmpEQ(columns, width);
  llvm::Value* is_half =
      builder.CreateAnd(is_narrow, builder.CreateICmpSLE(left, code.number(isa.f32_lanes)));
  llvm::Value* is_rest =
      builder.CreateAnd(ticket.columns.has_rest, builder.CreateICmpSLT(left, width));
  llvm::Value* table =
      builder.CreateSelect(builder.CreateOr(is_half, is_rest), region.half_table,
                           builder.CreateSelect(is_wide, region.wide_table, region.narrow_table));
  return {index, first, columns, valid, b, is_half, is_rest, table};
}

// While a block's row tiles compute, the memory brings the columns that come next: each tile asks
// for an equal share of them.
NextColumns TileCode::share_next_columns() const {
  const codegen::Isa& isa = source_.isa;
  llvm::Value* are_asked =
      builder_.CreateAnd(ticket_.region.ask_ahead,
                         builder_.CreateICmpEQ(columns_.b.k_stride, code_.number(isa.panel_f32)));
  llvm::Value* panel = builder_.CreateMul(block_.size, columns_.b.k_stride);
  llvm::Value* share = builder_.CreateSelect(
      are_asked, builder_.CreateUDiv(panel, ticket_.rows.tiles), code_.number(0));
  return {are_asked, share,
          builder_.CreateUDiv(code_.number(isa.panel_f32 * steps_of_ahead), ticket_.rows.tiles)};
}

TileRowsOfA TileCode::locate_rows_of_a() const {
  const RegionValues& region = ticket_.region;
  const BlockFactors& factors = block_.factors;
  llvm::Value* is_copied = source_.shape_class.a_unit
                               ? builder_.CreateICmpNE(region.copy_a, code_.number(0))
                               : builder_.getTrue();
  // The copy begins behind the rows that lie in a strip.
  llvm::Value* copied =
      block_.strip
          ? code_.element(region.a_scratch,
                          builder_.CreateNeg(builder_.CreateMul(block_.strip->rows, region.a_row)))
          : region.a_scratch;
  llvm::Value* start =
      builder_.CreateSelect(is_copied, copied, code_.element(factors.a, block_.start));
  llvm::Value* stride = builder_.CreateSelect(is_copied, region.a_row, factors.a_stride_m);
  return {start, stride, share_next_columns()};
}

llvm::Value* TileCode::run_full_tiles(const TileRowsOfA& a) const {
  const codegen::Isa& isa = source_.isa;
  if (source_.exchanged() || source_.shape_class.dot) return code_.number(0);
  const RegionValues& region = ticket_.region;
  llvm::Value* function =
      builder_.CreateSelect(columns_.is_half, code_.slot(source_.strategy.full_vector),
                            code_.slot(source_.strategy.full_panel));
  llvm::Value* fits = builder_.CreateICmpNE(function, code_.number(0));
  llvm::Value* is_whole = builder_.CreateICmpEQ(columns_.valid, columns_.columns);
  if (!masks_columns(isa, false))
    fits = builder_.CreateAnd(fits, builder_.CreateOr(columns_.is_half, is_whole));
  for (llvm::Value* condition :
       {builder_.CreateICmpEQ(columns_.columns, code_.number(isa.panel_f32)),
        builder_.CreateICmpEQ(builder_.CreateMul(region.k_blocks, region.k_slices),
                              code_.number(1)),
        builder_.CreateICmpEQ(ticket_.rows.first_rows, code_.slot(source_.strategy.full_rows)),
        builder_.CreateNot(columns_.is_rest)}) {
    fits = builder_.CreateAnd(fits, condition);
  }
  if (block_.strip) fits = builder_.CreateAnd(fits, block_.strip->is_read);
  Conditional run(builder_, fits, "full_tiles");
  call_full_tiles(builder_, builder_.CreateIntToPtr(function, builder_.getPtrTy()),
                  code_.kernel_args(), full_tiles(a), code_.batch_of(ticket_));
  llvm::Value *inside[]{ticket_.rows.first_tiles}, *outside[]{code_.number(0)};
  return run.close(inside, outside)[0];
}

FullTiles TileCode::full_tiles(const TileRowsOfA& a) const {
  FullTiles run{.a = a.start,
                .a_row_stride = a.stride,
                .b = columns_.b.start,
                .b_k_stride = columns_.b.k_stride,
                .panel_stride = columns_.b.panel_stride,
                .k = block_.size,
                .offsets = llvm::ConstantPointerNull::get(builder_.getPtrTy()),
                .segments = code_.number(1),
                .ahead = ahead_of_tile(a.next, code_.number(0)),
                .ahead_share = a.next.share,
                .first_row = ticket_.rows.rows.start,
                .tiles = ticket_.rows.first_tiles,
                .first_column = columns_.first,
                .columns = columns_.valid,
                .scratch = code_.tiles()};
  if (!block_.strip) return run;
  const Strip& strip = block_.strip->strip;
  run.a = code_.scratch(region_slot(source_.strategy.strip_scratch));
  run.a_row_stride = strip.segment_stride();
  run.k = strip.segment_size();
  run.offsets = code_.scratch(region_slot(source_.strategy.offsets_scratch));
  run.segments = strip.segments();
  return run;
}

Part TileCode::rows_of_tile(llvm::Value* index) const {
  const RowBlock& block = ticket_.rows;
  llvm::Value* in_first = builder_.CreateICmpSLT(index, block.first_tiles);
  llvm::Value* after_first =
      builder_.CreateMul(builder_.CreateSub(index, block.first_tiles), block.second_rows);
  llvm::Value* in_second =
      builder_.CreateAdd(builder_.CreateMul(block.first_tiles, block.first_rows), after_first);
  return {builder_.CreateSelect(in_first, builder_.CreateMul(index, block.first_rows), in_second),
          builder_.CreateSelect(in_first, block.first_rows, block.second_rows)};
}

// The tile's place among the sums of its slice, for the second stage.
llvm::Value* TileCode::sums_of_slice(const Part& rows) const {
  const rkernel::Contraction& contraction = source_.contraction();
  llvm::Value* index = ticket_.index.at(contraction.k);
  for (const int axis : batch_axes(source_.problem())) {
    index =
        builder_.CreateAdd(builder_.CreateMul(index, code_.extent(axis)), ticket_.index.at(axis));
  }
  llvm::Value* row = builder_.CreateAdd(ticket_.rows.rows.start, rows.start);
  row = builder_.CreateAdd(builder_.CreateMul(index, code_.extent(contraction.m)), row);
  return code_.element(code_.shared(), builder_.CreateAdd(builder_.CreateMul(row, code_.sums_row()),
                                                          columns_.first));
}

llvm::Value* TileCode::columns_of_sums() const {
  return builder_.CreateMul(columns_.columns, code_.number(source_.sides()));
}

RowTile TileCode::locate_row_tile(const TileRowsOfA& a, llvm::Value* index) const {
  const RegionValues& region = ticket_.region;
  const Part rows = rows_of_tile(index);
  llvm::Value* a_tile = code_.element(a.start, builder_.CreateMul(rows.start, a.stride));
  // Between blocks of K every tile of the block keeps its own place.
  llvm::Value* keeps = builder_.CreateICmpSGT(region.k_blocks, code_.number(1));
  llvm::Value* tile_index =
      builder_.CreateAdd(builder_.CreateMul(columns_.index, ticket_.rows.tiles), index);
  llvm::Value* tile_size =
      builder_.CreateMul(builder_.CreateMul(region.tile_rows, region.tile_panels),
                         code_.number(source_.sides() * source_.isa.panel_f32));
  llvm::Value* in_scratch = code_.element(
      code_.tiles(),
      builder_.CreateSelect(keeps, builder_.CreateMul(tile_index, tile_size), code_.number(0)));
  llvm::Value* is_split = builder_.CreateICmpSGT(region.k_slices, code_.number(1));
  llvm::Value* c = builder_.CreateSelect(is_split, sums_of_slice(rows), in_scratch);
  llvm::Value* c_row = builder_.CreateSelect(is_split, code_.sums_row(), columns_of_sums());
  return {a, index, rows, a_tile, c, c_row, is_split};
}

llvm::Value* TileCode::elements_to_next_columns() const {
  llvm::Value* panels = builder_.CreateUDiv(columns_.columns, code_.number(source_.isa.panel_f32));
  return builder_.CreateMul(panels, columns_.b.panel_stride);
}

Ahead TileCode::ahead_of_tile(const NextColumns& next, llvm::Value* tile) const {
  llvm::Value* before = builder_.CreateMul(tile, next.share);
  llvm::Value* distance = builder_.CreateAdd(elements_to_next_columns(), before);
  return {builder_.CreateSelect(next.are_asked, distance, code_.number(0)), next.step};
}

Ahead TileCode::ahead_of_tile(const RowTile& tile) const {
  Ahead ahead = ahead_of_tile(tile.all.next, tile.index);
  ahead.rows =
      called_rows_ahead(builder_, {tile.rows.size, tile.all.stride, block_.size,
                                   builder_.CreateICmpEQ(ticket_.rows.tiles, code_.number(1))});
  return ahead;
}

llvm::Value* TileCode::is_last_block() const {
  return builder_.CreateICmpEQ(block_.index,
                               builder_.CreateSub(ticket_.region.k_blocks, code_.number(1)));
}

void TileCode::emit_products(const RowTile& tile, llvm::Value* is_last) const {
  const ContractionClass& shape_class = source_.shape_class;
  if (!shape_class.may_have_dots()) return call_main_loops(tile);
  // One loop computes the vector of a panel that has a vector and more.
  Conditional vectors(builder_,
                      builder_.CreateNot(builder_.CreateAnd(columns_.is_rest, columns_.is_half)),
                      "vectors");
  call_main_loops(tile);
  vectors.close();
  Conditional rest(
      builder_,
      shape_class.rest_as_rows ? builder_.CreateAnd(columns_.is_rest, is_last) : columns_.is_rest,
      "rest");
  const DotFactors factors = dot_factors(tile);
  for (const RestSlots& group : {source_.strategy.rest_first, source_.strategy.rest_second})
    call_dot_loops(tile, factors, group);
  rest.close();
}

void TileCode::call_main_loops(const RowTile& tile) const {
  if (columns_.b.others.empty()) {
    return call_main_loop(tile, columns_.table, columns_.b, tile.c,
                          source_.shape_class.dot ? Ahead{rows_of_next_tile(tile), code_.number(0)}
                                                  : ahead_of_tile(tile));
  }
  llvm::Value* sides_table = ticket_.region.sides_table;
  Conditional together(builder_, builder_.CreateIsNotNull(sides_table), "sides_together");
  TileOfB sides = columns_.b;
  sides.panel_stride = sides.side_stride;
  call_main_loop(tile, sides_table, sides, tile.c, ahead_of_tile(tile));
  together.close();
  Conditional apart(builder_, builder_.CreateIsNull(sides_table), "sides_apart");
  call_main_loops_of_sides(tile);
  apart.close();
}

// The sums of the sides stand side by side. Each loop asks for the next columns of its own.
void TileCode::call_main_loops_of_sides(const RowTile& tile) const {
  const Ahead ahead = ahead_of_tile(tile);
  call_main_loop(tile, columns_.table, columns_.b, tile.c, ahead);
  llvm::Value* before = columns_.columns;
  for (llvm::Value* start : columns_.b.others) {
    TileOfB side = columns_.b;
    side.start = start;
    call_main_loop(tile, columns_.table, side, code_.element(tile.c, before), ahead);
    before = builder_.CreateAdd(before, columns_.columns);
  }
}

void TileCode::call_main_loop(const RowTile& tile, llvm::Value* table, const TileOfB& b,
                              llvm::Value* c, const Ahead& ahead) const {
  llvm::Value* field = builder_.CreateGEP(builder_.getPtrTy(), table, tile.rows.size);
  llvm::Value* function = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
  builder_.CreateCall(main_loop_type(builder_), function,
                      {tile.a, tile.all.stride, b.start, b.k_stride, b.panel_stride, block_.size, c,
                       tile.c_row, block_.index, ahead.distance, ahead.step,
                       ahead.rows == nullptr ? code_.number(0) : ahead.rows});
}

llvm::Value* TileCode::rows_of_next_tile(const RowTile& tile) const {
  return dot_rows_ahead(builder_, {tile.rows.size, tile.all.stride, block_.size,
                                   builder_.CreateICmpEQ(ticket_.rows.tiles, code_.number(1))});
}

TileCode::DotFactors TileCode::dot_factors(const RowTile& tile) const {
  llvm::Value* place = region_slot(source_.strategy.rest_place);
  if (!source_.shape_class.rest_as_rows)
    return {tile.a, tile.all.stride, code_.scratch(place), block_.size, block_.index};
  const BlockFactors& factors = block_.factors;
  llvm::Value* a_rows =
      code_.element(factors.a, builder_.CreateMul(tile.rows.start, factors.a_stride_m));
  llvm::Value* b_rows = builder_.CreateGEP(builder_.getInt8Ty(), factors.b, place);
  return {code_.element(a_rows, ticket_.slice.start), factors.a_stride_m,
          code_.element(b_rows, ticket_.slice.start), ticket_.slice.size, code_.number(0)};
}

// One group of the tile's last columns, a few rows at a time.
void TileCode::call_dot_loops(const RowTile& tile, const DotFactors& of,
                              const RestSlots& group) const {
  const StrategySlots& strategy = source_.strategy;
  const bool is_second = group.columns == strategy.rest_second.columns;
  llvm::Value* before = is_second ? region_slot(strategy.rest_first.columns) : code_.number(0);
  llvm::Value* column =
      builder_.CreateAdd(builder_.CreateSub(columns_.valid, ticket_.region.rest_columns), before);
  llvm::Value* b_row = region_slot(strategy.rest_row);
  llvm::Value* b = code_.element(of.b, builder_.CreateMul(before, b_row));
  llvm::Value* table = builder_.CreateIntToPtr(region_slot(group.table), builder_.getPtrTy());
  llvm::Value* most_rows = region_slot(group.rows);
  llvm::Value* has_columns = builder_.CreateICmpNE(region_slot(group.columns), code_.number(0));
  CountedLoop rows(builder_, code_.number(0),
                   builder_.CreateSelect(has_columns, tile.rows.size, code_.number(0)), most_rows,
                   "dots");
  llvm::Value* count = code_.minimum(most_rows, builder_.CreateSub(tile.rows.size, rows.index()));
  llvm::Value* function = builder_.CreateAlignedLoad(
      builder_.getPtrTy(), builder_.CreateGEP(builder_.getPtrTy(), table, count), llvm::Align(8));
  llvm::Value* c = code_.element(
      tile.c, builder_.CreateAdd(builder_.CreateMul(rows.index(), tile.c_row), column));
  builder_.CreateCall(main_loop_type(builder_), function,
                      {code_.element(of.a, builder_.CreateMul(rows.index(), of.a_row)), of.a_row, b,
                       code_.number(1), b_row, of.k_size, c, tile.c_row, of.k_index,
                       code_.number(0), code_.number(0), code_.number(0)});
  rows.close();
}

TileOutputs TileCode::outputs_of(const RowTile& tile) const {
  const rkernel::Contraction& contraction = source_.contraction();
  const int lanes = source_.isa.f32_lanes;
  llvm::Value* first_row = builder_.CreateAdd(ticket_.rows.rows.start, tile.rows.start);
  if (!source_.exchanged())
    return {contraction.m,  contraction.n,  first_row, tile.rows.size,
            columns_.first, columns_.valid, tile.c,    columns_of_sums()};
  llvm::Value* turned = code_.scratch(region_slot(source_.strategy.turned_scratch));
  llvm::Value* turned_row = builder_.CreateAnd(
      builder_.CreateAdd(ticket_.region.tile_rows, code_.number(lanes - 1)), code_.number(-lanes));
  emit_transposition(builder_, source_.isa,
                     {tile.c, columns_.columns, columns_.valid, tile.rows.size, turned, turned_row},
                     code_.number(0));
  return {contraction.n, contraction.m,  columns_.first, columns_.valid,
          first_row,     tile.rows.size, turned,         turned_row};
}

}  // namespace dyn::cpu
