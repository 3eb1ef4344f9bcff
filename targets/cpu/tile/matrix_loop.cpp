#include "targets/cpu/tile/matrix_loop.hpp"

#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;
using llvm::Value;

constexpr int matrix_words = matrix_row_bytes / static_cast<int>(sizeof(std::int32_t));
/// Numbers of tiles: sums from 0 on, factors of whole steps of K, and of the last one.
constexpr int most_sums = 4, tile_of_a = 4, tile_of_b = 5, last_of_a = 6, last_of_b = 7;

class AmxCode final : public MatrixCode {
 public:
  AmxCode(codegen::Builder& builder, Group group) : builder_(builder), group_(group) {}

  /// The operand of ldtilecfg: the palette, then from byte 16 on the bytes of rows, from byte 48 on
  /// the rows (Intel, Software Developer's Manual, LDTILECFG).
  void configure(std::span<const MatrixShape> shapes) override {
    constexpr std::uint64_t bytes = 64, first_row_bytes = 16, first_rows = 48;
    llvm::BasicBlock& entry = builder_.GetInsertBlock()->getParent()->getEntryBlock();
    codegen::Builder first(builder_.getContext());
    first.SetInsertPoint(&entry, entry.begin());
    llvm::AllocaInst* memory =
        first.CreateAlloca(llvm::ArrayType::get(builder_.getInt8Ty(), bytes));
    memory->setAlignment(llvm::Align(bytes));
    builder_.CreateMemSet(memory, builder_.getInt8(0), bytes, llvm::Align(bytes));
    const auto put = [&](std::uint64_t offset, Value* value, std::uint64_t align) {
      builder_.CreateAlignedStore(value,
                                  builder_.CreateConstGEP1_64(builder_.getInt8Ty(), memory, offset),
                                  llvm::Align(align));
    };
    put(0, builder_.getInt8(1), 1);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      put(first_row_bytes + 2 * i, shapes[i].bytes, 2);
      put(first_rows + i, shapes[i].rows, 1);
    }
    call(llvm::Intrinsic::x86_ldtilecfg, {memory});
  }
  void zero(int tile) override { call(llvm::Intrinsic::x86_tilezero, {number(tile)}); }
  void load(int tile, Value* address, Value* stride) override {
    call(llvm::Intrinsic::x86_tileloadd64, {number(tile), address, stride});
  }
  void store(int tile, Value* address, Value* stride) override {
    call(llvm::Intrinsic::x86_tilestored64, {number(tile), address, stride});
  }
  void add_products(int sums, int a, int b) override {
    call(group_ == Group::Bytes ? llvm::Intrinsic::x86_tdpbusd : llvm::Intrinsic::x86_tdpbf16ps,
         {number(sums), number(a), number(b)});
  }
  void release() override { call(llvm::Intrinsic::x86_tilerelease, {}); }

 private:
  Value* number(int tile) { return builder_.getInt8(static_cast<std::uint8_t>(tile)); }
  void call(llvm::Intrinsic::ID id, const std::vector<Value*>& arguments) {
    builder_.CreateIntrinsic(id, {}, arguments);
  }

  codegen::Builder& builder_;
  const Group group_;
};

class MatrixLoop {
 public:
  MatrixLoop(codegen::Builder& builder, MatrixCode& code, const codegen::Isa& isa, const Tile& tile)
      : builder_(builder),
        code_(code),
        isa_(isa),
        tile_(tile),
        function_(*builder.GetInsertBlock()->getParent()),
        a_row_(bytes_of_words(argument(a_row_argument))),
        b_row_(bytes_of_words(argument(b_k_argument))),
        c_row_(bytes_of_words(argument(c_row_argument))),
        whole_(builder.CreateLShr(argument(k_argument), 4)),
        rest_(builder.CreateAnd(argument(k_argument), number(matrix_words - 1))) {}

  void emit() {
    configure();
    for (int first = 0; first < tile_.columns; first += most_sums * matrix_words)
      emit_columns(first, std::min(tile_.columns, first + most_sums * matrix_words));
    code_.release();
  }

 private:
  Value* argument(unsigned index) const { return function_.getArg(index); }
  Value* number(std::int64_t value) const {
    return builder_.getInt64(static_cast<std::uint64_t>(value));
  }
  Value* bytes_of_words(Value* words) const { return builder_.CreateShl(words, 2); }
  Value* at(Value* base, Value* bytes) const {
    return builder_.CreateGEP(builder_.getInt8Ty(), base, bytes);
  }

  /// No shape is empty, also where its tile is not used.
  void configure() {
    Value* words = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, rest_, number(1));
    Value* rows = builder_.getInt8(static_cast<std::uint8_t>(tile_.rows));
    const auto shape = [&](Value* of_rows, Value* bytes) {
      return MatrixShape{builder_.CreateTrunc(of_rows, builder_.getInt8Ty()),
                         builder_.CreateTrunc(bytes, builder_.getInt16Ty())};
    };
    Value* whole_row = number(matrix_row_bytes);
    std::vector<MatrixShape> shapes(most_sums, shape(rows, whole_row));
    shapes.push_back(shape(rows, whole_row));
    shapes.push_back(shape(number(matrix_rows), whole_row));
    shapes.push_back(shape(rows, bytes_of_words(words)));
    shapes.push_back(shape(words, whole_row));
    code_.configure(shapes);
  }

  /// Columns [first, end), of at most `most_sums` tiles.
  void emit_columns(int first, int end) {
    const int count = (end - first) / matrix_words;
    const auto sums_at = [&](int i) {
      return at(argument(c_argument), number(4 * (first + i * matrix_words)));
    };
    Value* adds = builder_.CreateICmpNE(argument(accumulate_argument), number(0));
    Conditional earlier(builder_, adds, "earlier_block");
    for (int i = 0; i < count; ++i) code_.load(i, sums_at(i), c_row_);
    earlier.close();
    Conditional none(builder_, builder_.CreateNot(adds), "first_block");
    for (int i = 0; i < count; ++i) code_.zero(i);
    none.close();
    CountedLoop steps(builder_, number(0), whole_, number(1), "tiles");
    add_step(first, count, steps.index(), tile_of_a, tile_of_b);
    steps.close();
    Conditional last(builder_, builder_.CreateICmpNE(rest_, number(0)), "last_tile");
    add_step(first, count, whole_, last_of_a, last_of_b);
    last.close();
    for (int i = 0; i < count; ++i) code_.store(i, sums_at(i), c_row_);
  }

  /// Adds the products of the tile of number `index` along K.
  void add_step(int first, int count, Value* index, int of_a, int of_b) {
    code_.load(of_a, at(argument(a_argument), builder_.CreateMul(index, number(matrix_row_bytes))),
               a_row_);
    Value* before = builder_.CreateMul(builder_.CreateMul(index, number(matrix_words)), b_row_);
    for (int i = 0; i < count; ++i) {
      const int column = first + i * matrix_words;
      Value* panel = builder_.CreateMul(bytes_of_words(argument(panel_argument)),
                                        number(column / isa_.panel_f32));
      Value* place = builder_.CreateAdd(builder_.CreateAdd(panel, before),
                                        number(4 * (column % isa_.panel_f32)));
      code_.load(of_b, at(argument(b_argument), place), b_row_);
      code_.add_products(i, of_a, of_b);
    }
  }

  codegen::Builder& builder_;
  MatrixCode& code_;
  const codegen::Isa& isa_;
  const Tile tile_;
  const llvm::Function& function_;
  Value *a_row_, *b_row_, *c_row_;
  Value *whole_, *rest_;  ///< tiles along K, and the groups behind them
};

/// The system saves the tiles of a process that has asked for them (Linux, arch_prctl).
bool may_use_tiles() {
  constexpr long request_permission = 0x1023, tile_data = 18;
  static const bool permitted = syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return permitted;
}

}  // namespace

std::unique_ptr<MatrixCode> amx_code(codegen::Builder& builder, Group group) {
  return std::make_unique<AmxCode>(builder, group);
}

bool by_matrices(const codegen::Isa& isa, const Factors& factors) {
  return isa.matrices && !factors.coded() &&
         (factors.group == Group::Bytes || factors.group == Group::Bfloats);
}

void emit_matrix_loop(codegen::Builder& builder, MatrixCode& code, const codegen::Isa& isa,
                      const Tile& tile) {
  MatrixLoop(builder, code, isa, tile).emit();
}

void allow_matrices(llvm::Function& function, const codegen::Isa& isa) {
  allow_feature(function, isa, "amx-tile,+amx-int8,+amx-bf16");
}

bool cpu_has_matrices() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
         __builtin_cpu_supports("amx-bf16") && may_use_tiles();
}

}  // namespace dyn::cpu
