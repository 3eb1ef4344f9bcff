#include "targets/ptx/contraction/emitter.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/contraction/region.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/device_ops.hpp"
#include "targets/ptx/tile/tree.hpp"

namespace dyn::ptx {
namespace {

GridSlots region_slots(codegen::SlotTable& slots, const rkernel::Problem& problem) {
  GridSlots grid = add_grid_slots(slots, problem, false);
  for (int* slot : {&grid.m_begin, &grid.m_end, &grid.n_begin, &grid.n_end})
    *slot = slots.add_strategy_slot();
  return grid;
}

std::string name_of_tiles(const GpuContractionClass& shape_class) {
  const auto name = [&](const choice::GpuTile& tile) {
    return emitted_tile(shape_class, tile).to_string();
  };
  return name(shape_class.tile) + (shape_class.second ? " and " + name(*shape_class.second) : "");
}

}  // namespace

GridSlots add_grid_slots(codegen::SlotTable& slots, const rkernel::Problem& problem, bool split) {
  GridSlots grid{.raster = add_raster_slots(slots, problem),
                 .vector_outputs = slots.add_strategy_slot(),
                 .tickets = slots.add_strategy_slot()};
  if (!split) return grid;
  for (int* slot : {&grid.whole, &grid.span, &grid.shared_steps}) *slot = slots.add_strategy_slot();
  return grid;
}

PairSlots add_pair_slots(codegen::SlotTable& slots, const rkernel::Problem& problem) {
  const GridSlots first = region_slots(slots, problem);
  return {first, region_slots(slots, problem)};
}

std::string to_string(const GpuContractionClass& shape_class) {
  return name_of_tiles(shape_class) + ", copies " + letter_of(shape_class.a) +
         letter_of(shape_class.b) +
         (shape_class.b_order == BOrder::RowsAlongN ? ", B along n" : ", B along k") + ", lanes " +
         codegen::class_letters(shape_class.lanes) + (shape_class.split ? ", K split" : "") +
         ", outputs by " + std::string(name_of(shape_class.outputs));
}

choice::GpuTile emitted_tile(const GpuContractionClass& shape_class, choice::GpuTile tile) {
  const bool vectors = shape_class.a == Copy::Vectors && shape_class.b == Copy::Vectors;
  tile.ahead = tile.ahead && vectors;
  tile.overlapped = tile.overlapped && vectors;
  return tile;
}

void emit_gpu_contraction(llvm::Module& module, const std::string& symbol,
                          std::span<const RegionTree> regions, const codegen::SlotTable& slots,
                          const GpuContractionClass& shape_class) {
  const int threads = tile_of(regions.front().kernel).threads();
  int shared_bytes = 0;
  for (const RegionTree& region : regions) {
    rkernel::legalise(region.kernel, architecture_limits());
    const choice::GpuTile tile = tile_of(region.kernel);
    if (tile.threads() != threads)
      throw Error(ErrorKind::internal,
                  "tiles of " + name_of_tiles(shape_class) + " have blocks of unequal threads");
    shared_bytes = std::max(shared_bytes, tile.shared_bytes());
  }
  codegen::Builder builder(module.getContext());
  llvm::Function* function = create_kernel(builder, module, symbol, threads, shared_bytes);
  KernelFrame frame{builder,
                    slots,
                    {function->getArg(0), function->getArg(1), function->getArg(2)},
                    call(builder, Op::Thread),
                    nullptr};
  frame.shared = call(builder, Op::Shared);
  for (std::size_t i = 0; i < regions.size(); ++i)
    emit_region(frame, regions[i], shape_class, i == 0 ? nullptr : &regions[i - 1].grid);
  builder.CreateRetVoid();
}

}  // namespace dyn::ptx
