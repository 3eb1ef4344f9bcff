// Measured blocks are kept on disk, and a file that does not fit is replaced, not believed.

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "targets/cpu/x86/cpu_info.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::choice::BlockKernel;
using dyn::choice::BlockPlan;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Blocks over all of K and with K in blocks, whole tiles and others, timed or not.
std::vector<BlockPlan> few_plans(const dyn::choice::Machine& machine) {
  const int panel = machine.panel;
  return {{{1, panel, 1, panel, 0}, {16, 100}, true},
          {{2, panel, 7, 3 * panel, 32}, {32, 96}, false},
          {{3, panel, 12, panel, 0}, {}, false}};
}

/// The process remembers figures for each number of threads: every use of another number begins
/// anew.
class Figures {
 public:
  dyn::choice::Machine machine(int threads) const {
    dyn::choice::Machine machine = testing::context_for(isa_, *store_)->machine();
    machine.threads = threads;
    return machine;
  }

  std::vector<BlockSpeed> get(const dyn::choice::Machine& machine) {
    warnings.clear();
    measured = false;
    dyn::rkernel::CompileReport report;
    const auto loops = [&] {
      measured = true;
      return testing::loops_for(isa_, *store_, dyn::DType::f32);
    };
    std::vector<BlockSpeed> figures =
        block_figures(isa_, machine, "few", few_plans(machine), loops, folder_.string(), report);
    warnings = std::move(report.warnings);
    return figures;
  }

  /// The only file there is.
  fs::path file() const {
    REQUIRE(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()) == 1);
    return fs::directory_iterator(folder_.path())->path();
  }
  json content() const { return json::parse(std::ifstream(file())); }
  /// Writes this text to the file for so many threads, and removes the file that was there.
  void put(int threads, const std::string& text) {
    std::string name = file().filename().string();
    fs::remove(file());
    const std::string stem = "blocks-few-" + isa_.name + "-";
    name.replace(stem.size(), name.find('-', stem.size()) - stem.size(), std::to_string(threads));
    std::ofstream(folder_.path() / name) << text;
  }

  std::vector<std::string> warnings;
  bool measured = false;

 private:
  const Isa& isa_ = select_isa("");
  std::shared_ptr<CodeStore> store_ = CodeStore::open(isa_, {});
  dyn::testing::TemporaryFolder folder_;
};

// The file that another process would have left.
json json_of(const std::vector<BlockSpeed>& speeds) {
  json blocks = json::array();
  for (const BlockSpeed& speed : speeds) {
    const BlockKernel& block = speed.plan.block;
    blocks.push_back(
        {{"block", {block.tile_rows, block.tile_columns, block.rows, block.columns, block.depth}},
         {"depths", speed.plan.depths},
         {"alone", speed.alone},
         {"together", speed.together}});
  }
  return {{"name", cpu_name()}, {"blocks", blocks}};
}

std::vector<BlockSpeed> made_up_speeds(const dyn::choice::Machine& machine) {
  std::vector<BlockSpeed> speeds;
  for (const BlockPlan& plan : few_plans(machine)) {
    speeds.push_back({plan, std::vector<double>(plan.depths.size(), 1e-6), {}});
    if (plan.together) speeds.back().together = std::vector<double>(plan.depths.size(), 2e-6);
  }
  return speeds;
}

void check_measured(const std::vector<BlockSpeed>& speeds, const dyn::choice::Machine& machine) {
  const std::vector<BlockPlan> wanted = few_plans(machine);
  REQUIRE(speeds.size() == wanted.size());
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const BlockPlan& plan = wanted[i];
    CHECK(speeds[i].plan == plan);
    REQUIRE(speeds[i].alone.size() == plan.depths.size());
    REQUIRE(speeds[i].together.size() == (plan.together ? plan.depths.size() : 0));
    for (std::size_t depth = 0; depth < plan.depths.size(); ++depth) {
      CHECK(speeds[i].alone[depth] > 0);
      if (plan.together) CHECK(speeds[i].together[depth] >= speeds[i].alone[depth]);
    }
  }
}

void check_file_of(const Figures& figures, const std::vector<BlockSpeed>& speeds) {
  CHECK(figures.content() == json_of(speeds));
}

}  // namespace

TEST_SUITE("full") {
  TEST_CASE(
      "figures of blocks are measured once, kept in a file, and measured anew where the file does "
      "not fit") {
    Figures figures;
    const auto first_machine = figures.machine(1);
    const std::vector<BlockSpeed> first = figures.get(first_machine);
    CHECK(figures.measured);
    CHECK(figures.warnings.empty());
    check_measured(first, first_machine);
    check_file_of(figures, first);

    // Another process's file is believed.
    const auto kept_machine = figures.machine(2);
    const json kept = json_of(made_up_speeds(kept_machine));
    figures.put(2, kept.dump());
    const std::vector<BlockSpeed> believed = figures.get(kept_machine);
    CHECK_FALSE(figures.measured);
    CHECK(figures.warnings.empty());
    CHECK(json_of(believed) == kept);
    CHECK(figures.content() == kept);

    json other_name = json_of(made_up_speeds(figures.machine(3))),
         other_blocks = json_of(made_up_speeds(figures.machine(4)));
    other_name["name"] = "another machine";
    other_blocks["blocks"].erase(2);
    const std::string whole = json_of(made_up_speeds(figures.machine(5))).dump();
    const std::vector<std::pair<std::string, std::string>> wrong{
        {other_name.dump(), "was measured on 'another machine'"},
        {other_blocks.dump(), "for other blocks"},
        {whole.substr(0, whole.size() / 2), "is damaged"}};
    for (int threads = 3; const auto& [text, warning] : wrong) {
      const auto machine = figures.machine(threads);
      figures.put(threads, text);
      const std::vector<BlockSpeed> speeds = figures.get(machine);
      CAPTURE(warning);
      CHECK(figures.measured);
      REQUIRE(figures.warnings.size() == 1);
      CHECK(figures.warnings.front().find(warning) != std::string::npos);
      CHECK(figures.warnings.front().find(figures.file().string()) != std::string::npos);
      check_measured(speeds, machine);
      check_file_of(figures, speeds);
      ++threads;
    }
  }
}
