#pragma once
// Main loops on matrix tiles (AMX): up to 16 rows of A by up to 64 columns of B at once.

#include <memory>
#include <span>

#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/tile/main_loop.hpp"

namespace dyn::cpu {

/// Tiles of the CPU, rows of each at most, and bytes of a row: 16 words.
inline constexpr int matrix_tiles = 8, matrix_rows = 16, matrix_row_bytes = 64;

/// A tile's rows, i8, and the bytes of each, i16.
struct MatrixShape {
  llvm::Value *rows, *bytes;
};

/// Makes the instructions of tiles, which have numbers from 0 on.
class MatrixCode {
 public:
  virtual ~MatrixCode() = default;

  /// Gives the tiles their shapes, in the order of their numbers; comes before all others.
  virtual void configure(std::span<const MatrixShape> shapes) = 0;
  virtual void zero(int tile) = 0;
  /// Rows lie `stride` bytes apart in memory.
  virtual void load(int tile, llvm::Value* address, llvm::Value* stride) = 0;
  virtual void store(int tile, llvm::Value* address, llvm::Value* stride) = 0;
  /// sums(row, column) += the products of the groups a(row, i) and b(i, column), over all words i
  /// of a's rows.
  virtual void add_products(int sums, int a, int b) = 0;
  /// Comes last.
  virtual void release() = 0;
};

/// That of AMX for Bytes or Bfloats.
std::unique_ptr<MatrixCode> amx_code(codegen::Builder& builder, Group group);

/// True where an ISA multiplies these factors by such tiles.
bool by_matrices(const codegen::Isa& isa, const Factors& factors);

/// Emits a whole main loop (MainLoop) into the function in which the builder stands, whose
/// arguments are a MainLoop's; ahead is not read.
void emit_matrix_loop(codegen::Builder& builder, MatrixCode& code, const codegen::Isa& isa,
                      const Tile& tile);

/// Lets the function's code use the tiles.
void allow_matrices(llvm::Function& function, const codegen::Isa& isa);

/// True where this CPU has AMX with both kinds of products, and the system lets the process use it.
bool cpu_has_matrices();

}  // namespace dyn::cpu
