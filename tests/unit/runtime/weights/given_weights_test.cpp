// Weights in memory that the caller gives away: read once, and given back to the system.

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "dyn/dyn.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;

namespace {

/// `w` is packed, and read as it lies; `b` is not packed.
const char* const shared_weight = R"(dyn 1
dim M in 0..8
weights "w.safetensors"
graph g(x: f32[M, 200]) -> (y: f32[M, 300], z: f32[200, 300]) {
  y = matmul(x, w: f32[200, 300]) + b: f32[300]
  z = neg(w)
  return y, z
}
)";
constexpr std::size_t depth = 200, columns = 300, elements = depth * columns;

std::string file_of(const std::vector<float>& w, const std::vector<float>& b) {
  const std::size_t middle = 4 * w.size(), end = middle + 4 * b.size();
  const std::string header = R"({"w":{"dtype":"F32","shape":[200,300],"data_offsets":[0,)" +
                             std::to_string(middle) +
                             R"(]},"b":{"dtype":"F32","shape":[300],"data_offsets":[)" +
                             std::to_string(middle) + "," + std::to_string(end) + "]}}";
  return testing::safetensors_file(
      header, std::string(reinterpret_cast<const char*>(w.data()), middle) +
                  std::string(reinterpret_cast<const char*>(b.data()), end - middle));
}

}  // namespace

TEST_CASE("weights that the caller gives away are read whole, and given back") {
  const std::vector<float> w = testing::random_values(elements, 1),
                           b = testing::random_values(columns, 2), x(depth, 1);
  for (const bool gives : {true, false}) {
    CAPTURE(gives);
    const std::string file = file_of(w, b), before = file;
    const std::map<std::string, std::string_view> files{{"w.safetensors", file}};
    runtime::LoadRequest request;
    request.text = shared_weight;
    request.files = &files;
    request.gives_files = gives;
    const auto model = runtime::Model::load(request, testing::uncached(2));
    runtime::CallState call(model);
    call.set_input(0, Tensor::view(x.data(), {1, static_cast<std::int64_t>(depth)}));
    call.run();
    const std::span<const float> y = call.output(0).data<float>(), z = call.output(1).data<float>();
    for (std::size_t n = 0; n < columns; ++n) {
      double sum = static_cast<double>(b[n]);
      for (std::size_t k = 0; k < depth; ++k) sum += static_cast<double>(w[k * columns + n]);
      REQUIRE(y[n] == doctest::Approx(sum).epsilon(1e-4).scale(1));
    }
    for (std::size_t i = 0; i < elements; ++i) REQUIRE(z[i] == -w[i]);
    const std::size_t zeros = static_cast<std::size_t>(std::ranges::count(file, '\0')) -
                              static_cast<std::size_t>(std::ranges::count(before, '\0'));
    if (gives)
      CHECK(zeros > elements * 4 * 9 / 10 - 2 * 4096);
    else
      CHECK(zeros == 0);
  }
}
