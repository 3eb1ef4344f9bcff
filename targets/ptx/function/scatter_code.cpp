// The kernel of a scatter. Each ticket copies its places from the data, and then goes through the
// rows of its line, of which each step takes as many as a block has groups. An element belongs to
// one thread, which copies it and makes all of its changes, one row after the other.

#include "targets/llvm/code/loops.hpp"
#include "targets/ptx/function/scatter.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/ir/words.hpp"
#include "targets/ptx/loop/simplify.hpp"

namespace dyn::ptx {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;
using Values = std::vector<Value*>;
using Stride = int ScatterAxis::*;

std::vector<Digit> digits_of(const std::vector<ScatterAxis>& axes) {
  std::vector<Digit> digits;
  for (const ScatterAxis& axis : axes) digits.push_back(axis.digit);
  return digits;
}

class ScatterEmitter {
 public:
  ScatterEmitter(llvm::Module& module, const std::string& symbol, const ScatterProblem& scatter)
      : scatter_(scatter),
        code_(module, symbol, scatter_shared_bytes),
        builder_(code_.builder()),
        width_(builder_.CreateShl(number(builder_, 1), code_.word(scatter.lane_shift))),
        lane_(builder_.CreateAnd(code_.thread(), minus_one(width_))),
        group_(builder_.CreateLShr(code_.thread(), code_.word(scatter.lane_shift))),
        groups_(code_.word(scatter.groups)) {}

  llvm::Function& emit() {
    CountedLoop tickets(builder_, call(builder_, Op::Block), code_.word(scatter_.tickets),
                        call(builder_, Op::Blocks), "ticket");
    // Threads may still read the buffers of the ticket before.
    call(builder_, Op::Barrier);
    take(tickets.index());
    Conditional exists(builder_, builder_.CreateICmpSLT(element_, code_.word(scatter_.lane_extent)),
                       "lane");
    emit_copy();
    exists.close();
    emit_rows();
    tickets.close();
    builder_.CreateRetVoid();
    return code_.function();
  }

 private:
  Value* minus_one(Value* value) { return builder_.CreateSub(value, number(builder_, 1)); }

  /// The distances of the thread's line and lane, and the ticket's places.
  void take(Value* ticket) {
    std::vector<Digit> digits = digits_of(scatter_.lines);
    digits.push_back(scatter_.chunks);
    digits.push_back(scatter_.parts);
    Values at = code_.split(ticket, digits);
    Value* part = at.back();
    at.pop_back();
    element_ = builder_.CreateAdd(builder_.CreateMul(at.back(), width_), lane_);
    at.pop_back();
    has_rows_ = builder_.CreateICmpSLT(element_, code_.word(scatter_.lane_bound));
    for (std::size_t i = 0; i < at.size(); ++i)
      has_rows_ = builder_.CreateAnd(
          has_rows_, builder_.CreateICmpSLT(at[i], code_.word(scatter_.line_bounds[i])));
    for (const Stride stride :
         {&ScatterAxis::data, &ScatterAxis::indices, &ScatterAxis::updates, &ScatterAxis::result}) {
      Value* line = distance(at, scatter_.lines, stride);
      if (!scatter_.lane.empty())
        line = builder_.CreateAdd(line, distance({element_}, scatter_.lane, stride));
      base(stride) = line;
    }
    first_ = builder_.CreateMul(part, code_.word(scatter_.part_places));
    Value *end = builder_.CreateAdd(first_, code_.word(scatter_.part_places)),
          *count = code_.word(scatter_.place_count);
    end_ = builder_.CreateSelect(builder_.CreateICmpSLT(end, count), end, count);
  }

  Value*& base(Stride stride) {
    if (stride == &ScatterAxis::data) return data_;
    if (stride == &ScatterAxis::indices) return indices_;
    return stride == &ScatterAxis::updates ? updates_ : result_;
  }

  Value* distance(const Values& indices, const std::vector<ScatterAxis>& axes, Stride stride) {
    Values varying;
    std::vector<int> strides;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i].*stride < 0) continue;
      varying.push_back(indices[i]);
      strides.push_back(axes[i].*stride);
    }
    return code_.distance(varying, strides);
  }
  /// The element of the thread's line and lane at these indices along more axes.
  Value* pointer(const FunctionPart& part, Stride stride, const Values& indices,
                 const std::vector<ScatterAxis>& axes) {
    return code_.pointer(part, builder_.CreateAdd(base(stride), distance(indices, axes, stride)));
  }

  void emit_copy() {
    CountedLoop copy(builder_, builder_.CreateAdd(first_, group_), end_, groups_, "copy");
    const Values place = code_.split(copy.index(), digits_of(scatter_.places));
    Value* bits = code_.load_bits(
        scatter_.data, pointer(scatter_.data, &ScatterAxis::data, place, scatter_.places));
    code_.store_bits(scatter_.result,
                     pointer(scatter_.result, &ScatterAxis::result, place, scatter_.places), bits);
    copy.close();
  }

  void emit_rows() {
    Value* zero = number(builder_, 0);
    CountedLoop step(builder_, zero, code_.word(scatter_.row_count), groups_, "step", {{zero}});
    buffer_ = at_byte(builder_, call(builder_, Op::Shared),
                      builder_.CreateMul(step.carried(0), number(builder_, scatter_buffer_bytes)));
    publish(builder_.CreateAdd(step.index(), group_));
    call(builder_, Op::Barrier);
    emit_changes(step.index());
    step.close({{builder_.CreateXor(step.carried(0), number(builder_, 1))}});
  }

  Value* entry(Value* thread) {
    return at_byte(builder_, buffer_, builder_.CreateMul(thread, number(builder_, 4)));
  }
  Value* ballot(Value* warp) {
    return entry(builder_.CreateAdd(warp, number(builder_, function_threads)));
  }

  /// Leaves for the others where the row's place lies in the ticket's places, and that it does.
  void publish(Value* row) {
    Value* exists =
        builder_.CreateAnd(has_rows_, builder_.CreateICmpSLT(row, code_.word(scatter_.row_count)));
    Conditional read(builder_, exists, "row");
    Value* inside = builder_.getTrue();
    Value* place = builder_.CreateSub(place_of(row, inside), first_);
    Value* own =
        builder_.CreateAnd(inside, builder_.CreateICmpULT(place, builder_.CreateSub(end_, first_)));
    code_.report(builder_.CreateNot(inside));
    const Values found = read.close({{own, place}}, {{builder_.getFalse(), number(builder_, 0)}});
    builder_.CreateAlignedStore(found[1], entry(code_.thread()), llvm::Align(4));
    Value* bits = call(builder_, Op::Ballot, {found[0], number(builder_, -1)});
    Conditional first(
        builder_,
        builder_.CreateICmpEQ(builder_.CreateAnd(code_.thread(), number(builder_, 31)),
                              number(builder_, 0)),
        "first_lane");
    builder_.CreateAlignedStore(bits, ballot(builder_.CreateLShr(code_.thread(), 5)),
                                llvm::Align(4));
    first.close();
  }

  /// The place that the row's indices give; `inside`: whether there is one.
  Value* place_of(Value* row, Value*& inside) {
    const Values at = code_.split(row, digits_of(scatter_.rows));
    Value* from = pointer(scatter_.indices, &ScatterAxis::indices, at, scatter_.rows);
    Value* place = number(builder_, 0);
    for (std::size_t i = 0; i < scatter_.places.size(); ++i) {
      Value* index = code_.load_bits(scatter_.indices, component(from, static_cast<int>(i)));
      index = builder_.CreateSExt(index, builder_.getInt64Ty());
      Value* extent = code_.wide(scatter_.places[i].digit.count);
      Value* negative = builder_.CreateICmpSLT(index, builder_.getInt64(0));
      index = builder_.CreateSelect(negative, builder_.CreateAdd(index, extent), index);
      inside = builder_.CreateAnd(inside, builder_.CreateICmpULT(index, extent));
      place = builder_.CreateAdd(
          builder_.CreateMul(place, builder_.CreateTrunc(extent, builder_.getInt32Ty())),
          builder_.CreateTrunc(index, builder_.getInt32Ty()));
    }
    return place;
  }

  Value* component(Value* from, int index) {
    if (index == 0) return from;
    llvm::Type* type =
        builder_.getIntNTy(static_cast<unsigned>(8 * size_of(scatter_.indices.dtype)));
    return builder_.CreateGEP(
        type, from, code_.distance({{number(builder_, index)}}, {{scatter_.component_stride}}));
  }

  /// The rows of a step, in their order, as far as they have the thread's lane.
  void emit_changes(Value* first_row) {
    Value* lanes = builder_.CreateShl(code_.word(scatter_.same_lanes),
                                      builder_.CreateAnd(lane_, number(builder_, 31)));
    CountedLoop warps(builder_, builder_.CreateLShr(lane_, 5), number(builder_, scatter_warps),
                      code_.word(scatter_.warp_step), "warp");
    Value* bits =
        builder_.CreateAlignedLoad(builder_.getInt32Ty(), ballot(warps.index()), llvm::Align(4));
    emit_set_bits(builder_.CreateAnd(bits, lanes), [&](Value* bit) {
      Value* thread =
          builder_.CreateAdd(builder_.CreateMul(warps.index(), number(builder_, 32)), bit);
      Value* place =
          builder_.CreateAlignedLoad(builder_.getInt32Ty(), entry(thread), llvm::Align(4));
      Value* owner = builder_.CreateAnd(place, minus_one(groups_));
      Conditional own(builder_, builder_.CreateICmpEQ(owner, group_), "own");
      Value* row = builder_.CreateAdd(first_row,
                                      builder_.CreateLShr(thread, code_.word(scatter_.lane_shift)));
      change(builder_.CreateAdd(first_, place), row);
      own.close();
    });
    warps.close();
  }

  /// Emits body(number of the bit) for each set bit, the lowest first.
  template <class Body>
  void emit_set_bits(Value* bits, const Body& body) {
    llvm::LLVMContext& context = builder_.getContext();
    llvm::Function* function = &code_.function();
    llvm::BasicBlock *before = builder_.GetInsertBlock(),
                     *inside = llvm::BasicBlock::Create(context, "bit", function),
                     *after = llvm::BasicBlock::Create(context, "bit.after", function);
    Value* zero = number(builder_, 0);
    builder_.CreateCondBr(builder_.CreateICmpNE(bits, zero), inside, after);
    builder_.SetInsertPoint(inside);
    llvm::PHINode* left = builder_.CreatePHI(builder_.getInt32Ty(), 2, "bits");
    left->addIncoming(bits, before);
    body(lowest_bit(left));
    Value* next = builder_.CreateAnd(left, minus_one(left));
    left->addIncoming(next, builder_.GetInsertBlock());
    builder_.CreateCondBr(builder_.CreateICmpNE(next, zero), inside, after);
    builder_.SetInsertPoint(after);
  }

  /// A power of two is exact as f32, where its exponent is the number of its bit, plus 127.
  Value* lowest_bit(Value* bits) {
    constexpr int exponent_place = 23, exponent_bias = 127;
    Value* lowest = builder_.CreateAnd(bits, builder_.CreateNeg(bits));
    Value* single = builder_.CreateUIToFP(lowest, builder_.getFloatTy());
    Value* exponent =
        builder_.CreateLShr(builder_.CreateBitCast(single, builder_.getInt32Ty()), exponent_place);
    return builder_.CreateSub(exponent, number(builder_, exponent_bias));
  }

  void change(Value* place, Value* row) {
    Value* update = code_.load_bits(
        scatter_.updates, pointer(scatter_.updates, &ScatterAxis::updates,
                                  code_.split(row, digits_of(scatter_.rows)), scatter_.rows));
    Value* to = pointer(scatter_.result, &ScatterAxis::result,
                        code_.split(place, digits_of(scatter_.places)), scatter_.places);
    if (scatter_.reduction != "none") {
      Value* element = code_.from_bits(scatter_.result, code_.load_bits(scatter_.result, to));
      update = code_.to_bits(scatter_.result,
                             changed(element, code_.from_bits(scatter_.updates, update)));
    }
    code_.store_bits(scatter_.result, to, update);
  }

  Value* changed(Value* element, Value* by) {
    const bool is_float = element->getType()->isFloatTy();
    if (scatter_.reduction == "add")
      return is_float ? builder_.CreateFAdd(element, by) : builder_.CreateAdd(element, by);
    if (scatter_.reduction == "mul")
      return is_float ? builder_.CreateFMul(element, by) : builder_.CreateMul(element, by);
    const bool greater = scatter_.reduction == "max";
    Value *low = greater ? element : by, *high = greater ? by : element;
    Value* less = is_float                             ? builder_.CreateFCmpOLT(low, high)
                  : is_unsigned(scatter_.result.dtype) ? builder_.CreateICmpULT(low, high)
                                                       : builder_.CreateICmpSLT(low, high);
    return builder_.CreateSelect(less, by, element);
  }

  const ScatterProblem& scatter_;
  FunctionCode code_;
  codegen::Builder& builder_;
  Value *width_, *lane_, *group_, *groups_;
  Value* element_ = nullptr;                 ///< index along the lane's axis
  Value* has_rows_ = nullptr;                ///< i1
  Value *first_ = nullptr, *end_ = nullptr;  ///< the ticket's places
  /// Distances of the thread's line and lane.
  Value *data_ = nullptr, *indices_ = nullptr, *updates_ = nullptr, *result_ = nullptr;
  Value* buffer_ = nullptr;  ///< of the step
};

}  // namespace

void emit_scatter(llvm::Module& module, const std::string& symbol, const ScatterProblem& scatter) {
  simplify(ScatterEmitter(module, symbol, scatter).emit());
}

}  // namespace dyn::ptx
