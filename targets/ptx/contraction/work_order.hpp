#pragma once
// The order in which a block works through the tickets of a region, tile by tile.

#include <span>
#include <vector>

#include "targets/ptx/contraction/emitter.hpp"
#include "targets/ptx/copies/launch_values.hpp"

namespace dyn::ptx {

/// A tile of the output, or where K is split the part of one that a ticket has; all i32.
struct Work {
  llvm::Value* ticket = nullptr;  ///< counts those of the region before, too
  /// Where K is split: the tile, counted from the first that blocks share; its step to begin with;
  /// and the steps that the ticket has left, this part's among them.
  llvm::Value *shared_tile = nullptr, *first_step = nullptr, *left = nullptr;

  /// As values that a loop carries.
  std::vector<llvm::Value*> values() const;
  /// `values` begin with those of values() of some work.
  static Work from(std::span<llvm::Value* const> values, bool split);
  static std::size_t size(bool split) { return split ? 4 : 1; }
};

/// Blocks take tickets round robin, and go on where those of the region before have ended. A ticket
/// that shares tiles begins anywhere in one, goes on through others, and ends anywhere in one.
class WorkOrder {
 public:
  /// `before`: the slots of the region before, nullptr: there is none.
  WorkOrder(codegen::Builder& builder, const LaunchValues& values, const GridSlots& grid,
            const GridSlots* before, bool split)
      : builder_(builder), values_(values), grid_(grid), before_(before), split_(split) {}

  /// Reads the launch, at the builder's place. `steps`, i32: of all K.
  void prepare(llvm::Value* steps);
  Work first();
  Work after(const Work& work);
  /// i1: the region has this ticket.
  llvm::Value* exists(const Work& work);
  /// The index of its tile among those of the region, i32.
  llvm::Value* tile(const Work& work);
  /// The step after the last one, i32.
  llvm::Value* end_step(const Work& work);
  /// Counts the tickets from the first that shares tiles on, i32.
  llvm::Value* sharing_ticket(const Work& work);

 private:
  Work begin(llvm::Value* ticket);

  codegen::Builder& builder_;
  const LaunchValues& values_;
  const GridSlots grid_;
  const GridSlots* before_;
  const bool split_;
  llvm::Value *first_ticket_ = nullptr, *blocks_ = nullptr, *steps_ = nullptr;
};

}  // namespace dyn::ptx
