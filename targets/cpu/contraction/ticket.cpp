#include "targets/cpu/contraction/ticket.hpp"

#include <llvm/IR/Function.h>

#include "targets/cpu/contraction/full_tiles.hpp"

namespace dyn::cpu {

void ContractionBlocks::load_strategy(const codegen::KernelArgsValues& args) {
  ints_ = args.ints;
  shared_ = codegen::load_shared_memory(builder_, function_->getArg(0));
  for (std::size_t axis = 0; axis < problem_.axes.size(); ++axis)
    extents_.push_back(extent(static_cast<int>(axis)));
  sums_row_ = slot(strategy_.sums_row);
  for (const int operand : {contraction_.a, contraction_.b}) {
    llvm::Value* field = builder_.CreateConstInBoundsGEP1_64(builder_.getPtrTy(), args.pointers,
                                                             static_cast<std::uint64_t>(operand));
    bases_[operand] = builder_.CreateAlignedLoad(builder_.getPtrTy(), field, llvm::Align(8));
  }
}

// How many regions after the first have their first ticket at or before this one.
llvm::Value* ContractionBlocks::find_region(llvm::Value* ticket) {
  llvm::Value* none[]{number(0)};
  codegen::CountedLoop regions(builder_, number(1), slot(strategy_.regions), number(1), "region",
                               none);
  llvm::Value* index =
      builder_.CreateAdd(builder_.CreateMul(regions.index(), number(strategy_.slots_of_region)),
                         number(strategy_.first_ticket));
  llvm::Value* first = builder_.CreateAlignedLoad(
      builder_.getInt64Ty(), builder_.CreateGEP(builder_.getInt64Ty(), ints_, index),
      llvm::Align(8));
  llvm::Value* next[]{builder_.CreateAdd(
      regions.carried(0),
      builder_.CreateZExt(builder_.CreateICmpSGE(ticket, first), builder_.getInt64Ty()))};
  return regions.close(next)[0];
}

void ContractionBlocks::load_region() {
  m_blocks_ = region_slot(strategy_.m_blocks);
  n_blocks_ = region_slot(strategy_.n_blocks);
  k_slices_ = region_slot(strategy_.k_slices);
  tile_rows_ = region_slot(strategy_.tile_rows);
  tile_panels_ = region_slot(strategy_.tile_panels);
  block_k_ = region_slot(strategy_.block_k);
  k_blocks_ = region_slot(strategy_.k_blocks);
  copy_a_ = region_slot(strategy_.copy_a);
  ask_ahead_ = builder_.CreateICmpNE(region_slot(strategy_.ask_ahead), number(0));
  a_row_ = region_slot(strategy_.a_row);
  llvm::Type* pointer = builder_.getPtrTy();
  wide_table_ = builder_.CreateIntToPtr(region_slot(strategy_.wide_table), pointer);
  narrow_table_ = builder_.CreateIntToPtr(region_slot(strategy_.narrow_table), pointer);
  half_table_ = builder_.CreateIntToPtr(region_slot(strategy_.half_table), pointer);
  direct_b_ = class_.b_unit ? builder_.CreateICmpNE(region_slot(strategy_.direct_b), number(0))
                            : builder_.getFalse();
  a_scratch_ = scratch(region_slot(strategy_.a_scratch));
  b_scratch_ = scratch(region_slot(strategy_.b_scratch));
  rest_columns_ = class_.may_have_dots() ? region_slot(strategy_.rest_columns) : number(0);
}

void ContractionBlocks::locate_ticket(llvm::Value* ticket) {
  llvm::Value* offset = builder_.CreateMul(find_region(ticket), number(strategy_.slots_of_region));
  region_ints_ = builder_.CreateGEP(builder_.getInt64Ty(), ints_, offset);
  load_region();
  ticket = builder_.CreateSub(ticket, region_slot(strategy_.first_ticket));
  const std::vector<rkernel::Loop>& loops = kernel_.layers[threads_layer].loops;
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    llvm::Value* trips = loop->axis == contraction_.m   ? m_blocks_
                         : loop->axis == contraction_.n ? n_blocks_
                         : loop->axis == contraction_.k ? k_slices_
                                                        : extents_[at(loop->axis)];
    block_index_[loop->axis] = builder_.CreateURem(ticket, trips);
    ticket = builder_.CreateUDiv(ticket, trips);
  }
}

void ContractionBlocks::open_block(int axis) {
  llvm::Value* index = block_index_.at(axis);
  if (axis == contraction_.m) {
    llvm::Value* rows = region_slot(strategy_.m_size);
    m_part_ = part(rows, m_blocks_, index);
    llvm::Value* is_larger =
        builder_.CreateICmpSGT(builder_.CreateMul(m_part_.size, m_blocks_), rows);
    m_part_.start = builder_.CreateAdd(m_part_.start, region_slot(strategy_.m_begin));
    const auto of_block = [&](int larger, int smaller) {
      return builder_.CreateSelect(is_larger, region_slot(larger), region_slot(smaller));
    };
    first_rows_ = of_block(strategy_.larger.first_rows, strategy_.smaller.first_rows);
    first_tiles_ = of_block(strategy_.larger.first_tiles, strategy_.smaller.first_tiles);
    second_rows_ = of_block(strategy_.larger.second_rows, strategy_.smaller.second_rows);
    m_tiles_ = of_block(strategy_.larger.tiles, strategy_.smaller.tiles);
  } else if (axis == contraction_.n) {
    n_part_ = part(region_slot(strategy_.panels), n_blocks_, index);
    n_part_.start = builder_.CreateAdd(n_part_.start, region_slot(strategy_.first_panel));
    // A panel with fewer columns is a tile of its own where B is read as it lies, for it is packed,
    // and where dots compute its rest.
    llvm::Value* is_cut = builder_.CreateICmpSGT(
        builder_.CreateMul(builder_.CreateAdd(n_part_.start, n_part_.size), number(isa_.panel_f32)),
        extents_[at(axis)]);
    has_rest_ = builder_.CreateAnd(builder_.CreateICmpNE(rest_columns_, number(0)), is_cut);
    cut_panels_ = builder_.CreateZExt(
        builder_.CreateOr(builder_.CreateAnd(direct_b_, is_cut), has_rest_), builder_.getInt64Ty());
    wide_tiles_ = builder_.CreateUDiv(builder_.CreateSub(n_part_.size, cut_panels_), tile_panels_);
    n_tiles_ = builder_.CreateSub(
        n_part_.size, builder_.CreateMul(wide_tiles_, builder_.CreateSub(tile_panels_, number(1))));
  } else if (axis == contraction_.k) {
    k_part_ = part(extents_[at(axis)], k_slices_, index);
  } else {
    operands_->set_index(axis, index);
  }
}

llvm::Value* ContractionBlocks::batch_base(int operand) {
  llvm::Value* offset = slot(slots_.offset(operand));
  for (const int axis : batch_axes(problem_))
    offset = builder_.CreateAdd(offset,
                                builder_.CreateMul(block_index_.at(axis), stride(operand, axis)));
  return element(bases_.at(operand), offset);
}

}  // namespace dyn::cpu
