#include "src/choice/policies/gpu/tuned_tiles.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include <fmt/format.h>

#include "src/choice/calibration/json.hpp"
#include "src/choice/gpu/micro_kernels.hpp"

namespace dyn::choice {
namespace {

constexpr std::size_t tile_numbers = 10;

std::string name_of_kind(const GpuKind& kind) {
  if (kind.engine == Engine::CudaCores) return "CUDA cores";
  const std::string_view operands = kind.operands == DType::f32 ? "tf32" : name_of(kind.operands);
  return fmt::format("{} tensor cores", operands);
}

std::string names_of_kinds(const std::vector<GpuKind>& kinds) {
  std::string names;
  for (const GpuKind& kind : kinds) names += (names.empty() ? "" : " and ") + name_of_kind(kind);
  return names;
}

}  // namespace

PoolKernel numbers_of(const GpuTile& tile) {
  return {static_cast<std::int64_t>(tile.engine),
          static_cast<std::int64_t>(tile.operands),
          tile.thread_m,
          tile.thread_n,
          tile.warp_m,
          tile.warp_n,
          tile.block_m,
          tile.block_n,
          tile.block_k,
          tile.stages};
}

GpuTile tile_of(const PoolKernel& kernel) {
  constexpr std::int64_t most = 1 << 20;
  if (kernel.size() != tile_numbers)
    throw std::invalid_argument(
        fmt::format("{} numbers are no tile of a GPU, which has {}", kernel.size(), tile_numbers));
  const auto is_number = [](std::int64_t number) { return number >= 0 && number <= most; };
  if (!std::ranges::all_of(kernel, is_number))
    throw std::invalid_argument("a number of a tile is below 0, or very large");
  constexpr DType multiplied[] = {DType::f32, DType::f16, DType::bf16, DType::i8};
  const auto has_number = [&](DType dtype) {
    return static_cast<std::int64_t>(dtype) == kernel[1];
  };
  if (kernel[0] > static_cast<std::int64_t>(Engine::TensorCores) ||
      std::ranges::none_of(multiplied, has_number))
    throw std::invalid_argument(
        fmt::format("there is no engine {} for operands {}", kernel[0], kernel[1]));
  const auto at = [&](std::size_t place) { return static_cast<int>(kernel[place]); };
  GpuTile tile;
  tile.engine = static_cast<Engine>(at(0));
  tile.operands = static_cast<DType>(at(1));
  tile.thread_m = at(2);
  tile.thread_n = at(3);
  tile.warp_m = at(4);
  tile.warp_n = at(5);
  tile.block_m = at(6);
  tile.block_n = at(7);
  tile.block_k = at(8);
  return at_stages(tile, at(9));
}

std::string wrong_with(const GpuMachine& machine, const std::vector<GpuKind>& kinds,
                       const GpuTile& tile) {
  const GpuKind kind{tile.engine, tile.operands};
  if (std::ranges::find(kinds, kind) == kinds.end())
    return fmt::format(
        "contractions multiply with {} here, not with it; load with the precision "
        "that it was tuned with",
        names_of_kinds(kinds));
  const std::vector<GpuTile> warps = warps_by_isa(kind);
  if (std::ranges::find(warps, below_block(tile), below_block) == warps.end())
    return fmt::format("no warp computes {} x {} at a time with {} x {} of each thread",
                       tile.warp_m, tile.warp_n, tile.thread_m, tile.thread_n);
  const auto is_multiple = [](int of, int by) { return of > 0 && of % by == 0; };
  if (!is_multiple(tile.block_m, tile.warp_m) || !is_multiple(tile.block_n, tile.warp_n) ||
      !is_multiple(tile.block_k, depth_granule(kind)) || tile.warps() > most_block_warps)
    return fmt::format("{} x {} x {} are no whole warps and steps, or more than {} warps",
                       tile.block_m, tile.block_n, tile.block_k, most_block_warps);
  if (std::ranges::find(few_stages, tile.stages) == std::end(few_stages))
    return fmt::format("it has {} stages, not 2 to 4", tile.stages);
  if (occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks == 0)
    return "a multiprocessor does not hold a block of it";
  return {};
}

std::optional<TunedTiles> tuned_tiles(const GpuMachine& machine, const std::vector<GpuKind>& kinds,
                                      const rkernel::Tuning& tuning, rkernel::Policy policy) {
  const auto found = std::ranges::find(tuning.pools, policy, &rkernel::TunedPool::policy);
  if (found == tuning.pools.end()) return std::nullopt;
  TunedTiles tuned;
  try {
    for (const auto& speed : nlohmann::json::parse(found->kernels).get<std::vector<PoolSpeed>>())
      tuned.tiles.push_back(tile_of(speed.plan.block));
    nlohmann::json::parse(found->shapes).get_to(tuned.sampled);
  } catch (const std::exception& error) {
    throw rkernel::broken_pool(tuning, *found, error.what());
  }
  if (tuned.tiles.empty()) throw rkernel::broken_pool(tuning, *found, "it has none");
  for (std::size_t i = 0; i < tuned.tiles.size(); ++i) {
    if (const std::string wrong = wrong_with(machine, kinds, tuned.tiles[i]); !wrong.empty())
      throw rkernel::broken_pool(
          tuning, *found,
          fmt::format("number {}, {}: {}", i + 1, tuned.tiles[i].to_string(), wrong));
  }
  return tuned;
}

}  // namespace dyn::choice
