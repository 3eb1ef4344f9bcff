// Recurrent layers whose weights are inputs that lie by columns.

#include <fmt/format.h>

#include "dyn/dyn.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

Outputs run_turned(const char* device, std::int64_t hidden, const NamedTensors& inputs) {
  Options options;
  options.cache_dir = "none";
  options.device = device;
  const std::string text = fmt::format(
      "dyn 1\ngraph g(x: f32[2, 3, {0}], r: f32[1, {0}, {0}]) -> (y: f32[2, 1, 3, {0}], z: f32[1, "
      "3, {0}]) {{\n  steps = range() start=2 end=3 dtype=i32\n  lengths = expand(steps) "
      "shape=[3]\n  b = expand(0.0) shape=[1, {0}]\n  h = expand(0.0) shape=[1, 3, {0}]\n  y, z = "
      "rnn(x + x, transpose(r) perm=[0, 2, 1], b, lengths, h)\n  return y, z\n}}\n",
      hidden);
  return Graph::from_text(text, options).run(inputs);
}

}  // namespace

TEST_CASE("weights of a recurrence that lie by columns stay within their memory") {
  for (const std::int64_t hidden : {1, 4, 5, 16, 17, 33}) {
    CAPTURE(hidden);
    std::vector<float> x, r;
    for (std::int64_t i = 0; i < 6 * hidden; ++i)
      x.push_back(static_cast<float>(i * 7 % 11) / 11 - 0.4F);
    for (std::int64_t i = 0; i < hidden * hidden; ++i)
      r.push_back(static_cast<float>(i * 5 % 13) / 26 - 0.3F);
    const NamedTensors inputs{{"x", Tensor::view(x.data(), {2, 3, hidden})},
                              {"r", Tensor::view(r.data(), {1, hidden, hidden})}};
    const Outputs actual = run_turned("cpu", hidden, inputs),
                  expected = run_turned("reference", hidden, inputs);
    for (const char* name : {"y", "z"}) {
      const auto ours = actual[name].data<float>(), theirs = expected[name].data<float>();
      for (std::size_t i = 0; i < ours.size(); ++i)
        CHECK(ours[i] == doctest::Approx(theirs[i]).epsilon(1e-5).scale(1));
    }
  }
}
