#include "targets/cpu/contraction/copies.hpp"

#include "targets/cpu/move/moves.hpp"
#include "targets/cpu/move/window_copy.hpp"
#include "targets/cpu/tile/widening.hpp"

namespace dyn::cpu {

using codegen::Conditional;

WindowBlock ContractionCopies::window_block() {
  const rkernel::WindowRows& rows = *problem_.operands[at(contraction_.a)].window;
  const codegen::WindowSlots& slots = slots_.window(contraction_.a);
  std::map<int, llvm::Value*> left;  // of the index along each batch axis: the parts before
  WindowBlock block{{}, slot(slots.channels), slot(slots.channel_step)};
  for (std::size_t i = rows.axes.size(); i-- > 0;) {
    const rkernel::WindowAxis& axis = rows.axes[i];
    const codegen::WindowAxisSlots& of = slots.axes[i];
    WindowAxisValues values{slot(of.size),   slot(of.stride), slot(of.dilation),
                            slot(of.before), slot(of.extent), slot(of.step)};
    values.has_taps = axis.size.constant() != 1;
    if (axis.axis == contraction_.m) {
      values.count = slot(of.count);
    } else {
      llvm::Value*& index = left.try_emplace(axis.axis, block_index_.at(axis.axis)).first->second;
      values.index = builder_.CreateURem(index, slot(of.count));
      index = builder_.CreateUDiv(index, slot(of.count));
    }
    block.axes.insert(block.axes.begin(), values);
  }
  block.unit_channels = rows.channel_step.constant() == 1;
  block.run = rkernel::is_run(rows);
  block.segment = rkernel::short_segment(rows);
  block.data = batch_base(contraction_.a);
  block.first_row = m_part_.start;
  block.rows = m_part_.size;
  block.k0 = k0_;
  block.k_size = k_size_;
  return block;
}

void ContractionCopies::find_strip() {
  reads_strip_ = builder_.CreateICmpNE(region_slot(strategy_.reads_strip), number(0));
  rows_in_strip_ =
      builder_.CreateSelect(reads_strip_, builder_.CreateMul(first_tiles_, first_rows_), number(0));
  strip_.emplace(builder_, isa_, window_block());
}

void ContractionCopies::copy_window_block() {
  if (!class_.strips) return emit_window_copy(builder_, isa_, window_block(), a_scratch_, a_row_);
  Conditional strip(builder_, reads_strip_, "strip");
  strip_->emit_copy(scratch(region_slot(strategy_.strip_scratch)),
                    scratch(region_slot(strategy_.offsets_scratch)));
  strip.close();
  WindowBlock block = strip_->block();
  block.first_row = builder_.CreateAdd(block.first_row, rows_in_strip_);
  block.rows = builder_.CreateSub(block.rows, rows_in_strip_);
  emit_window_copy(builder_, isa_, block, a_scratch_, a_row_);
}

void ContractionCopies::copy_a_block() {
  if (problem_.operands[at(contraction_.a)].window) return copy_window_block();
  llvm::Value* stride_k = class_.a_unit ? number(1)
                          : a_packed()  ? number(isa_.panel_f32)
                                        : stride(contraction_.a, contraction_.k);
  const DType dtype = dtype_of(contraction_.a);
  const StridedMatrix block{
      element_of(builder_, dtype, a_block_, builder_.CreateMul(k0_, stride_k)), a_stride_m_,
      stride_k, class_.a_unit, dtype};
  emit_row_copy(builder_, isa_, block, m_part_.size, k_size_, a_scratch_, a_row_);
}

void ContractionCopies::copy_b_rows() {
  llvm::Value* stride_n = packed() ? number(1) : stride(contraction_.b, contraction_.n);
  llvm::Value* stride_k =
      packed() ? number(isa_.panel_f32) : stride(contraction_.b, contraction_.k);
  const DType dtype = dtype_of(contraction_.b);
  llvm::Value* corner = element_of(builder_, dtype, b_batch_, builder_.CreateMul(k0_, stride_k));
  llvm::Value* contiguous = builder_.CreateICmpEQ(stride_k, number(1));
  for (const bool unit : {true, false}) {
    Conditional copy(builder_, unit ? contiguous : builder_.CreateNot(contiguous),
                     unit ? "copy_b" : "turn_b");
    emit_row_copy(builder_, isa_, {corner, stride_n, stride_k, unit, dtype},
                  extents_[at(contraction_.n)], k_size_, b_scratch_, a_row_);
    copy.close();
  }
}

void ContractionCopies::copy_rest_of_b() {
  Conditional rest(builder_, has_rest_, "copy_rest");
  llvm::Value* n = extents_[at(contraction_.n)];
  llvm::Value* column = builder_.CreateSub(n, rest_columns_);
  llvm::Value *stride_k = number(isa_.panel_f32), *stride_n = number(1), *corner;
  const DType dtype = dtype_of(contraction_.b);
  if (packed()) {
    llvm::Value* panel_column = builder_.CreateURem(column, number(isa_.panel_f32));
    llvm::Value* panel =
        builder_.CreateMul(builder_.CreateSub(column, panel_column), extents_[at(contraction_.k)]);
    corner = builder_.CreateAdd(builder_.CreateAdd(panel, builder_.CreateMul(k0_, stride_k)),
                                panel_column);
  } else {
    stride_k = stride(contraction_.b, contraction_.k);
    stride_n = class_.b_unit ? number(1) : stride(contraction_.b, contraction_.n);
    corner =
        builder_.CreateAdd(builder_.CreateMul(k0_, stride_k), builder_.CreateMul(column, stride_n));
  }
  const StridedMatrix columns{element_of(builder_, dtype, b_batch_, corner), stride_k, stride_n,
                              packed() || class_.b_unit, dtype};
  emit_columns_as_rows(builder_, isa_, columns, k_size_, rest_columns_,
                       scratch(region_slot(strategy_.rest_place)), a_row_);
  rest.close();
}

void ContractionCopies::pack_b_block() {
  llvm::Value* stride_k = stride(contraction_.b, contraction_.k);
  llvm::Value* stride_n = class_.b_unit ? number(1) : stride(contraction_.b, contraction_.n);
  llvm::Value* panels = builder_.CreateSelect(direct_b_, cut_panels_, n_part_.size);
  llvm::Value* end = builder_.CreateAdd(n_part_.start, n_part_.size);
  llvm::Value* column = builder_.CreateMul(builder_.CreateSub(end, panels), number(isa_.panel_f32));
  llvm::Value* corner =
      builder_.CreateAdd(builder_.CreateMul(k0_, stride_k), builder_.CreateMul(column, stride_n));
  const StridedMatrix block{element(b_batch_, corner), stride_k, stride_n, class_.b_unit};
  emit_panels(builder_, isa_, block, k_size_, panels,
              builder_.CreateSub(extents_[at(contraction_.n)], column), b_scratch_);
}

}  // namespace dyn::cpu
