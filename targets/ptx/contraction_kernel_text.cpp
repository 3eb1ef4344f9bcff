#include "targets/ptx/contraction_kernel_text.hpp"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cctype>

#include "targets/ptx/device_module.hpp"
#include "targets/ptx/kernel_symbol.hpp"
#include "targets/ptx/ptx_lowering.hpp"

namespace dyn::ptx {
namespace {

using rkernel::Engine;
using rkernel::GpuTile;

constexpr double microseconds = 1e6;

std::string_view multiplied_dtype(const GpuTile& tile) {
  return tile.engine == Engine::TensorCores && tile.operands == DType::f32 ? "tf32" : name_of(tile.operands);
}

std::string_view way_of_copying(bool vectors) { return vectors ? "as vectors" : "by element"; }

char letter(Copy copy) { return copy == Copy::Vectors ? 'v' : 'e'; }

}  // namespace

std::string listing_name(const std::string& group, const GpuContractionClass& shape_class) {
  const GpuTile& tile = shape_class.tile;
  std::string name = fmt::format("{}_{}_{}x{}x{}_{}{}{}", group, multiplied_dtype(tile), tile.block_m, tile.block_n, tile.block_k, letter(shape_class.a),
                                 letter(shape_class.b), shape_class.b_order == BOrder::RowsAlongK ? "t" : "");
  std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.'; }, '_');
  return name;
}

std::string program_text(const GpuTile& tile, const rkernel::GpuContraction& met, std::int64_t tickets, std::int64_t blocks) {
  return fmt::format("{}; A {}, B {}; {} tickets on {} blocks", tile.to_string(), way_of_copying(met.a_vectors), way_of_copying(met.b_vectors), tickets, blocks);
}

std::string explain_choice(const rkernel::GpuMachine& machine, const rkernel::GpuContraction& shape, const std::vector<GpuTile>& tiles,
                           const rkernel::GpuShapeFor& shape_for, const rkernel::GpuChoice& choice) {
  struct Candidate {
    std::size_t tile;
    rkernel::CostBreakdown breakdown;
  };
  std::vector<Candidate> candidates(tiles.size());
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    candidates[i].tile = i;
    rkernel::gpu_contraction_cost(machine, shape_for(tiles[i]), tiles[i], &candidates[i].breakdown);
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& x, const Candidate& y) { return x.breakdown.seconds < y.breakdown.seconds; });
  std::string text = fmt::format("  batch {} M {} N {} K {} on {} multiprocessors of {}; {} candidates\n", shape.batch, shape.m, shape.n, shape.k,
                                 machine.multiprocessors, machine.product, tiles.size());
  for (const auto& [index, breakdown] : candidates) {
    const GpuTile& tile = tiles[index];
    const rkernel::GpuContraction own = shape_for(tile);
    const rkernel::Occupancy occupancy = rkernel::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes());
    const double waves = static_cast<double>(breakdown.tickets) / (static_cast<double>(machine.multiprocessors) * std::max(1, occupancy.blocks));
    text += fmt::format("  {} {:.4g} us: {}; A {}, B {}; {} blocks, {:.2f} waves, occupancy {} (limited by {}: {} threads, {} registers, {} bytes shared)\n",
                        static_cast<int>(index) == choice.tile ? "chosen" : "      ", breakdown.seconds * microseconds, tile.to_string(),
                        way_of_copying(own.a_vectors), way_of_copying(own.b_vectors), breakdown.tickets, waves, occupancy.blocks,
                        occupancy.limit, tile.threads(), tile.registers(), tile.shared_bytes());
    text += rkernel::to_string(breakdown);
    text += fmt::format("    launch: {:.3g} us\n", machine.launch_seconds * microseconds);
  }
  return text;
}

rkernel::CodeListing list_code(const std::string& name, const codegen::KernelSource& source) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = emit_device_module(context, source, kernel_symbol(source.key));
  rkernel::CodeListing listing;
  listing.name = name;
  listing.text = lower_to_ptx(*module, &listing.hash);
  return listing;
}

}  // namespace dyn::ptx
