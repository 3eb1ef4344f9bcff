#pragma once
// Tiles of a factor that is computed: operands from global memory to registers, an expression of
// them, and its values to shared memory.

#include <vector>

#include "targets/llvm/problem/expr_compiler.hpp"
#include "targets/ptx/copies/factor_sources.hpp"
#include "targets/ptx/copies/launch_values.hpp"
#include "targets/ptx/copies/moves.hpp"

namespace dyn::ptx {

/// A thread computes groups of factor_group elements of a row. Where a tile exists as a whole, and
/// every row begins with a whole group in all operands, it loads groups as vectors; else it loads
/// each element that exists. Elements beyond K are 0.
class ComputedCopy final : public OperandCopy {
 public:
  /// `depth_along`: columns where rows are along m. All arguments must outlive it.
  ComputedCopy(codegen::Builder& builder, const ComputedFactor& factor, const SharedTile& tile,
               const PieceCopies& copies, int threads, DepthAlong depth_along,
               const codegen::SlotTable& slots, const codegen::KernelArgsValues& args);

  /// Computes the thread's part, at the builder's place.
  void prepare(llvm::Value* thread);
  /// A position is the address of the tile in each operand.
  Position enter(codegen::Builder& builder, const TileBand& band) override;
  std::vector<llvm::Value*> band() const override { return {across_, whole_steps_}; }
  void set_band(std::span<llvm::Value* const> values) override;
  Position next(codegen::Builder& builder, const Position& position) const override;
  void issue(codegen::Builder& builder, const Position& position, llvm::Value* step,
             llvm::Value* destination) const override;
  bool keeps() const override { return true; }
  std::size_t kept_values() const override;
  std::vector<llvm::Value*> load(codegen::Builder& builder, const Position& position,
                                 llvm::Value* step) const override;
  void store(codegen::Builder& builder, std::span<llvm::Value* const> loaded, llvm::Value* step,
             llvm::Value* destination) const override;

 private:
  using Values = std::vector<llvm::Value*>;
  struct Group {
    llvm::Value *row, *column;  ///< of its first element in the tile, i32
    llvm::Value* inside;        ///< i1: it is in the tile; nullptr: always
  };
  /// The existing part of a tile, i32.
  struct Extents {
    llvm::Value *rows, *columns;
    llvm::Value* zero = nullptr;  ///< i32
  };
  /// Strides are bytes.
  struct Source {
    FactorSource of;
    DType dtype;
    int stride_along_rows, stride_along_columns;  ///< slots
    llvm::Value *row_bytes = nullptr, *column_bytes = nullptr;
    llvm::Value* first = nullptr;  ///< from a tile to the thread's first group in it
  };
  Group group_at(int index) const;
  Extents existing(llvm::Value* step) const;
  int depth_of_tile() const;
  int element_bytes(const Source& source) const { return static_cast<int>(size_of(source.dtype)); }
  llvm::Type* element_type(const Source& source) const;
  /// What the thread loads of the source: for each of its groups, or once for all of them.
  bool is_loaded_once(const Source& source) const;
  llvm::Value* aligned_everywhere() const;
  llvm::Value* wide(std::int64_t value) const;
  llvm::Value* distance(const Source& source, llvm::Value* row, llvm::Value* column) const;
  llvm::Value* load_group(const Source& source, llvm::Value* tile, llvm::Value* from,
                          const Group& group) const;
  llvm::Value* load_elements(const Source& source, llvm::Value* tile, const Group& group,
                             const Extents& extents) const;
  Values load_all(const Position& position, const Extents* extents) const;
  void store_all(std::span<llvm::Value* const> loaded, llvm::Value* step, llvm::Value* destination,
                 const Extents* extents) const;
  llvm::Value* value_of(std::span<llvm::Value* const> loaded, int index, const Group& group,
                        llvm::Value* step) const;

  codegen::Builder& builder_;
  rkernel::Problem problem_;  ///< its lanes run along the factor's columns
  const ComputedFactor factor_;
  const SharedTile tile_;
  const FactorTile groups_;
  const DepthAlong depth_along_;
  const codegen::SlotTable& slots_;
  std::vector<Source> sources_;
  mutable codegen::Operands operands_;
  const LaunchValues values_;
  mutable codegen::ExprCompiler compiler_;
  bool counts_ = false;  ///< the expression has indices
  llvm::Value *thread_ = nullptr, *usable_ = nullptr;
  llvm::Value *across_ = nullptr, *whole_steps_ = nullptr, *across_index_ = nullptr;
};

}  // namespace dyn::ptx
