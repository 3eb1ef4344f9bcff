#pragma once
// The copies of one thread from global to shared memory, one after another.

#include <cstdint>
#include <string_view>
#include <vector>

#include "dyn/dtype.hpp"
#include "targets/llvm/code/types.hpp"

namespace dyn::ptx {

/// The way in which an operand's tile is copied to shared memory.
enum class Copy : unsigned char {
  Vectors,   ///< cp.async of 16 bytes: dtype as the tile's, innermost stride 1, every row 16-byte
             ///< aligned
  Words,     ///< the same of 4 bytes, where elements have fewer: every row 4-byte aligned
  Elements,  ///< one by one: any strides, any dtype, converted on the way
  Strips,   ///< of windows: from strips that are in shared memory before (StripLayout), one by one,
            ///< converted on the way
  Computed  ///< operands to registers, the factor's expression, its values to shared memory
};

/// "v", "w", "e", "s" or "c", as in names of code.
char letter_of(Copy copy);
/// "as vectors", "by words", "by element", "from strips" or "computed".
std::string_view text_of(Copy copy);

/// The element's bytes.
int bytes_of(DType dtype);

/// One copy, of a chunk of 16 bytes or 4, or of elements. `exists`, `inside`: nullptr where always
/// true.
struct Piece {
  llvm::Value *from, *place;
  llvm::Value* exists;  ///< for an element: it is in the operand, else it is 0
  llvm::Value* bytes;   ///< for a chunk, i32: bytes in the operand, the others are 0
  llvm::Value* inside;  ///< it is in the tile
  int elements;         ///< where elements are loaded: they are neighbours in memory
};

/// How pieces are copied, by their dtypes.
class PieceCopies {
 public:
  /// `tile`: dtype of the elements in shared memory, `source`: in global memory. Throws
  /// Error(unsupported) where one is no float and they are not both the same integers of 8 bits,
  /// Error(internal) for chunks that convert.
  /// `fill`: what elements of 8 bits are where they do not exist; then chunks exist as a whole, or
  /// not at all.
  PieceCopies(DType tile, DType source, Copy copy, std::uint8_t fill = 0);

  DType tile() const { return tile_; }
  DType source() const { return source_; }
  /// Bytes of a chunk, where pieces are chunks; else 0.
  int chunk() const { return copy_ == Copy::Vectors ? 16 : copy_ == Copy::Words ? 4 : 0; }
  bool in_chunks() const { return chunk() > 0; }
  /// Elements of a piece in a row; bytes of one.
  int unit_elements() const { return in_chunks() ? chunk() / bytes_of(tile_) : 1; }
  int unit_bytes() const { return in_chunks() ? chunk() : bytes_of(tile_); }
  /// Copies are cp.async; else each thread loads, converts and stores before emit() ends.
  bool asynchronous() const {
    return in_chunks() || (copy_ == Copy::Elements && tile_ == DType::f32 && source_ == DType::f32);
  }
  /// Threads store elements themselves, all or some.
  bool stores() const { return !asynchronous() || fill_ != 0; }
  /// A loaded piece's `from` must be readable where it does not exist, too.
  void emit(codegen::Builder& builder, const std::vector<Piece>& pieces) const;
  /// Elements that are loaded, a scalar or a vector, as the tile holds them.
  llvm::Value* as_stored(codegen::Builder& builder, llvm::Value* loaded) const;

 private:
  llvm::Value* load(codegen::Builder& builder, const Piece& piece) const;
  void copy_chunk(codegen::Builder& builder, const Piece& piece) const;

  DType tile_, source_;
  Copy copy_;
  std::uint8_t fill_;
};

}  // namespace dyn::ptx
