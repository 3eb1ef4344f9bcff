#include "targets/ptx/tuning/tuned_programs.hpp"

#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dyn::ptx {
namespace {

using choice::GpuContraction;
using choice::GpuRegion;
using choice::GpuTile;
using nlohmann::json;

/// Calls `visit(name, member)` for what tells one tile from another.
template <class Of, class Visit>
void for_each_size(Of& tile, const Visit& visit) {
  visit("thread_m", tile.thread_m);
  visit("thread_n", tile.thread_n);
  visit("warp_m", tile.warp_m);
  visit("warp_n", tile.warp_n);
  visit("block_m", tile.block_m);
  visit("block_n", tile.block_n);
  visit("block_k", tile.block_k);
  visit("stages", tile.stages);
  visit("ahead", tile.ahead);
  visit("overlapped", tile.overlapped);
  visit("window_entry_bytes", tile.window_entry_bytes);
  visit("strip_bytes", tile.strip_bytes);
  visit("sides", tile.sides);
  visit("factor_registers", tile.factor_registers);
}

json json_of(const GpuTile& tile) {
  json text{{"tensor_cores", tile.engine == choice::Engine::TensorCores},
            {"operands", name_of(tile.operands)}};
  for_each_size(tile, [&](const char* name, const auto& member) { text[name] = member; });
  return text;
}

GpuTile tile_from(const json& text) {
  GpuTile tile;
  tile.engine =
      text.at("tensor_cores").get<bool>() ? choice::Engine::TensorCores : choice::Engine::CudaCores;
  const auto dtype = text.at("operands").get<std::string>();
  const auto known = parse_dtype(dtype);
  if (!known) throw std::invalid_argument(fmt::format("there is no dtype '{}'", dtype));
  tile.operands = *known;
  for_each_size(tile, [&](const char* name, auto& member) { text.at(name).get_to(member); });
  return tile;
}

TunedSizes sizes_from(const json& text) {
  TunedSizes sizes;
  text.at("problem").get_to(sizes.problem);
  text.at("batch").get_to(sizes.shape.batch);
  text.at("m").get_to(sizes.shape.m);
  text.at("n").get_to(sizes.shape.n);
  text.at("k").get_to(sizes.shape.k);
  text.at("a_overlap").get_to(sizes.shape.a_overlap);
  text.at("vectors").get_to(sizes.vectors);
  return sizes;
}

TunedRegions regions_from(const json& text) {
  TunedRegions program;
  for (const json& each : text) {
    const json& at = each.at("region");
    program.regions.push_back({program.tiles.size(),
                               at.at(0),
                               at.at(1),
                               at.at(2),
                               at.at(3),
                               {each.at("shared").at(0), each.at("shared").at(1)}});
    program.tiles.push_back(tile_from(each.at("tile")));
  }
  return program;
}

}  // namespace

rkernel::ModelInput model_input_of(const TunedSizes& sizes, const TunedRegions& program) {
  const GpuContraction& shape = sizes.shape;
  json regions = json::array();
  for (const GpuRegion& region : program.regions) {
    regions.push_back({{"region", {region.m0, region.m, region.n0, region.n}},
                       {"shared", {region.split.tiles, region.split.span}},
                       {"tile", json_of(program.tiles.at(region.tile))}});
  }
  return {json{{"problem", sizes.problem},
               {"batch", shape.batch},
               {"m", shape.m},
               {"n", shape.n},
               {"k", shape.k},
               {"a_overlap", shape.a_overlap},
               {"vectors", sizes.vectors}}
              .dump(),
          regions.dump()};
}

std::vector<TunedGpuProgram> programs_for(const rkernel::Tuning& tuning,
                                          const std::string& problem) {
  std::vector<TunedGpuProgram> programs;
  for (std::size_t i = 0; i < tuning.programs.size(); ++i) {
    const rkernel::TunedProgram& each = tuning.programs[i];
    try {
      TunedSizes sizes = sizes_from(json::parse(each.input.sizes));
      if (sizes.problem != problem) continue;
      programs.push_back(
          {i + 1, std::move(sizes), regions_from(json::parse(each.input.program)), each.seconds});
    } catch (const std::exception& error) {
      throw rkernel::broken_program(tuning, i + 1, error.what());
    }
  }
  return programs;
}

}  // namespace dyn::ptx
