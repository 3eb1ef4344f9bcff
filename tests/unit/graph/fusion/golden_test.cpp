// Text in, text out: groups and problems of small graphs. DYN_UPDATE_GOLDEN=1 rewrites the
// expectations.

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("golden problems") {
  const std::filesystem::path folder =
      std::filesystem::path(DYN_SOURCE_DIR) / "tests/golden/passes";
  int cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".dyn") continue;
    ++cases;
    CAPTURE(entry.path().filename());
    // Targets with a kernel for attention, those that place parts, and those that compute factors
    // and several products in one kernel, have expectations of their own.
    const std::string name = entry.path().stem().string();
    const Pipeline pipeline =
        through_passes(read(entry.path()), {.keep_attention = name.starts_with("whole_")},
                       name.starts_with("computed_")
                           ? graph::FuseOptions{.gated_columns = 8,
                                                .prologue_columns = 8,
                                                .image_channels = 4,
                                                .columns_apart = true,
                                                .share_inputs = true}
                           : graph::FuseOptions{.place_parts = name.starts_with("placed_")});
    CHECK(defects(pipeline).empty());
    auto expectation = entry.path();
    expectation.replace_extension(".txt");
    const std::string text = describe(pipeline);
    if (std::getenv("DYN_UPDATE_GOLDEN")) std::ofstream(expectation) << text;
    CHECK(text == read(expectation));
  }
  CHECK(cases > 0);
}

}  // namespace
}  // namespace dyn::testing
