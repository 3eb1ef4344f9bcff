// The groups that the passes make of the models in examples/models.

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tests/unit/graph/fusion/pipeline.hpp"

namespace dyn::testing {
namespace {

std::string model_text(const std::string& name) {
  std::ifstream file(std::string(DYN_SOURCE_DIR) + "/examples/models/" + name);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, int> count_stems(const Pipeline& pipeline) {
  std::map<std::string, int> count;
  for (const auto& group : pipeline.fusion.groups)
    ++count[group.name.substr(0, group.name.rfind('_'))];
  return count;
}

TEST_CASE("BERT-base is 9 groups a layer, one embedding and one mask") {
  const Pipeline bert = through_passes(model_text("bert_base.dyn"));
  CHECK(defects(bert).empty());
  CHECK(bert.fusion.groups.size() == 12 * 9 + 2);
  const auto count = count_stems(bert);
  CHECK(count.at("matmul") == 12 * 6);
  CHECK(count.at("softmax") == 12);
  CHECK(count.at("layer_norm") == 12 * 2 + 1);
  CHECK_FALSE(count.contains("copy"));
}

TEST_CASE("the other models pass, without copies") {
  for (const char* name : {"bert_large.dyn", "distilbert.dyn", "albert.dyn", "gpt2.dyn"}) {
    CAPTURE(name);
    const Pipeline model = through_passes(model_text(name));
    CHECK(defects(model).empty());
    CHECK_FALSE(count_stems(model).contains("copy"));
  }
}

}  // namespace
}  // namespace dyn::testing
