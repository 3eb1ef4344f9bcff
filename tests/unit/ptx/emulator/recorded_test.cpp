// The emulator gives what real GPUs gave (tests/golden/gpu).

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/device/recorded.hpp"
#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

std::vector<nlohmann::json> recorded_files() {
  std::vector<nlohmann::json> files;
  const std::filesystem::path folder = std::filesystem::path(DYN_SOURCE_DIR) / "tests/golden/gpu";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    files.push_back(nlohmann::json::parse(file));
  }
  return files;
}

Words words_of(const nlohmann::json& lines) {
  Words words;
  for (const std::string line : lines) {
    for (std::size_t at = 0; at < line.size(); at += 8)
      words.push_back(static_cast<std::uint32_t>(std::stoul(line.substr(at, 8), nullptr, 16)));
  }
  return words;
}

/// No GPU has recorded these yet.
constexpr std::string_view unrecorded[] = {"mma u8.u8", "mma u8.s8", "mma s8.u8", "mma s8.s8",
                                           "prmt"};

}  // namespace

TEST_CASE("emulator: small kernels have the bits of a GPU") {
  const auto files = recorded_files();
  CHECK(!files.empty());
  for (const nlohmann::json& file : files) {
    INFO(file.at("gpu").get<std::string>());
    std::size_t compared = 0;
    for (const RecordedKernel& kernel : recorded_kernels()) {
      INFO(kernel.name);
      if (!file.at("kernels").contains(kernel.name)) {
        CHECK(std::ranges::find(unrecorded, kernel.name) != std::end(unrecorded));
        continue;
      }
      ++compared;
      CHECK(words_of(file.at("kernels").at(kernel.name)) ==
            run(shared_emulator().emulator(), kernel));
    }
    CHECK(compared == file.at("kernels").size());
  }
}

TEST_CASE("emulator: scalar operators have the bits of a GPU") {
  for (const nlohmann::json& file : recorded_files()) {
    INFO(file.at("gpu").get<std::string>());
    // Operators whose code is another one since the file was written, and has to be recorded again.
    const auto changed = file.value("changed", std::vector<std::string>{});
    CHECK(file.at("functions").size() + changed.size() == recorded_functions().size());
    for (const graph::ScalarOpInfo& function : recorded_functions()) {
      INFO(function.text);
      if (std::ranges::find(changed, function.text) != changed.end()) continue;
      CHECK(file.at("functions").at(std::string(function.text)) ==
            hash_of(results_of(function, "emulator")));
    }
  }
}

TEST_CASE("emulator: approximations use up their bounds, and a GPU's stay within") {
  const RecordedKernel kernel = approximation_kernel();
  const ApproximationErrors errors = errors_of(kernel, run(shared_emulator().emulator(), kernel));
  CHECK(errors.exp2 == 2);
  CHECK(errors.reciprocal == 1);
  for (const codegen::ApproximateFunction& function : ptx::approximate_functions)
    CHECK(largest_error(function, "emulator") <= function.ulps);
  for (const nlohmann::json& file : recorded_files()) {
    INFO(file.at("gpu").get<std::string>());
    if (!file.contains("approximations")) continue;
    const ApproximationErrors recorded = errors_of(kernel, words_of(file.at("approximations")));
    CHECK(recorded.exp2 <= 2);
    CHECK(recorded.reciprocal <= 1);
    for (const codegen::ApproximateFunction& function : ptx::approximate_functions)
      CHECK(file.at("ulps").at(std::string(graph::info_of(function.op).text)) <= function.ulps);
  }
}
