#include "targets/ptx/contraction/emitter.hpp"

#include <llvm/IR/Module.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/contraction/region.hpp"
#include "targets/ptx/contraction/team_of_threads.hpp"
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

std::string name_of_tile(const GpuContractionClass& shape_class) {
  return emitted_tile(shape_class, shape_class.tile).to_string();
}

std::string words_of_copies(Copy a, Copy b, BOrder b_order) {
  return std::string(", copies ") + letter_of(a) + letter_of(b) +
         (b_order == BOrder::RowsAlongN ? ", B along n" : ", B along k");
}

std::string name_of_tiles(const GpuContractionClass& shape_class) {
  if (!shape_class.second) return name_of_tile(shape_class);
  const GpuContractionClass second = class_of_region(shape_class, 1);
  const bool alike = second.a == shape_class.a && second.b == shape_class.b &&
                     second.b_order == shape_class.b_order;
  return name_of_tile(shape_class) + " and " + name_of_tile(second) +
         (alike ? "" : words_of_copies(second.a, second.b, second.b_order) + "; of the first");
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
  return name_of_tiles(shape_class) +
         words_of_copies(shape_class.a, shape_class.b, shape_class.b_order) + ", lanes " +
         codegen::class_letters(shape_class.lanes) + (shape_class.split ? ", K split" : "") +
         ", outputs by " + std::string(name_of(shape_class.outputs));
}

GpuContractionClass class_of_region(const GpuContractionClass& shape_class, std::size_t index) {
  GpuContractionClass own = shape_class;
  own.second.reset();
  if (index == 0) return own;
  const RegionClass& second = shape_class.second.value();
  own.tile = second.tile;
  own.a = second.a;
  own.b = second.b;
  own.b_order = second.b_order;
  return own;
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
  std::vector<int> threads_of;
  int shared_bytes = 0;
  for (const RegionTree& region : regions) {
    rkernel::legalise(region.kernel, architecture_limits());
    const choice::GpuTile tile = tile_of(region.kernel);
    threads_of.push_back(tile.threads());
    shared_bytes = std::max(shared_bytes, tile.shared_bytes());
  }
  const int threads = *std::ranges::max_element(threads_of);
  codegen::Builder builder(module.getContext());
  llvm::Function* function = create_kernel(builder, module, symbol, threads, shared_bytes);
  KernelFrame frame{builder,
                    slots,
                    {function->getArg(0), function->getArg(1), function->getArg(2)},
                    call(builder, Op::Thread),
                    nullptr};
  frame.shared = call(builder, Op::Shared);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    const GridSlots* before = i == 0 ? nullptr : &regions[i - 1].grid;
    // Threads that pass over a region must not write to the memory that it works in.
    if (i > 0 && threads_of[i - 1] < threads_of[i]) call(builder, Op::Barrier);
    TeamOfThreads team(builder, frame.thread, threads_of[i], threads);
    emit_region(frame, regions[i], class_of_region(shape_class, i), before);
    team.close();
  }
  builder.CreateRetVoid();
}

}  // namespace dyn::ptx
