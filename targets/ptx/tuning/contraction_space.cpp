#include "targets/ptx/tuning/contraction_space.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "targets/ptx/tile/problem_tile.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuMachine;
using choice::GpuProgram;
using choice::GpuPrograms;
using choice::GpuRegion;
using choice::GpuTile;

class GpuContractionSpace final : public rkernel::ProgramSpace {
 public:
  GpuContractionSpace(const GpuMachine& machine, GpuPrograms programs, TunedSizes sizes,
                      choice::GpuShapeFor shape_for)
      : programs_(std::move(programs)),
        sizes_(std::move(sizes)),
        space_(machine, programs_, std::move(shape_for)) {}

  const std::vector<Axis>& axes() const override { return space_.axes(); }
  bool allows(const Point& point) const override { return space_.allows(point); }
  // All tiles fit the machine.
  bool fits(const Point&) const override { return true; }
  double unmet(const Point& point) const override { return space_.unmet(point); }
  std::vector<Point> seeds() const override { return space_.seeds(); }

  rkernel::Candidate program(const Point& point) const override {
    const GpuProgram program = space_.program_at(point);
    rkernel::Candidate candidate;
    candidate.program = words_of(program.regions);
    candidate.predicted_seconds = program.seconds;
    candidate.launch.predicted_seconds = program.seconds;
    for (const GpuRegion& region : program.regions) {
      for (const std::int64_t value : {static_cast<std::int64_t>(region.tile), region.m0, region.m,
                                       region.n0, region.n, region.split.tiles, region.split.span})
        candidate.launch.ints.push_back(value);
    }
    candidate.model_input = [sizes = sizes_, tiles = programs_.tiles, program] {
      return model_input_of(sizes, {tiles, program.regions});
    };
    return candidate;
  }

 private:
  std::string words_of(const std::vector<GpuRegion>& regions) const {
    std::string words;
    for (const GpuRegion& region : regions) {
      words += (words.empty() ? "" : ", ") + programs_.tiles[region.tile].to_string();
      if (regions.size() > 1)
        words += fmt::format(" on [{}..{}, {}..{}]", region.m0, region.m0 + region.m, region.n0,
                             region.n0 + region.n);
      if (region.split.tiles > 0)
        words += fmt::format(", {} tiles shared in parts of {} steps", region.split.tiles,
                             region.split.span);
    }
    return words;
  }

  const GpuPrograms programs_;
  const TunedSizes sizes_;
  choice::GpuTileSpace space_;
};

}  // namespace

std::vector<GpuTile> every_tile(const rkernel::Problem& problem, const GpuMachine& machine,
                                const std::vector<GpuTile>& candidates) {
  std::vector<std::pair<choice::Engine, DType>> kinds;
  std::vector<GpuTile> tiles;
  for (const GpuTile& candidate : candidates) {
    const std::pair kind(candidate.engine, candidate.operands);
    if (std::ranges::find(kinds, kind) != kinds.end()) continue;
    kinds.push_back(kind);
    for (const GpuTile& plain :
         choice::every_gpu_tile(machine, candidate.engine, candidate.operands)) {
      const GpuTile tile = for_problem(plain, problem);
      if (!can_have(problem, tile)) continue;
      if (choice::occupancy(machine, tile.threads(), tile.registers(), tile.shared_bytes()).blocks >
          0)
        tiles.push_back(tile);
    }
  }
  return tiles;
}

std::unique_ptr<const rkernel::ProgramSpace> make_program_space(const GpuMachine& machine,
                                                                GpuPrograms programs,
                                                                TunedSizes sizes,
                                                                choice::GpuShapeFor shape_for) {
  return std::make_unique<const GpuContractionSpace>(machine, std::move(programs), std::move(sizes),
                                                     std::move(shape_for));
}

}  // namespace dyn::ptx
