#include "tests/support/generated_page.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace dyn::testing {

void check_generated(const std::string& path, std::string_view begin_mark,
                     std::string_view end_mark, const std::string& wanted) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE_MESSAGE(file, "cannot read " << path);
  std::ostringstream contents;
  contents << file.rdbuf();
  const std::string text = contents.str();
  const std::size_t begin = text.find(begin_mark), end = text.find(end_mark);
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  const std::string whole = text.substr(0, begin + begin_mark.size()) + wanted + text.substr(end);
  const char* update = std::getenv("DYN_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    std::ofstream(path, std::ios::binary) << whole;
    return;
  }
  INFO("golden file " << path << "; DYN_UPDATE_GOLDEN=1 rewrites it");
  CHECK(text == whole);
}

}  // namespace dyn::testing
