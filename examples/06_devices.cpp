// One model on the CPU and on a GPU: the real one where there is one, else the emulator, which runs
// the same kernels slowly. Then with tensors in the GPU's memory, which a run does not copy.

#include <cmath>
#include <cstdio>
#include <random>

#include <dyn/dyn.hpp>

namespace {

constexpr const char* text = R"(
  dyn 1
  dim N in 1..64
  graph classify(x: f32[N, 24], w: f32[24, 10], bias: f32[10]) -> (p: f32[N, 10]) {
    p = softmax(gelu(matmul(x, w) + bias)) axis=1
    return p
  }
)";

dyn::Graph load_on_gpu() {
  dyn::Options options;
  options.device = "cuda";
  try {
    return dyn::Graph::from_text(text, options);
  } catch (const dyn::Error& error) { std::printf("%s\n", error.what()); }
  options.device = "emulator";
  return dyn::Graph::from_text(text, options);
}

dyn::Tensor random_tensor(dyn::Shape shape, std::mt19937& random) {
  dyn::Tensor tensor(dyn::DType::f32, std::move(shape));
  std::normal_distribution<float> normal(0.2F, 1);
  for (float& value : tensor.mutable_data<float>()) value = normal(random);
  return tensor;
}

}  // namespace

int main() {
  const dyn::Graph cpu = dyn::Graph::from_text(text), gpu = load_on_gpu();
  std::mt19937 random(7);
  const dyn::Tensor w = random_tensor({24, 10}, random), bias = random_tensor({10}, random);
  double largest = 0;
  for (const std::int64_t rows : {1, 3, 50}) {
    const dyn::Tensor x = random_tensor({rows, 24}, random);
    const dyn::Outputs a = cpu.run({{"x", x}, {"w", w}, {"bias", bias}}),
                       b = gpu.run({{"x", x}, {"w", w}, {"bias", bias}});
    const std::span<const float> wanted = a["p"].data<float>(), got = b["p"].data<float>();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      largest = std::fmax(largest, std::fabs(wanted[i] - got[i]));
  }
  std::printf("largest difference of a probability: %.1e\n", largest);

  const dyn::Device device(gpu);
  const dyn::Tensor x = random_tensor({5, 24}, random);
  dyn::Call call(gpu);
  call.set_input("x", device.upload(x));
  call.set_input("w", device.upload(w));  // stays there for all runs
  call.set_input("bias", device.upload(bias));
  call.set_output("p", device);
  call.run();
  const dyn::Tensor p = device.download(call.output("p"));
  const dyn::Outputs wanted = cpu.run({{"x", x}, {"w", w}, {"bias", bias}});
  for (std::size_t i = 0; i < p.data<float>().size(); ++i)
    largest = std::fmax(largest, std::fabs(p.data<float>()[i] - wanted["p"].data<float>()[i]));
  std::printf("with tensors on %s: %.1e\n", device.name().c_str(), largest);
  return largest < 1e-5 ? 0 : 1;
}
