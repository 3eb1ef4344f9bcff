// A model made in the program, with two operators of its own: one with a kernel on the host, and
// one that an expression defines, which is fused and compiled like dyn's own.

#include <algorithm>
#include <cstdio>
#include <vector>

#include <dyn/dyn.hpp>
#include <dyn/functions.hpp>

namespace {

/// The sum of each row's elements so far, as a shape function and a kernel.
const dyn::Operator running_sum{
    .domain = "demo",
    .name = "running_sum",
    .inputs = {"x"},
    .attributes = {{"decay", 1.0}},
    .shape = [](const dyn::ShapeContext& node) { return node.inputs(); },
    .kernel =
        [](const dyn::KernelContext& node) {
          const auto decay = static_cast<float>(node.attributes().number("decay"));
          const std::span<const float> x = node.inputs()[0].data<float>();
          const std::span<float> y = node.outputs()[0].mutable_data<float>();
          const auto columns = static_cast<std::size_t>(node.inputs()[0].shape().back());
          for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = x[i] + (i % columns == 0 ? 0 : decay * y[i - 1]);
        }};

const dyn::Operator swish{.domain = "demo",
                          .name = "swish",
                          .inputs = {"x"},
                          .attributes = {{"alpha", 1.0}},
                          .expression = "x * sigmoid(alpha * x)"};

}  // namespace

int main() {
  const dyn::Operators operators{running_sum, swish};

  dyn::Builder b("demo", operators);
  const dyn::Dim n = b.dim("N", 1, 4096);
  const dyn::Value x = b.input("x", dyn::DType::f32, {n, 3});
  const dyn::Value w = b.weight("w", dyn::Tensor::from<float>({1, 0, 0, 1, 1, 1}, {3, 2}));
  const dyn::Value hidden = b.op("demo::swish", {matmul(x, w) + 1}, {{"alpha", 0}});
  b.output("y", b.op("demo::running_sum", {relu(hidden)}, {{"decay", 0.5}}, "sums"));
  const dyn::Graph built = b.load();
  std::printf("%s\n", b.to_text().c_str());

  // The same model as text, and the same operators.
  const std::string weights = b.weights();
  dyn::Options options;
  options.operators = operators;
  const dyn::Graph read =
      dyn::Graph::from_memory(b.to_text(), {{"weights.safetensors", weights}}, options);

  for (const std::int64_t rows : {1, 2}) {
    dyn::Tensor input(dyn::DType::f32, {rows, 3});
    std::ranges::fill(input.mutable_data<float>(), 1.0F);
    const dyn::Outputs outputs = built.run({{"x", input}}), same = read.run({{"x", input}});
    const std::span<const float> y = outputs["y"].data<float>();
    // (2 + 1) * sigmoid(0), and that again with half of what came before.
    if (y[0] != 1.5F || y[1] != 2.25F || !std::ranges::equal(y, same["y"].data<float>())) return 1;
    std::printf("%g %g\n", y[0], y[1]);
  }
}
