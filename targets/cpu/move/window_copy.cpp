#include "targets/cpu/move/window_copy.hpp"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <string>

#include "targets/cpu/move/image_work.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

using codegen::Builder;
using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

/// body(offset, type) for whole vectors of `count` elements, then for each element that is left:
/// stores with masks are slow where they cut a line.
template <typename Body>
void over_vectors(Builder& builder, const codegen::Isa& isa, Value* count, const char* name,
                  const Body& body) {
  const auto number = [&](std::int64_t value) {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  };
  Value* whole = builder.CreateAnd(count, number(-isa.f32_lanes));
  CountedLoop vectors(builder, number(0), whole, number(isa.f32_lanes), name);
  body(vectors.index(),
       llvm::FixedVectorType::get(builder.getFloatTy(), static_cast<unsigned>(isa.f32_lanes)));
  vectors.close();
  CountedLoop rest(builder, whole, count, number(1), name);
  body(rest.index(), builder.getFloatTy());
  rest.close();
}

void move_element(Builder& builder, llvm::Type* type, Value* from, Value* to, Value* offset) {
  const auto element = [&](Value* base) {
    return builder.CreateGEP(builder.getFloatTy(), base, offset);
  };
  builder.CreateAlignedStore(builder.CreateAlignedLoad(type, element(from), llvm::Align(4)),
                             element(to), llvm::Align(4));
}

class WindowCopier {
 public:
  WindowCopier(Builder& builder, const codegen::Isa& isa, const WindowBlock& block, Value* to,
               Value* to_row)
      : builder_(builder),
        isa_(isa),
        block_(block),
        to_(to),
        to_row_(to_row),
        vector_(llvm::FixedVectorType::get(builder.getFloatTy(),
                                           static_cast<unsigned>(isa.f32_lanes))) {
    k_end_ = builder_.CreateAdd(block_.k0, block_.k_size);
  }

  void emit() {
    Value* has_all_of_k =
        builder_.CreateAnd(builder_.CreateICmpEQ(block_.k0, number(0)),
                           builder_.CreateICmpEQ(block_.k_size, elements_of_window()));
    CountedLoop rows(builder_, number(0), block_.rows, number(1), "window_row");
    target_ = element(to_, builder_.CreateMul(rows.index(), to_row_));
    locate(builder_.CreateAdd(block_.first_row, rows.index()));
    Value* is_whole = builder_.CreateAnd(has_all_of_k, lies_within());
    Conditional whole(builder_, is_whole, "whole_window");
    emit_whole(0, element(block_.data, first_element()), target_);
    whole.close();
    Conditional cut(builder_, builder_.CreateNot(is_whole), "cut_window");
    emit_taps(0, number(0), builder_.getTrue(), number(0));
    cut.close();
    rows.close();
  }

 private:
  Value* number(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }
  Value* element(Value* base, Value* index) {
    return builder_.CreateGEP(builder_.getFloatTy(), base, index);
  }
  Value* least(Value* a, Value* b) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  }
  Value* most(Value* a, Value* b) {
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
  }
  Value* product_sum(Value* sum, Value* a, Value* b) {
    return builder_.CreateAdd(sum, builder_.CreateMul(a, b));
  }
  bool has_taps(std::size_t axis) const { return block_.form.axes[axis].has_taps; }
  bool is_run_axis(std::size_t axis) const {
    return block_.form.run && axis + 1 == block_.axes.size();
  }

  /// Where the row's window begins along each axis.
  void locate(Value* row) {
    origins_.assign(block_.axes.size(), nullptr);
    const auto first = static_cast<std::size_t>(
        std::ranges::find_if(block_.form.axes, &WindowForm::Axis::of_m) - block_.form.axes.begin());
    for (std::size_t i = block_.axes.size(); i-- > 0;) {
      const WindowAxisValues& axis = block_.axes[i];
      Value* index = axis.index;
      if (block_.form.axes[i].of_m) {
        index = i == first ? row : builder_.CreateURem(row, axis.count);
        if (i != first) row = builder_.CreateUDiv(row, axis.count);
      }
      origins_[i] = builder_.CreateSub(builder_.CreateMul(index, axis.stride), axis.before);
    }
  }

  Value* elements_of_window() {
    Value* elements = block_.channels;
    for (std::size_t i = 0; i < block_.axes.size(); ++i)
      if (has_taps(i)) elements = builder_.CreateMul(elements, block_.axes[i].size);
    return elements;
  }

  /// Whether every tap of the row's window lies inside of the tensor.
  Value* lies_within() {
    Value* within = builder_.getTrue();
    for (std::size_t i = 0; i < block_.axes.size(); ++i) {
      const WindowAxisValues& axis = block_.axes[i];
      Value* last = has_taps(i) ? product_sum(origins_[i], builder_.CreateSub(axis.size, number(1)),
                                              axis.dilation)
                                : origins_[i];
      within = builder_.CreateAnd(within, builder_.CreateICmpSGE(origins_[i], number(0)));
      within = builder_.CreateAnd(within, builder_.CreateICmpSLT(last, axis.extent));
    }
    return within;
  }

  Value* first_element() {
    Value* offset = number(0);
    for (std::size_t i = 0; i < block_.axes.size(); ++i)
      offset = product_sum(offset, origins_[i], block_.axes[i].step);
    return offset;
  }

  /// All taps of axes from `axis` on, of which `from` is the first. Returns where the next one
  /// goes.
  Value* emit_whole(std::size_t axis, Value* from, Value* to) {
    if (axis == block_.axes.size()) return move_whole(from, to, block_.channels);
    const WindowAxisValues& along = block_.axes[axis];
    if (is_run_axis(axis))
      return move_whole(from, to, builder_.CreateMul(along.size, block_.channels));
    if (!has_taps(axis)) return emit_whole(axis + 1, from, to);
    Value* first[]{from, to};
    CountedLoop taps(builder_, number(0), along.size, number(1), "whole_tap", first);
    Value* following[]{element(taps.carried(0), builder_.CreateMul(along.dilation, along.step)),
                       emit_whole(axis + 1, taps.carried(0), taps.carried(1))};
    return taps.close(following).back();
  }

  Value* move_whole(Value* from, Value* to, Value* count) {
    if (block_.form.segment > 0)
      move_segment(from, to);
    else
      move_channels(from, to, count);
    block_.finish(builder_, to, number(0), count);
    return element(to, count);
  }

  /// For all taps of axes from `axis` on. `position`: how many taps come before in k; `offset`: of
  /// the element from the batch's first.
  void emit_taps(std::size_t axis, Value* position, Value* exists, Value* offset) {
    if (axis == block_.axes.size()) return emit_segment(position, exists, offset);
    const WindowAxisValues& along = block_.axes[axis];
    if (is_run_axis(axis))
      return emit_run(along, builder_.CreateMul(position, along.size), exists,
                      product_sum(offset, origins_[axis], along.step), origins_[axis]);
    const auto inside = [&](Value* place) {
      return builder_.CreateAnd(exists, builder_.CreateICmpULT(place, along.extent));
    };
    if (!has_taps(axis))
      return emit_taps(axis + 1, position, inside(origins_[axis]),
                       product_sum(offset, origins_[axis], along.step));
    CountedLoop taps(builder_, number(0), along.size, number(1), "tap");
    Value* place = product_sum(origins_[axis], taps.index(), along.dilation);
    emit_taps(axis + 1, product_sum(taps.index(), position, along.size), inside(place),
              product_sum(offset, place, along.step));
    taps.close();
  }

  /// The channels of one tap.
  void emit_segment(Value* position, Value* exists, Value* offset) {
    Value* start = builder_.CreateMul(position, block_.channels);
    Value* end = builder_.CreateAdd(start, block_.channels);
    copy(start, end, start, builder_.CreateSelect(exists, end, start), offset);
  }

  /// The channels of all taps of the last axis, of which those between the axis' ends exist.
  void emit_run(const WindowAxisValues& along, Value* position, Value* exists, Value* offset,
                Value* origin) {
    Value* start = builder_.CreateMul(position, block_.channels);
    const auto tap = [&](Value* place) {
      Value* inside =
          builder_.CreateSelect(exists, least(most(place, number(0)), along.size), number(0));
      return product_sum(start, inside, block_.channels);
    };
    Value* first = tap(builder_.CreateNeg(origin));
    Value* last = tap(builder_.CreateSub(along.extent, origin));
    copy(start, product_sum(start, along.size, block_.channels), first, last, offset);
  }

  /// Columns [start, end) of k as far as the block has them: those in [first, last) from `offset`
  /// on, which belongs to `start`; others lie outside.
  void copy(Value* start, Value* end, Value* first, Value* last, Value* offset) {
    Value *low = most(start, block_.k0), *high = least(end, k_end_);
    Conditional any(builder_, builder_.CreateICmpSLT(low, high), "segment");
    Value* from = least(most(first, low), high);
    Value* until = least(most(last, from), high);
    if (block_.form.segment > 0) {
      Value* is_whole =
          builder_.CreateAnd(builder_.CreateICmpEQ(from, start), builder_.CreateICmpEQ(until, end));
      Conditional whole(builder_, is_whole, "whole_segment");
      move_segment(element(block_.data, offset), place_of(start));
      block_.finish(builder_, place_of(start), number(0), number(block_.form.segment));
      whole.close();
      Conditional cut(builder_, builder_.CreateNot(is_whole), "cut_segment");
      copy_cut(low, high, from, until, start, offset);
      cut.close();
    } else {
      copy_cut(low, high, from, until, start, offset);
    }
    any.close();
  }

  /// What lies outside in [low, from) and [until, high), and between them what lies from `offset`
  /// on, which belongs to `start`.
  void copy_cut(Value* low, Value* high, Value* from, Value* until, Value* start, Value* offset) {
    clear(low, from);
    move(element(block_.data,
                 builder_.CreateAdd(offset, builder_.CreateMul(builder_.CreateSub(from, start),
                                                               block_.channel_step))),
         from, until);
    // Channel 0 comes first in each tap, and in each run of them.
    block_.finish(builder_, place_of(from), builder_.CreateURem(from, block_.channels),
                  builder_.CreateSub(until, from));
    clear(until, high);
  }

  /// All of a segment of known length. A last vector that it does not fill overlaps the one before.
  void move_segment(Value* from, Value* to) {
    const std::int64_t lanes = isa_.f32_lanes, vectors = block_.form.segment / lanes,
                       rest = block_.form.segment % lanes;
    const auto move_vector = [&](std::int64_t offset) {
      move_element(builder_, vector_, from, to, number(offset));
    };
    for (std::int64_t i = 0; i < vectors; ++i) move_vector(i * lanes);
    if (rest == 0) return;
    if (vectors > 0) return move_vector(block_.form.segment - lanes);
    for (std::int64_t i = 0; i < rest; ++i)
      move_element(builder_, builder_.getFloatTy(), from, to, number(i));
  }

  Value* place_of(Value* k) { return element(target_, builder_.CreateSub(k, block_.k0)); }

  void clear(Value* begin, Value* end) {
    fill_elements(builder_, isa_, block_.outside, place_of(begin), builder_.CreateSub(end, begin));
  }

  void move(Value* from, Value* begin, Value* end) {
    move_channels(from, place_of(begin), builder_.CreateSub(end, begin));
  }

  void move_channels(Value* from, Value* to, Value* count) {
    if (block_.form.unit_channels) return move_elements(builder_, isa_, from, to, count);
    CountedLoop channels(builder_, number(0), count, number(1), "channel");
    Value* source = element(from, builder_.CreateMul(channels.index(), block_.channel_step));
    builder_.CreateAlignedStore(
        builder_.CreateAlignedLoad(builder_.getFloatTy(), source, llvm::Align(4)),
        element(to, channels.index()), llvm::Align(4));
    channels.close();
  }

  Builder& builder_;
  const codegen::Isa& isa_;
  const WindowBlock& block_;
  Value *to_, *to_row_, *k_end_ = nullptr, *target_ = nullptr;
  llvm::FixedVectorType* vector_;
  std::vector<Value*> origins_;
};

// The values of a block, as a function takes them.
template <class Visit>
void for_each_value(WindowBlock& block, const Visit& visit) {
  for (Value** value : {&block.first_row, &block.rows, &block.k0, &block.k_size, &block.channels,
                        &block.channel_step, &block.outside})
    visit(*value);
  if (block.form.works) visit(block.work), visit(block.kernel_args);
  for (std::size_t i = 0; i < block.form.axes.size(); ++i) {
    WindowAxisValues& axis = block.axes[i];
    for (Value** value : {&axis.size, &axis.stride, &axis.dilation, &axis.before, &axis.extent,
                          &axis.step, block.form.axes[i].of_m ? &axis.count : &axis.index})
      visit(*value);
  }
}

// (values, data, to, to_row)
llvm::FunctionType* window_copy_type(Builder& builder) {
  llvm::Type* const pointer = builder.getPtrTy();
  return llvm::FunctionType::get(builder.getVoidTy(),
                                 {pointer, pointer, pointer, builder.getInt64Ty()}, false);
}

void emit_window_copy(llvm::Module& module, const std::string& symbol, const codegen::Isa& isa,
                      const WindowForm& form) {
  Builder builder(module.getContext());
  llvm::Function* const function = llvm::Function::Create(
      window_copy_type(builder), llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  WindowBlock block;
  block.form = form;
  block.axes.resize(form.axes.size());
  unsigned place = 0;
  for_each_value(block, [&](Value*& value) {
    Value* const field =
        builder.CreateConstGEP1_64(builder.getInt64Ty(), function->getArg(0), place++);
    value = builder.CreateAlignedLoad(builder.getInt64Ty(), field, llvm::Align(8));
  });
  block.data = function->getArg(1);
  WindowCopier(builder, isa, block, function->getArg(2), function->getArg(3)).emit();
  builder.CreateRetVoid();
}

}  // namespace

void move_elements(Builder& builder, const codegen::Isa& isa, Value* from, Value* to,
                   Value* count) {
  over_vectors(builder, isa, count, "elements", [&](Value* offset, llvm::Type* type) {
    move_element(builder, type, from, to, offset);
  });
}

void fill_elements(Builder& builder, const codegen::Isa& isa, Value* value, Value* to,
                   Value* count) {
  Value* bits = builder.CreateTrunc(value, builder.getInt32Ty());
  Value* lanes = builder.CreateVectorSplat(static_cast<unsigned>(isa.f32_lanes), bits);
  over_vectors(builder, isa, count, "padding", [&](Value* offset, llvm::Type* type) {
    builder.CreateAlignedStore(type->isVectorTy() ? lanes : bits,
                               builder.CreateGEP(builder.getFloatTy(), to, offset), llvm::Align(4));
  });
}

void WindowBlock::finish(Builder& builder, Value* copied, Value* channel, Value* count) const {
  if (form.works) call_image_work(builder, {work, kernel_args, channels}, copied, channel, count);
}

WindowForm window_form(const rkernel::WindowRows& rows, int m, bool works) {
  WindowForm form;
  form.works = works;
  form.unit_channels = rows.channel_step.constant() == 1;
  form.run = rkernel::is_run(rows);
  form.segment = rkernel::short_segment(rows);
  for (const rkernel::WindowAxis& axis : rows.axes)
    form.axes.push_back({.has_taps = axis.size.constant() != 1, .of_m = axis.axis == m});
  return form;
}

codegen::KernelSource window_copy_source(const codegen::Isa& isa, const WindowForm& form) {
  std::string axes;
  for (const WindowForm::Axis& axis : form.axes)
    axes += fmt::format(" {}{}", axis.of_m ? "m" : "b", axis.has_taps ? "t" : "");
  return {fmt::format("window copy{}{}{}{} segment {}", axes, form.unit_channels ? " unit" : "",
                      form.run ? " run" : "", form.works ? " works" : "", form.segment),
          [&isa, form](llvm::Module& module, const std::string& symbol) {
            emit_window_copy(module, symbol, isa, form);
          }};
}

void call_window_copy(Builder& builder, Value* function, const WindowBlock& block, Value* to,
                      Value* to_row) {
  WindowBlock values = block;
  std::vector<Value*> all;
  for_each_value(values, [&](Value*& value) { all.push_back(value); });
  llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  Builder first(&entry, entry.begin());
  Value* const array = first.CreateAlloca(
      llvm::ArrayType::get(builder.getInt64Ty(), static_cast<unsigned>(all.size())));
  for (std::size_t i = 0; i < all.size(); ++i)
    builder.CreateAlignedStore(all[i], builder.CreateConstGEP1_64(builder.getInt64Ty(), array, i),
                               llvm::Align(8));
  builder.CreateCall(window_copy_type(builder), function, {array, block.data, to, to_row});
}

}  // namespace dyn::cpu
