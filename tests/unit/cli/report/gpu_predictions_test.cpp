// Predictions of the cost model for described GPUs; docs/gpu_predictions.md is made from it.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "dyn/graph.hpp"
#include "src/base/rounding.hpp"
#include "src/choice/gpu/late_tiles.hpp"
#include "src/choice/gpu/programs.hpp"
#include "src/cli/op/op_cases.hpp"
#include "src/cli/op/suite.hpp"
#include "src/cli/report/gpu_peak.hpp"
#include "src/runtime/load/model.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/support/generated_page.hpp"
#include "tests/unit/cli/report/suite_shapes.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using choice::GpuContraction;
using choice::GpuMachine;
using choice::GpuPair;
using choice::GpuProgram;
using choice::GpuTile;
using cli::DimMap;
using cli::OpCase;
using dyn::testing::SuiteShape;

namespace {

constexpr const char* page = DYN_SOURCE_DIR "/docs/gpu_predictions.md";

/// A kernel is made with these: the tiles of a GPU in one precision, the pairs of them, and late
/// tiles.
struct Candidates {
  Candidates(const GpuMachine& gpu, std::string precision_name)
      : machine(gpu),
        precision(std::move(precision_name)),
        operands(precision == "bf16" ? DType::bf16 : DType::f32),
        tiles(choice::gpu_tiles(gpu, operands, precision == "tf32")),
        pairs(choice::gpu_pairs(gpu, tiles)),
        late(choice::late_gpu_tiles(gpu, tiles)) {}
  const GpuMachine& machine;
  std::string precision;
  DType operands;
  std::vector<GpuTile> tiles;
  std::vector<GpuPair> pairs;
  std::shared_ptr<const std::vector<GpuTile>> late;
};

/// The predictions of a suite, summed up.
struct SuiteSums {
  std::size_t shapes = 0, beyond_a_wave = 0, two_regions = 0, shared = 0;
  double seconds = 0, of_one_tile = 0, log_of_limit = 0, saved_by_regions = 0, saved_by_sharing = 0;
};

/// `late`: the line's late tiles.
void add_shape(SuiteSums& sums, const Candidates& of, const SuiteShape& line,
               const std::vector<GpuTile>& late) {
  const choice::GpuTileSearch search(of.machine, line.tiles, late, line.shape_for);
  const GpuContraction shape = line.shape_for(line.tiles.front());
  const auto select = [&](const std::vector<GpuPair>& pairs, bool split) {
    return select_gpu_program(of.machine, line.shape_for, search, shape, pairs, split);
  };
  const GpuProgram one = select({}, false), whole = select(of.pairs, false),
                   chosen = select(of.pairs, true);
  REQUIRE(!chosen.regions.empty());
  CHECK(chosen.seconds <= whole.seconds);
  CHECK(whole.seconds <= one.seconds);
  const GpuTile& tile = search.tile({static_cast<int>(one.regions.front().tile), 0});
  const double limit = cli::limit_seconds(of.machine, of.precision, line.flops, line.bytes);
  CHECK(chosen.seconds > limit);
  ++sums.shapes;
  sums.beyond_a_wave +=
      shape.batch * ceil_div(shape.m, tile.block_m) * ceil_div(shape.n, tile.block_n) >
      std::int64_t{of.machine.multiprocessors} *
          choice::program_occupancy(of.machine, {&tile, 1}).blocks;
  sums.seconds += chosen.seconds;
  sums.of_one_tile += one.seconds;
  sums.log_of_limit += std::log(limit / chosen.seconds);
  if (chosen.regions.size() == 2) {
    ++sums.two_regions;
    sums.saved_by_regions += 1 - chosen.seconds / one.seconds;
  } else if (chosen.regions.front().split.tiles > 0) {
    ++sums.shared;
    sums.saved_by_sharing += 1 - chosen.seconds / whole.seconds;
  }
}

/// So many shapes, and the mean of what they save, in percent.
std::string saving(std::size_t shapes, double saved) {
  if (shapes == 0) return "0";
  return fmt::format("{}, {:.1f} %", shapes, 100 * saved / static_cast<double>(shapes));
}

std::string suite_row(const std::string& suite, const Candidates& of, const SuiteSums& sums) {
  return fmt::format("| {} | {} | {} | {} | {:.3g} | {:.1f} % | {:.3g} | {} | {} | {} |\n", suite,
                     sums.shapes, of.precision, of.machine.name, 1e3 * sums.seconds,
                     100 * std::exp(sums.log_of_limit / static_cast<double>(sums.shapes)),
                     1e3 * sums.of_one_tile, sums.beyond_a_wave,
                     saving(sums.two_regions, sums.saved_by_regions),
                     saving(sums.shared, sums.saved_by_sharing));
}

constexpr const char* suites_head =
    "\n| suite | shapes | precision | GPU | all, ms | of the limit | one tile, ms | "
    "beyond a wave | two regions, saved | shared tiles, saved |\n"
    "|---|--:|---|---|--:|--:|--:|--:|--:|--:|\n";

std::vector<OpCase> suite_of(const std::string& name) {
  return cli::read_suite(fmt::format("{}/tests/bench/suites/{}.txt", DYN_SOURCE_DIR, name));
}

using ShapeOf = SuiteShape (*)(const OpCase&, DType, const std::vector<GpuTile>&);

/// A row for each precision and GPU.
std::string suite_rows(const std::string& name, const std::vector<OpCase>& suite,
                       const std::vector<std::string>& precisions, ShapeOf shape_of) {
  std::string rows;
  for (const std::string& precision : precisions) {
    for (const GpuMachine& gpu : ptx::described_gpus()) {
      const Candidates candidates(gpu, precision);
      SuiteSums sums;
      for (const OpCase& line : suite) {
        INFO(name << " in " << precision << " on " << gpu.name << ": " << cli::describe_dims(line));
        add_shape(sums, candidates, shape_of(line, candidates.operands, candidates.tiles),
                  shape_of(line, candidates.operands, *candidates.late).tiles);
      }
      rows += suite_row(name, candidates, sums);
    }
  }
  return rows;
}

/// A table of the page.
void check_table(const std::string& name, const std::string& table) {
  dyn::testing::check_generated(
      page,
      fmt::format("<!-- {}: generated by tests/unit/cli/report/gpu_predictions_test.cpp -->\n",
                  name),
      fmt::format("<!-- end of {} -->\n", name), table + "\n");
}

/// A model of this repository, and dims to run it at.
struct ModelAtDims {
  const char* path;
  std::vector<DimMap> dims;
};

std::vector<ModelAtDims> models_at_dims() {
  const std::vector<DimMap> texts{{{"B", 1}, {"S", 128}}, {{"B", 16}, {"S", 384}}},
      steps{{{"B", 1}, {"S", 1}, {"P", 512}}, {{"B", 16}, {"S", 1}, {"P", 512}}},
      exported_steps{{{"B", 1}, {"S", 1}, {"P", 512}, {"P_S", 513}},
                     {{"B", 16}, {"S", 1}, {"P", 512}, {"P_S", 513}}},
      images{{{"B", 1}, {"H", 224}, {"W", 224}}, {{"B", 16}, {"H", 224}, {"W", 224}}};
  return {{"examples/models/bert_base", texts},
          {"examples/models/bert_large", texts},
          {"examples/models/distilbert", texts},
          {"examples/models/albert", texts},
          {"examples/models/gpt2", {{{"B", 1}, {"S", 128}}, {{"B", 1}, {"S", 1024}}}},
          {"examples/models/gpt2_cached", steps},
          {"tests/models/exported/llama-past", exported_steps},
          {"tests/models/exported/resnet", images},
          {"tests/models/exported/mobilenet-v3", images},
          {"tests/models/exported/vit", images},
          {"tests/models/exported/unet", images},
          {"tests/models/exported/whisper-encoder", {{{"B", 1}}, {{"B", 16}}}}};
}

/// "B=1 S=128", as --dims takes it.
std::string text_of(const DimMap& dims) {
  std::vector<std::string> words;
  for (const auto& [name, value] : dims) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, " "));
}

/// A model for a described GPU; weights are never in memory.
std::shared_ptr<const runtime::Model> load_for(const char* path, const std::string& gpu,
                                               const std::string& precision) {
  Options options = dyn::testing::uncached(1, "cuda");
  options.gpu = gpu;
  options.precision = precision;
  options.random_weights = true;
  return Graph::load(fmt::format("{}/{}.dyn", DYN_SOURCE_DIR, path), options).model();
}

struct Groups {
  std::size_t device = 0, host = 0;
};

Groups groups_of(const runtime::Model& model) {
  Groups groups;
  for (std::size_t i = 0; i < model.problems().size(); ++i)
    ++(model.kernel(i).space() == rkernel::Space::Device ? groups.device : groups.host);
  return groups;
}

double predicted_seconds(const runtime::Model& model, const GpuMachine& gpu, const DimMap& dims) {
  const runtime::PlanPtr plan = model.plan_uncached(model.bind_dims(dims));
  CHECK(plan->predicted_seconds() >
        cli::limit_seconds(gpu, model.options().precision, plan->flops(), plan->bytes()));
  return plan->predicted_seconds();
}

/// A row for each of its dims.
std::string model_rows(const ModelAtDims& item, const std::string& precision) {
  std::vector<std::string> rows;
  for (const DimMap& dims : item.dims)
    rows.push_back(fmt::format("| {} | {} | {} |", item.path, text_of(dims), precision));
  Groups groups;
  for (const GpuMachine& gpu : ptx::described_gpus()) {
    INFO(item.path << " in " << precision << " on " << gpu.name);
    const auto model = load_for(item.path, gpu.name, precision);
    groups = groups_of(*model);
    CHECK(groups.host == 0);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i] += fmt::format(" {:.3g} |", 1e3 * predicted_seconds(*model, gpu, item.dims[i]));
  }
  std::string table;
  for (const std::string& row : rows)
    table += fmt::format("{} {} | {} |\n", row, groups.device, groups.host);
  return table;
}

/// Their names in the order of described_gpus().
std::string columns_of_gpus() {
  std::string columns;
  for (const GpuMachine& gpu : ptx::described_gpus()) columns += fmt::format(" {}, ms |", gpu.name);
  return columns;
}

}  // namespace

TEST_CASE("gpu predictions: the suites, no faster than a GPU's limit") {
  std::string table = suites_head;
  for (const char* name : {"gemm-transformer", "gemm-cnn", "gemm-gnn", "gemm-deepbench"})
    table += suite_rows(name, suite_of(name), {"f32", "tf32", "bf16"}, dyn::testing::matmul_shape);
  check_table("suites", table);
}

TEST_CASE("gpu predictions: the suites of convolutions, no faster than a GPU's limit") {
  std::string table = suites_head;
  for (const std::int64_t images : {1, 16}) {
    std::vector<OpCase> suite = suite_of("conv-cnn");
    for (OpCase& line : suite) line.values["N"] = images;
    table += suite_rows(fmt::format("conv-cnn, N = {}", images), suite, {"f32", "bf16"},
                        dyn::testing::conv_shape);
  }
  table += suite_rows("conv-deepbench", suite_of("conv-deepbench"), {"f32", "bf16"},
                      dyn::testing::conv_shape);
  check_table("convolutions", table);
}

TEST_SUITE("full") {
  TEST_CASE("gpu predictions: the models, with all groups on the device") {
    std::string table = fmt::format(
        "\n| model | dims | precision |{} groups on the device | on the host |\n|---|---|---|",
        columns_of_gpus());
    for (std::size_t i = 0; i < ptx::described_gpus().size() + 2; ++i) table += "--:|";
    table += "\n";
    for (const ModelAtDims& item : models_at_dims())
      for (const char* precision : {"f32", "bf16"}) table += model_rows(item, precision);
    check_table("models", table);
  }
}
