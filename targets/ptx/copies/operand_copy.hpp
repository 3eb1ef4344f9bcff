#pragma once
// The copies that bring an operand's tiles to shared memory, as the kernel of a contraction uses
// them.

#include <map>
#include <span>
#include <vector>

#include "targets/ptx/copies/pieces.hpp"

namespace dyn::ptx {

/// The part of an operand that a tile of the output reads: a band of tiles, one for each step of
/// the reduction.
struct TileBand {
  llvm::Value* origin = nullptr;  ///< its first element, which exists; of windows: element (0, 0,
                                  ///< ...) of the tensor
  llvm::Value* across = nullptr;  ///< i32: existing rows or columns, along the axis that the
                                  ///< reduction does not run along; no more than the tile has
  llvm::Value* first = nullptr;   ///< the first one's index along that axis, i64
  const std::map<int, llvm::Value*>* batch = nullptr;  ///< indices along the batch axes, i64
  llvm::Value* step = nullptr;  ///< i32: the step to begin with; nullptr: the first
};

/// The copies that the threads of a block make together for the tiles of one operand. What does not
/// exist is 0 in shared memory, or of windows what stands outside of their tensor, and is never
/// read.
class OperandCopy {
 public:
  /// Where the thread is in a band: values that a loop carries from tile to tile.
  using Position = std::vector<llvm::Value*>;

  virtual ~OperandCopy() = default;
  bool asynchronous() const { return pieces_.asynchronous(); }
  bool stores() const { return pieces_.stores(); }
  bool in_chunks() const { return pieces_.in_chunks(); }
  /// Goes to a band; gives the position of the tile to begin with. All threads of the block call
  /// this together.
  virtual Position enter(codegen::Builder& builder, const TileBand& band) = 0;
  /// The band, beside the position in it: values that a loop carries from band to band.
  virtual std::vector<llvm::Value*> band() const = 0;
  virtual void set_band(std::span<llvm::Value* const> values) = 0;
  /// The position of the next tile.
  virtual Position next(codegen::Builder& builder, const Position& position) const = 0;
  /// Issues all copies of the thread for tile `step` (i32) of the band, which is at `position`.
  /// `destination`: ptr addrspace(3) to the tile.
  virtual void issue(codegen::Builder& builder, const Position& position, llvm::Value* step,
                     llvm::Value* destination) const = 0;

  /// True for copies whose loads may be under way while a thread multiplies: issue() is store() of
  /// what load() gives.
  virtual bool keeps() const { return false; }
  virtual std::size_t kept_values() const { return 0; }
  virtual std::vector<llvm::Value*> load(codegen::Builder&, const Position&, llvm::Value*) const {
    return {};
  }
  virtual void store(codegen::Builder&, std::span<llvm::Value* const>, llvm::Value*,
                     llvm::Value*) const {}

 protected:
  explicit OperandCopy(const PieceCopies& pieces) : pieces_(pieces) {}
  const PieceCopies& pieces() const { return pieces_; }

 private:
  PieceCopies pieces_;
};

}  // namespace dyn::ptx
