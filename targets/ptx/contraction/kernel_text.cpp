#include "targets/ptx/contraction/kernel_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dyn::ptx {
namespace {

using choice::Engine;
using choice::GpuTile;

constexpr double microseconds = 1e6;

std::string_view multiplied_dtype(const GpuTile& tile) {
  return tile.engine == Engine::TensorCores && tile.operands == DType::f32 ? "tf32"
                                                                           : name_of(tile.operands);
}

std::string block_text(const GpuTile& tile) {
  return fmt::format("{}x{}x{}", tile.block_m, tile.block_n, tile.block_k);
}

// Names each tile, with the region that it computes where that is not the whole output.
std::string regions_text(const std::vector<GpuTile>& tiles,
                         const std::vector<choice::GpuRegion>& regions) {
  std::string text;
  for (const auto& [tile, m0, m, n0, n, split] : regions) {
    text += (text.empty() ? "" : ", ") + tiles[tile].to_string();
    if (split.tiles > 0)
      text +=
          fmt::format(", the last {} tiles shared by parts of {} steps", split.tiles, split.span);
    if (regions.size() == 1) return text;
    const bool rows = regions.front().m0 != regions.back().m0;
    text += fmt::format(" on {} {} to {}", rows ? "rows" : "columns", rows ? m0 : n0,
                        rows ? m0 + m : n0 + n);
  }
  return text;
}

std::string copies_text(const choice::GpuContraction& met) {
  const auto way = [](bool vectors, bool words) {
    return vectors ? Copy::Vectors : words ? Copy::Words : Copy::Elements;
  };
  const Copy a = met.a_operations > 0 ? Copy::Computed
                 : met.a_strips > 0   ? Copy::Strips
                                      : way(met.a_vectors, met.a_words);
  const Copy b = met.b_operations > 0 ? Copy::Computed : way(met.b_vectors, met.b_words);
  return fmt::format("A {}, B {}", text_of(a), text_of(b));
}

}  // namespace

std::string listing_name(const std::string& group, const GpuContractionClass& shape_class) {
  const GpuTile& tile = shape_class.tile;
  std::string blocks = block_text(tile);
  if (shape_class.second) blocks += "_and_" + block_text(shape_class.second->tile);
  return fmt::format("{}_{}_{}_{}{}{}", group, multiplied_dtype(tile), blocks,
                     letter_of(shape_class.a), letter_of(shape_class.b),
                     shape_class.b_order == BOrder::RowsAlongK ? "t" : "");
}

std::string program_text(const std::vector<GpuTile>& tiles,
                         const std::vector<choice::GpuRegion>& regions, const MetContraction& met,
                         std::int64_t tickets, std::int64_t blocks) {
  return fmt::format("{}; {}; {} tickets on {} blocks", regions_text(tiles, regions),
                     copies_text(met.for_tile(tiles[regions.front().tile])), tickets, blocks);
}

std::string explain_choice(const choice::GpuMachine& machine, const std::vector<GpuTile>& tiles,
                           const MetContraction& met, std::vector<ConsideredProgram> programs,
                           const std::vector<choice::GpuRegion>& chosen) {
  const auto is_chosen = [&](const ConsideredProgram& program) {
    return program.regions == chosen;
  };
  if (std::ranges::none_of(programs, is_chosen))
    programs.push_back({chosen, choice::gpu_program_cost(machine, met.for_tile, tiles, chosen)});
  std::ranges::stable_sort(
      programs, {}, [](const ConsideredProgram& program) { return program.seconds.value_or(0); });
  const choice::GpuContraction& shape = met.shape;
  std::string text = fmt::format(
      "  batch {} M {} N {} K {} on {} multiprocessors of {}; {} candidates\n  times: {}\n",
      shape.batch, shape.m, shape.n, shape.k, machine.multiprocessors, machine.product,
      programs.size(), choice::origin_of_times(machine));
  for (const ConsideredProgram& program : programs) {
    choice::CostBreakdown breakdown;
    choice::gpu_program_cost(machine, met.for_tile, tiles, program.regions, &breakdown);
    std::vector<GpuTile> own;
    for (const choice::GpuRegion& region : program.regions) own.push_back(tiles[region.tile]);
    const choice::Occupancy occupancy = choice::program_occupancy(machine, own);
    const double waves =
        static_cast<double>(breakdown.tickets) /
        (static_cast<double>(machine.multiprocessors) * std::max(1, occupancy.blocks));
    const auto most = [&](auto&& need) { return need(*std::ranges::max_element(own, {}, need)); };
    text += fmt::format(
        "  {} {:.4g} us: {}; {}; {} blocks, {:.2f} waves, occupancy {} (limited by {}: {} threads, "
        "{} registers, {} bytes shared)\n",
        is_chosen(program) ? "chosen" : "      ", breakdown.seconds * microseconds,
        regions_text(tiles, program.regions), copies_text(met.for_tile(own.front())),
        breakdown.tickets, waves, occupancy.blocks, occupancy.limit,
        most([](const GpuTile& tile) { return tile.threads(); }),
        most([](const GpuTile& tile) { return tile.registers(); }),
        most([](const GpuTile& tile) { return tile.shared_bytes(); }));
    text += choice::to_string(breakdown);
    text += fmt::format("    launch: {:.3g} us\n", machine.launch_seconds * microseconds);
  }
  return text;
}

}  // namespace dyn::ptx
