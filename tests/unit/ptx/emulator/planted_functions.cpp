// Kernels over whole tensors to plant bugs in: rows of a topk, and the steps of a recurrent layer.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "targets/ptx/function/kernel.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "tests/unit/ptx/emulator/planted_bugs_kernels.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

namespace dyn::test {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Sizes = std::vector<std::pair<std::string, std::int64_t>>;

template <class T>
Bytes to_bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// The class that the only statement's own plan chooses, by at most two blocks; the buffers are
/// those of its operands.
PlantedKernel function(const std::string& name, const std::string& text, const Sizes& sizes,
                       const std::vector<Bytes>& operands) {
  const auto graph =
      std::make_shared<const ptx::testing::LoweredGraph>(ptx::testing::lowered(text));
  const rkernel::Problem& problem = graph->problems.front();
  auto draft = ptx::FunctionKernel::draft(problem, ptx::described_gpu("a100"), "ptx/test").value();
  const auto sources = std::make_shared<std::vector<codegen::KernelSource>>(draft.sources());
  std::vector<const void*> handles;
  for (const codegen::KernelSource& source : *sources) handles.push_back(&source);
  const std::shared_ptr<ptx::FunctionKernel> made = std::move(draft).with_code(handles);
  const auto symbols = graph->symbols(sizes);
  const rkernel::Launch launch = made->plan({symbols, 1});
  PlantedKernel kernel;
  kernel.name = name;
  kernel.blocks = std::min<std::int64_t>(launch.grid.blocks, 2);
  kernel.ints = launch.ints;
  for (std::size_t i = 0; i < operands.size(); ++i)
    kernel.buffers.push_back({operands[i], problem.operands[i].written});
  if (launch.shared_bytes > 0) kernel.buffers.push_back({Bytes(launch.shared_bytes), true});
  const auto* chosen = static_cast<const codegen::KernelSource*>(launch.grid.function);
  kernel.emit = [graph, made, sources, chosen](llvm::LLVMContext& context) {
    return ptx::emit_device_module(context, *chosen, "function");
  };
  return kernel;
}

/// Few different numbers: most have equals.
PlantedKernel topk(const std::string& name, std::int64_t rows, std::int64_t extent,
                   std::int64_t count, std::mt19937_64& random) {
  std::vector<std::int32_t> x(static_cast<std::size_t>(rows * extent));
  for (std::int32_t& value : x) value = static_cast<std::int32_t>(random() % 19) - 9;
  const auto results = static_cast<std::size_t>(rows * count);
  PlantedKernel kernel = function(
      name,
      "dim A\ndim N\ndim K\ngraph g(x: i32[A, N], t: u8[K]) -> (v: i32[A, K], i: i64[A, K]) {\n"
      "  v, i = topk(x) k=K\n  return v, i\n}\n",
      {{"A", rows}, {"N", extent}, {"K", count}},
      {to_bytes_of(x), Bytes(results * sizeof(std::int32_t)),
       Bytes(results * sizeof(std::int64_t))});
  kernel.is_right = [=](const std::vector<PlantedBuffer>& after) {
    const auto values = values_of<std::int32_t>(after[1].bytes);
    const auto places = values_of<std::int64_t>(after[2].bytes);
    std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(row * extent + i)]; };
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](auto a, auto b) { return at(a) > at(b); });
      for (std::int64_t k = 0; k < count; ++k) {
        const auto result = static_cast<std::size_t>(row * count + k);
        const std::int64_t wanted = order[static_cast<std::size_t>(k)];
        if (places[result] != wanted || values[result] != at(wanted)) return false;
      }
    }
    return true;
  };
  return kernel;
}

/// A layer of tanh(x + h r + b), backwards, of rows with lengths of their own.
struct PlainLayer {
  std::size_t steps, batch, hidden;
  std::vector<float> x, r, bias, h;
  std::vector<std::int32_t> lengths;

  /// The states after each step, and the last ones.
  std::pair<std::vector<double>, std::vector<double>> run() const {
    std::vector<double> all(x.size()), last(h.begin(), h.end());
    for (std::size_t b = 0; b < batch; ++b) {
      for (auto t = static_cast<std::size_t>(lengths[b]); t-- > 0;) {
        std::vector<double> next(hidden);
        for (std::size_t n = 0; n < hidden; ++n) {
          const std::size_t place = (t * batch + b) * hidden + n;
          double sum = static_cast<double>(x[place]) + static_cast<double>(bias[n]);
          for (std::size_t k = 0; k < hidden; ++k)
            sum += last[b * hidden + k] * static_cast<double>(r[k * hidden + n]);
          next[n] = all[place] = std::tanh(sum);
        }
        std::ranges::copy(next, last.begin() + static_cast<std::ptrdiff_t>(b * hidden));
      }
    }
    return {all, last};
  }
};

bool are_close(const Bytes& bytes, const std::vector<double>& wanted) {
  const auto got = values_of<float>(bytes);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!(std::fabs(static_cast<double>(got[i]) - wanted[i]) <= 1e-5)) return false;
  return true;
}

PlantedKernel layer(const std::string& name, std::mt19937_64& random) {
  // Rows of one block end in different steps.
  PlainLayer plain{5, 11, 45, {}, {}, {}, {}, {5, 0, 2, 4, 1, 5, 3, 3, 2, 5, 0}};
  const auto fill = [&](std::vector<float>& values, std::size_t count, double scale) {
    std::uniform_real_distribution<double> distribution(-0.7 * scale, scale);
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(distribution(random)));
  };
  const std::size_t states = plain.batch * plain.hidden;
  fill(plain.x, plain.steps * states, 1);
  fill(plain.r, plain.hidden * plain.hidden, 0.1);
  fill(plain.bias, plain.hidden, 1);
  fill(plain.h, states, 1);
  PlantedKernel kernel = function(
      name,
      "dim T\ndim B\ndim H\ngraph g(x: f32[T, B, H], r: f32[1, H, H], b: f32[1, H], l: i32[B], h: "
      "f32[1, B, H]) -> (y: f32[T, 1, B, H], e: f32[1, B, H]) {\n"
      "  y, e = rnn(x, r, b, l, h) direction=reverse f=tanh\n  return y, e\n}\n",
      {{"T", 5}, {"B", 11}, {"H", 45}},
      {to_bytes_of(plain.x), to_bytes_of(plain.r), to_bytes_of(plain.bias),
       to_bytes_of(plain.lengths), to_bytes_of(plain.h), Bytes(plain.x.size() * sizeof(float)),
       Bytes(states * sizeof(float))});
  kernel.is_right = [wanted = plain.run()](const std::vector<PlantedBuffer>& after) {
    return are_close(after[5].bytes, wanted.first) && are_close(after[6].bytes, wanted.second);
  };
  return kernel;
}

}  // namespace

std::vector<PlantedKernel> planted_functions(std::mt19937_64& random) {
  return {topk("topk by warps", 19, 101, 3, random), topk("topk by blocks", 3, 2900, 600, random),
          layer("recurrent layer", random)};
}

}  // namespace dyn::test
