// Weights from memory: a safetensors file that the program holds itself, embedded or downloaded.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <dyn/dyn.hpp>

namespace {

/// A safetensors file: 8 bytes with the header's length, the JSON header, the elements.
std::string safetensors_file(const std::vector<float>& w) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})";
  const std::uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += header;
  file.append(reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float));
  return file;
}

}  // namespace

int main() {
  const std::string file = safetensors_file({1, 2, 3, 4, 5, 6});
  const dyn::Graph graph = dyn::Graph::from_memory(R"(
    dyn 1
    dim N in 0..1000
    weights "own.safetensors"
    graph linear(x: f32[N, 2]) -> (y: f32[N, 3]) {
      y = matmul(x, w: f32[2, 3])
      return y
    }
  )",
                                                   {{"own.safetensors", file}});

  const dyn::Outputs outputs = graph.run({{"x", dyn::Tensor::from<float>({1, 10}, {1, 2})}});
  const std::span<const float> y = outputs["y"].data<float>();
  std::printf("%g %g %g\n", y[0], y[1], y[2]);
  return y[0] == 41 && y[1] == 52 && y[2] == 63 ? 0 : 1;
}
