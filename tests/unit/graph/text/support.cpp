#include "tests/unit/graph/text/support.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "graph/text/text.hpp"

namespace dyn::test {
namespace {

std::filesystem::path in_source(const std::string& path) {
  return std::filesystem::path(DYN_SOURCE_DIR) / path;
}

}  // namespace

std::string read_source(const std::string& path) {
  std::ifstream file(in_source(path), std::ios::binary);
  REQUIRE_MESSAGE(file, "cannot read " << path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void check_golden(const std::string& path, const std::string& text) {
  const char* update = std::getenv("DYN_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    std::filesystem::create_directories(in_source(path).parent_path());
    std::ofstream(in_source(path), std::ios::binary) << text;
    return;
  }
  INFO("golden file " << path << "; DYN_UPDATE_GOLDEN=1 rewrites it");
  CHECK(read_source(path) == text);
}

std::vector<std::string> list_sources(const std::string& folder, const std::string& ending) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(in_source(folder))) {
    if (entry.path().string().ends_with(ending))
      paths.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<std::string> model_paths() {
  std::vector<std::string> paths = list_sources("examples/models", ".dyn");
  for (const std::string& path : list_sources("tests/models", ".dyn")) paths.push_back(path);
  return paths;
}

std::string error_of(std::string_view text) {
  try {
    graph::parse(text, "test.dyn");
  } catch (const Error& error) { return error.message(); }
  return "";
}

std::string model(std::string_view statements, std::string_view output) {
  return "dyn 1\ndim B in 1..8\ndim S in 1..512\ngraph g(x: f32[B, S], y: f32[B, S], ids: i64[B, "
         "S]) -> (r: " +
         std::string(output) + ") {\n" + std::string(statements) + "\n}\n";
}

}  // namespace dyn::test
