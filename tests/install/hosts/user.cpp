// What uses dyn in a host that has a protobuf and an LLVM of its own.

#include <cstdio>
#include <fstream>
#include <string>

#include <dyn/dyn.hpp>

namespace {

/// A field of bytes in protobuf's encoding; all are short.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

std::string integer(int number, char value) { return {static_cast<char>(number << 3), value}; }

/// An ONNX model: y = x + x for f32 of any length.
std::string doubling() {
  const std::string dims = field(2, field(1, field(2, "N"))),
                    type = field(2, field(1, integer(1, 1) + dims)),
                    node = field(1, "x") + field(1, "x") + field(2, "y") + field(4, "Add"),
                    graph = field(1, node) + field(2, "g") + field(11, field(1, "x") + type) +
                            field(12, field(1, "y") + type);
  return integer(1, 8) + field(7, graph) + field(8, integer(2, 17));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int use_dyn(const char* folder) {
  const std::string path = std::string(folder) + "/doubling.onnx";
  std::ofstream(path, std::ios::binary) << doubling();
  try {
    const dyn::Graph graph = dyn::Graph::load(path);
    const dyn::Outputs outputs = graph.run({{"x", dyn::Tensor::from<float>({1, 2, 3}, {3})}});
    return outputs["y"].data<float>()[2] == 6 ? 0 : 1;
  } catch (const dyn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
