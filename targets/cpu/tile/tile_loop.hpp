#pragma once
// The innermost loop of a contraction: the steps of K of one register tile, as IR.

#include <vector>

#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/code/types.hpp"
#include "targets/llvm/jit/isa.hpp"

namespace dyn::cpu {

/// Distances in elements, as a MainLoop gets them. a_row nullptr: each row of A has a pointer of
/// its own.
struct TileStrides {
  llvm::Value *a_row, *b_k, *panel;
  bool packed_b = false;  ///< known to be: B's rows begin on lines, and end with one
};

/// Steps of K in which the place moves once.
constexpr int steps_of_ahead = 4;

/// Where operands are asked for ahead of their use: B as a MainLoop gets it, and A by rows_ahead()
/// elements, or none: not at all.
struct Ahead {
  llvm::Value *distance, *step, *rows = nullptr;
};

/// A tile's rows of A, `stride` elements apart, tile below tile. `is_only`: its block has no other
/// tile.
struct TileRows {
  llvm::Value *rows, *stride, *k, *is_only;
};

/// How many elements beyond its place a full tile asks for A's rows: for those of the next tile;
/// further on in its own where tiles are so large that lines would leave L2 before that; 0 where it
/// is the only one. Below the last tile the next block begins.
llvm::Value* rows_ahead(codegen::Builder& builder, const TileRows& tile);

/// The same for a tile in a function of its own: 0 too where lines of the rows push each other out
/// of L1.
llvm::Value* called_rows_ahead(codegen::Builder& builder, const TileRows& tile);

/// As rows_ahead() for tiles that follow each other in one loop: where rows are short, for those of
/// a later tile, so that they come from memory in time. Divides, so it belongs before the loop.
llvm::Value* far_rows_ahead(codegen::Builder& builder, const TileRows& tile);

/// The same for a tile with lanes along K, which computes too little to ask for lines that it need
/// not: for those of the next tile where rows are short; else 0.
llvm::Value* dot_rows_ahead(codegen::Builder& builder, const TileRows& tile);

/// Emits the steps of K of a tile into the function in which the builder stands.
class TileLoop {
 public:
  using Values = std::vector<llvm::Value*>;

  /// Computes here what the strides give to all tiles. Only packed elements of B may be narrower
  /// than f32. Of groups, A and B have one element for each (four bytes), and so counts K. Codes
  /// begin with a block.
  TileLoop(codegen::Builder& builder, const codegen::Isa& isa, const Tile& tile,
           const TileStrides& strides, const rkernel::Factors& factors = {});

  /// Adds k steps to the accumulators: one vector for each row and each vector of its columns, row
  /// by row; ends where they are complete. `a`: the first row, or every row.
  Values emit(const Values& a, llvm::Value* b, llvm::Value* k, const Ahead& ahead,
              const Values& accumulators);

  /// Of sums.
  llvm::FixedVectorType* vector() const { return vector_; }
  int rows() const { return rows_; }
  int vectors() const { return vectors_; }  ///< of one row

 private:
  int panel_count() const { return (columns_ + isa_.panel_f32 - 1) / isa_.panel_f32; }
  int unroll() const;  ///< steps of K in one iteration
  Values emit_blocks(const Values& state, llvm::Value* k);
  /// A single row of f32 is left to the hardware.
  bool asks() const { return rows_ > 1 || factors_ != rkernel::Factors(); }
  /// Tiles of several panels always ask near by: there are no registers left for pointers of their
  /// own.
  bool shares_asking() const { return asks() && panel_count() == 1 && !factors_.coded(); }
  /// Groups multiply codes alone. One row has registers for the sums of a block, and no other row
  /// to share a product of a code and its scale with.
  bool scales_sums() const { return factors_.coded() && (rows_ == 1 || factors_.grouped()); }
  int steps_of_word() const {
    return factors_.coding.codes_of_word() / elements_of(factors_.group);
  }
  int steps_of_words() const;  ///< whole words of codes, in one iteration
  std::int64_t bytes_of_words(int words) const {
    return static_cast<std::int64_t>(sizeof(float)) * isa_.panel_f32 * words;
  }
  std::size_t row_groups() const;
  std::size_t first_asked() const { return row_groups() + static_cast<std::size_t>(panel_count()); }
  std::size_t pointer_count() const { return first_asked() + (shares_asking() ? 1 : 0); }
  llvm::BasicBlock* block(const char* name);
  Values multiples(llvm::Value* bytes);
  llvm::Value* add_bytes(llvm::Value* pointer, llvm::Value* bytes);
  llvm::Value* advance(llvm::Value* pointer, int elements);
  void append_series(Values& pointers, llvm::Value* first, llvm::Value* step_bytes, int count);
  Values emit_loop(const Values& state, llvm::Value* count, int steps, const char* name);
  void prefetch_panels(const Values& state);
  void prefetch_rows(const Values& state, llvm::Value* remaining);
  void prefetch_codes(const Values& state);
  Values take_numbers(Values& state);
  void start_sums(Values& state);
  /// The vector of sums of one block.
  llvm::Type* block_sums() const;
  /// The scales of the columns of the accumulator state[index].
  llvm::Value* scales_of(std::size_t index) const {
    return scales_[(index - pointer_count()) % static_cast<std::size_t>(vectors_)];
  }
  llvm::Value* bytes_of_steps(int steps);
  llvm::Value* load_b(const Values& state, int step, int vector);
  llvm::Value* load_codes(const Values& state, int step, int vector);
  void emit_step(Values& state, int step);

  codegen::Builder& builder_;
  const codegen::Isa& isa_;
  int rows_, columns_, vectors_, rows_per_base_;
  bool packed_b_;
  rkernel::Factors factors_;
  DType weights_;  ///< as wide as a step of B
  llvm::FixedVectorType* vector_;
  /// Numbers of a block of codes, by vector, where its steps are written.
  Values scales_, zeros_;
  llvm::Value* code_ = nullptr;        ///< step of a word, where single steps are written
  Values row_offsets_, step_offsets_;  ///< bytes of 0 to 3 rows of A, and steps of K of B
  llvm::Value *group_bytes_ = nullptr, *panel_bytes_ = nullptr, *unrolled_bytes_ = nullptr,
              *near_ahead_ = nullptr, *asked_step_ = nullptr, *rows_ahead_ = nullptr;
};

}  // namespace dyn::cpu
