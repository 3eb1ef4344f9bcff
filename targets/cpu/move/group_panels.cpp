#include "targets/cpu/move/group_panels.hpp"

#include <vector>

#include "targets/cpu/tile/widening.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/code/transpose.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

/// Rows of so many panels are read one after the other: whole cache lines, in runs that hardware
/// foresees.
constexpr int strip_panels = 8;

/// The elements of one group, of which only the first `count` exist, as a word: `load` gives that
/// of an index in the memory's type, `element` is the group's.
template <class Load>
Value* word_of_elements(codegen::Builder& builder, int size, llvm::Type* element, Value* count,
                        const Load& load) {
  Value* word = builder.getInt32(0);
  for (int i = 0; i < size; ++i) {
    Value* index = builder.getInt64(static_cast<std::uint64_t>(i));
    Value* exists = builder.CreateICmpSLT(index, count);
    Value* one = load(builder.CreateSelect(exists, index, builder.getInt64(0)));
    one = builder.CreateSelect(exists, one, llvm::ConstantInt::get(one->getType(), 0));
    Value* bits = builder.CreateZExt(builder.CreateSExt(one, element), builder.getInt32Ty());
    word = builder.CreateOr(word,
                            builder.CreateShl(bits, static_cast<std::uint64_t>(i * (32 / size))));
  }
  return word;
}

class GroupPanels {
 public:
  GroupPanels(codegen::Builder& builder, const codegen::Isa& isa, rkernel::Group group,
              const StridedMatrix& from, Value* rows)
      : builder_(builder),
        isa_(isa),
        from_(from),
        elements_(rows),
        lanes_(isa.f32_lanes),
        size_(rkernel::elements_of(group)),
        element_(builder.getIntNTy(32U / static_cast<unsigned>(size_))),
        whole_(builder.CreateUDiv(rows, number(size_))),
        groups_(builder.CreateUDiv(builder.CreateAdd(rows, number(size_ - 1)), number(size_))) {}

  void emit(Value* panels, Value* columns, Value* to) const {
    if (!from_.unit) return emit_panels(number(0), panels, columns, to);
    Value* whole = builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, panels, builder_.CreateUDiv(columns, number(isa_.panel_f32)));
    emit_strips(whole, to);
    emit_panels(whole, panels, columns, to);
  }

 private:
  Value* number(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  Value* element(Value* base, Value* index) const {
    return element_of(builder_, from_.dtype, base, index);
  }
  /// The row of words of one group.
  Value* row_of(Value* to, Value* group) const {
    return builder_.CreateGEP(builder_.getInt32Ty(), to,
                              builder_.CreateMul(group, number(isa_.panel_f32)));
  }
  llvm::Type* memory_type() const {
    return builder_.getIntNTy(8U * static_cast<unsigned>(size_of(from_.dtype)));
  }
  llvm::Align alignment() const { return llvm::Align(size_of(from_.dtype)); }

  Value* column_at(Value* panel, int vector) const {
    return builder_.CreateAdd(builder_.CreateMul(panel, number(isa_.panel_f32)), number(vector));
  }
  Value* words_at(Value* to, Value* panel, int vector) const {
    Value* panel_words = builder_.CreateMul(groups_, number(isa_.panel_f32));
    return builder_.CreateGEP(
        builder_.getInt32Ty(), to,
        builder_.CreateAdd(builder_.CreateMul(panel, panel_words), number(vector)));
  }

  /// Panels whose columns all exist, and are contiguous.
  void emit_strips(Value* panels, Value* to) const {
    CountedLoop strip(builder_, number(0), panels, number(strip_panels), "strip_of_panels");
    Value* end = builder_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, panels, builder_.CreateAdd(strip.index(), number(strip_panels)));
    CountedLoop group(builder_, number(0), whole_, number(1), "strip_row");
    CountedLoop panel(builder_, strip.index(), end, number(1), "panel_of_row");
    for (int vector = 0; vector < isa_.panel_f32; vector += isa_.f32_lanes) {
      Value* column = element(from_.data, column_at(panel.index(), vector));
      emit_row(column, group.index(), nullptr, words_at(to, panel.index(), vector));
    }
    panel.close();
    group.close();
    strip.close();
    CountedLoop last(builder_, number(0), panels, number(1), "last_groups");
    for (int vector = 0; vector < isa_.panel_f32; vector += isa_.f32_lanes)
      emit_single(element(from_.data, column_at(last.index(), vector)), number(lanes_),
                  words_at(to, last.index(), vector), whole_);
    last.close();
  }

  /// One after the other; of the last one there may be fewer columns.
  void emit_panels(Value* first, Value* last, Value* columns, Value* to) const {
    CountedLoop panel(builder_, first, last, number(1), "panel_of_groups");
    for (int vector = 0; vector < isa_.panel_f32; vector += isa_.f32_lanes) {
      Value* at = column_at(panel.index(), vector);
      emit_vector(element(from_.data, builder_.CreateMul(at, from_.column_stride)),
                  builder_.CreateSub(columns, at), words_at(to, panel.index(), vector));
    }
    panel.close();
  }

  /// Columns from address `column` on, of which `left` exist, to words from `to` on.
  void emit_vector(Value* column, Value* left, Value* to) const {
    Conditional exists(builder_, builder_.CreateICmpSGT(left, number(0)), "vector_of_groups");
    if (from_.unit && isa_.mask_registers) {
      emit_masked_rows(column, left, to);
    } else if (from_.unit) {
      emit_single(column, left, to, number(0));
    } else {
      Value* contiguous = builder_.CreateICmpEQ(from_.row_stride, number(1));
      Conditional turned(builder_, contiguous, "contiguous_groups");
      emit_turned(column, left, to);
      turned.close();
      Conditional apart(builder_, builder_.CreateNot(contiguous), "groups_apart");
      emit_single(column, left, to, number(0));
      apart.close();
    }
    exists.close();
  }

  /// Elements as those of the group.
  Value* widened(Value* elements, int count) const {
    return builder_.CreateSExt(elements, codegen::lanes_of(element_, count));
  }

  /// Alternates the elements of two vectors.
  Value* interleaved(Value* a, Value* b, int count) const {
    std::vector<int> places;
    for (int i = 0; i < count; ++i) places.insert(places.end(), {i, count + i});
    return builder_.CreateShuffleVector(a, b, places);
  }

  Value* words_of(const std::vector<Value*>& rows) const {
    auto* words = codegen::lanes_of(builder_.getInt32Ty(), lanes_);
    if (size_ == 2) return builder_.CreateBitCast(interleaved(rows[0], rows[1], lanes_), words);
    auto* pairs = codegen::lanes_of(builder_.getInt16Ty(), lanes_);
    const auto pair = [&](int first) {
      const auto at = static_cast<std::size_t>(first);
      return builder_.CreateBitCast(interleaved(rows[at], rows[at + 1], lanes_), pairs);
    };
    return builder_.CreateBitCast(interleaved(pair(0), pair(2), lanes_), words);
  }

  /// Rows of a vector that may be cut.
  void emit_masked_rows(Value* column, Value* left, Value* to) const {
    Value* mask = builder_.CreateICmpSLT(codegen::iota(builder_, builder_.getInt64Ty(), lanes_),
                                         codegen::broadcast(builder_, left, lanes_));
    CountedLoop group(builder_, number(0), whole_, number(1), "interleave_groups");
    emit_row(column, group.index(), mask, to);
    group.close();
    emit_single(column, left, to, whole_);
  }

  /// Interleaves the elements of a group's rows; mask nullptr: all columns exist.
  void emit_row(Value* column, Value* group, Value* mask, Value* to) const {
    auto* type = codegen::lanes_of(memory_type(), lanes_);
    Value* first = builder_.CreateMul(group, number(size_));
    std::vector<Value*> rows;
    for (int i = 0; i < size_; ++i) {
      Value* place = builder_.CreateMul(builder_.CreateAdd(first, number(i)), from_.row_stride);
      Value* address = element(column, place);
      Value* row = mask == nullptr
                       ? static_cast<Value*>(builder_.CreateAlignedLoad(type, address, alignment()))
                       : builder_.CreateMaskedLoad(type, address, alignment(), mask,
                                                   llvm::Constant::getNullValue(type));
      rows.push_back(widened(row, lanes_));
    }
    builder_.CreateAlignedStore(words_of(rows), row_of(to, group), llvm::Align(4));
  }

  /// Columns whose rows are contiguous: squares of words are transposed. Columns beyond the last
  /// repeat it.
  void emit_turned(Value* column, Value* left, Value* to) const {
    auto* type = codegen::lanes_of(memory_type(), lanes_ * size_);
    auto* words = codegen::lanes_of(builder_.getInt32Ty(), lanes_);
    Value* whole = builder_.CreateAnd(whole_, number(-static_cast<std::int64_t>(lanes_)));
    CountedLoop square(builder_, number(0), whole, number(lanes_), "square_of_groups");
    Value* first = builder_.CreateMul(square.index(), number(size_));
    std::vector<Value*> columns;
    for (int lane = 0; lane < lanes_; ++lane) {
      Value* index = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, number(lane),
                                                    builder_.CreateSub(left, number(1)));
      Value* address = element(
          column, builder_.CreateAdd(builder_.CreateMul(index, from_.column_stride), first));
      Value* elements = builder_.CreateAlignedLoad(type, address, alignment());
      columns.push_back(builder_.CreateBitCast(widened(elements, lanes_ * size_), words));
    }
    Value* target = row_of(to, square.index());
    for (Value* row : codegen::transpose(builder_, columns)) {
      builder_.CreateAlignedStore(row, target, llvm::Align(4));
      target = row_of(target, number(1));
    }
    square.close();
    emit_single(column, left, to, whole);
  }

  /// Groups from `begin` on, word by word.
  void emit_single(Value* column, Value* left, Value* to, Value* begin) const {
    Value* count = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, number(lanes_));
    CountedLoop group(builder_, begin, groups_, number(1), "group");
    CountedLoop lane(builder_, number(0), count, number(1), "word");
    Value* first = builder_.CreateMul(group.index(), number(size_));
    Value* at = builder_.CreateMul(lane.index(), from_.column_stride);
    Value* word = word_of_elements(
        builder_, size_, element_, builder_.CreateSub(elements_, first),
        [&](Value* index) -> Value* {
          Value* place = builder_.CreateMul(builder_.CreateAdd(first, index), from_.row_stride);
          return builder_.CreateAlignedLoad(
              memory_type(), element(column, builder_.CreateAdd(at, place)), alignment());
        });
    builder_.CreateAlignedStore(
        word, builder_.CreateGEP(builder_.getInt32Ty(), row_of(to, group.index()), lane.index()),
        llvm::Align(4));
    lane.close();
    group.close();
  }

  codegen::Builder& builder_;
  const codegen::Isa& isa_;
  const StridedMatrix& from_;
  Value* elements_;
  const int lanes_, size_;
  llvm::Type* element_;
  Value *whole_, *groups_;  ///< whole groups, and all
};

}  // namespace

void emit_group_panels(codegen::Builder& builder, const codegen::Isa& isa, rkernel::Group group,
                       const StridedMatrix& from, Value* rows, Value* panels, Value* columns,
                       Value* to) {
  GroupPanels(builder, isa, group, from, rows).emit(panels, columns, to);
}

void emit_group_rows(codegen::Builder& builder, const codegen::Isa& isa, rkernel::Group group,
                     const StridedMatrix& from, Value* rows, Value* columns, Value* to,
                     Value* to_row) {
  const auto number = [&](std::int64_t value) {
    return builder.getInt64(static_cast<std::uint64_t>(value));
  };
  const int size = rkernel::elements_of(group), lanes = isa.f32_lanes;
  llvm::Type* const word = builder.getInt32Ty();
  llvm::Type* const bits = builder.getIntNTy(32U / static_cast<unsigned>(size));
  const llvm::Align align(size_of(from.dtype));
  Value* whole = builder.CreateUDiv(columns, number(size));
  Value* vectors = builder.CreateAnd(whole, number(-static_cast<std::int64_t>(lanes)));
  CountedLoop row(builder, number(0), rows, number(1), "row_of_groups");
  Value* source =
      element_of(builder, from.dtype, from.data, builder.CreateMul(row.index(), from.row_stride));
  Value* target = builder.CreateGEP(word, to, builder.CreateMul(row.index(), to_row));
  const auto copy = [&](Value* begin, Value* end, int width, const char* name) {
    CountedLoop words(builder, begin, end, number(width), name);
    llvm::Type* const type = width == 1 ? word : codegen::lanes_of(word, width);
    Value* some =
        builder.CreateAlignedLoad(type, builder.CreateGEP(word, source, words.index()), align);
    builder.CreateAlignedStore(some, builder.CreateGEP(word, target, words.index()),
                               llvm::Align(4));
    words.close();
  };
  copy(number(0), vectors, lanes, "vector_of_words");
  if (isa.mask_registers) {
    Value* left = builder.CreateSub(whole, vectors);
    Value* mask = builder.CreateICmpSLT(codegen::iota(builder, builder.getInt64Ty(), lanes),
                                        codegen::broadcast(builder, left, lanes));
    auto* type = codegen::lanes_of(word, lanes);
    Value* some = builder.CreateMaskedLoad(type, builder.CreateGEP(word, source, vectors), align,
                                           mask, llvm::Constant::getNullValue(type));
    builder.CreateMaskedStore(some, builder.CreateGEP(word, target, vectors), llvm::Align(4), mask);
  } else {
    copy(vectors, whole, 1, "word");
  }
  Value* first = builder.CreateMul(whole, number(size));
  Conditional rest(builder, builder.CreateICmpSLT(first, columns), "last_word");
  Value* last = word_of_elements(
      builder, size, bits, builder.CreateSub(columns, first), [&](Value* index) -> Value* {
        return builder.CreateAlignedLoad(
            bits, element_of(builder, from.dtype, source, builder.CreateAdd(first, index)), align);
      });
  builder.CreateAlignedStore(last, builder.CreateGEP(word, target, whole), llvm::Align(4));
  rest.close();
  row.close();
}

}  // namespace dyn::cpu
