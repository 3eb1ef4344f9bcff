// Texts of tuned GPU programs, and kernels that take them.

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/rkernel/target/program_space.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/tuning/contraction_space.hpp"
#include "targets/ptx/tuning/tuned_programs.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using dyn::choice::GpuTile;
using dyn::ptx::testing::LoweredGraph;

namespace {

std::unique_ptr<ContractionKernel> kernel_with(const LoweredGraph& graph,
                                               const rkernel::Tuning* tuning) {
  const choice::GpuMachine machine = described_gpu("a100");
  auto draft = ContractionKernel::draft(graph.contraction(), machine, DType::f32,
                                        choice::gpu_tiles(machine, DType::f32, false), "cuda/test",
                                        rkernel::Policy::Dyn, {}, true, tuning);
  REQUIRE(draft.has_value());
  return testing::numbered(*std::move(draft));
}

rkernel::Tuning tuning_of(rkernel::ModelInput input) {
  rkernel::Tuning tuning;
  tuning.file = "gpu.json";
  tuning.programs = {{std::move(input), 1, 2.5e-6}};
  return tuning;
}

}  // namespace

TEST_CASE("tuned GPU programs: texts are read back, and those of other problems passed over") {
  TunedSizes sizes{"a problem", {.batch = 2, .m = 3, .n = 5, .k = 7, .a_overlap = 1.5}, 3};
  GpuTile tile;
  tile.engine = choice::Engine::TensorCores;
  tile.operands = DType::bf16;
  tile.warp_m = 16, tile.stages = 4, tile.ahead = true, tile.overlapped = true;
  const TunedRegions program{{GpuTile(), tile}, {{1, 0, 3, 0, 5, {4, 9}}}};
  const rkernel::Tuning tuning = tuning_of(model_input_of(sizes, program));
  CHECK(programs_for(tuning, "another problem").empty());
  const auto read = programs_for(tuning, "a problem");
  REQUIRE(read.size() == 1);
  CHECK(read[0].number == 1);
  CHECK(read[0].seconds == 2.5e-6);
  CHECK(read[0].sizes.vectors == 3);
  CHECK(read[0].sizes.shape.a_overlap == 1.5);
  CHECK(read[0].sizes.shape.k == 7);
  REQUIRE(read[0].program.regions.size() == 1);
  CHECK(read[0].program.tiles.at(read[0].program.regions[0].tile) == tile);
  CHECK(read[0].program.regions[0].split == choice::GpuSplit{4, 9});

  for (const auto& [sizes_text, program_text] :
       {std::pair{"{", "[]"}, {"{}", "[]"}, {"null", "[]"}}) {
    CHECK_THROWS_WITH_AS(programs_for(tuning_of({sizes_text, program_text}), "a problem"),
                         doctest::Contains("'gpu.json', program 1: "), Error);
  }
  rkernel::ModelInput broken = model_input_of(sizes, program);
  broken.program.replace(broken.program.find("bf16"), 4, "xx99");
  CHECK_THROWS_WITH_AS(programs_for(tuning_of(broken), "a problem"),
                       doctest::Contains("there is no dtype 'xx99'"), Error);
}

TEST_CASE("tuned GPU programs: a kernel has code for them, and takes them at their sizes alone") {
  const LoweredGraph graph = testing::lowered(testing::product);
  const auto plain = kernel_with(graph, nullptr);
  const auto symbols = graph.symbols({{"B", 1}, {"M", 300}, {"N", 256}, {"K", 512}});
  const auto space = plain->program_space({symbols, 1});
  REQUIRE(space);
  // A tile that is no candidate: with other stages or another step of K than the first seed.
  std::optional<rkernel::Candidate> other;
  const auto seeds = space->seeds();
  for (std::size_t axis = 5; axis < 7; ++axis) {
    for (const std::int64_t value : space->axes()[axis].values) {
      auto point = seeds.front();
      if (point[axis] == value) continue;
      point[axis] = value;
      if (space->allows(point)) other = space->program(point);
    }
  }
  REQUIRE(other);
  const rkernel::Tuning tuning = tuning_of(other->model_input());
  const auto tuned = kernel_with(graph, &tuning);
  const rkernel::Launch launch = tuned->plan({symbols, 1});
  CHECK(launch.predicted_seconds == 2.5e-6);
  CHECK(launch.grid.function != nullptr);
  CHECK(tuned->plan({symbols, 1}).predicted_seconds == 2.5e-6);  // remembered
  const auto longer = graph.symbols({{"B", 1}, {"M", 301}, {"N", 256}, {"K", 512}});
  CHECK(tuned->plan({longer, 1}).predicted_seconds == plain->plan({longer, 1}).predicted_seconds);
  CHECK(tuned->explain({symbols, 1}).find("by the tuning file") != std::string::npos);
  const rkernel::Choices choices = tuned->choices({symbols, 1}, rkernel::Policy::Dyn);
  CHECK(choices.candidates.size() ==
        plain->choices({symbols, 1}, rkernel::Policy::Dyn).candidates.size() + 1);
  CHECK(choices.chosen + 1 == choices.candidates.size());

  rkernel::ModelInput wrong = other->model_input();
  wrong.program.replace(wrong.program.find("\"block_m\":"), 10, "\"block_m\":7");
  const rkernel::Tuning strange = tuning_of(wrong);
  CHECK_THROWS_WITH_AS(kernel_with(graph, &strange),
                       doctest::Contains("'gpu.json', program 1: there is no such tile"), Error);
}
