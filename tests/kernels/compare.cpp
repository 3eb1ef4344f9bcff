#include "tests/kernels/compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/text/text.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dyn::testing {
namespace {

/// A caller's memory for one output, with a known pattern on both sides.
class GuardedOutput {
 public:
  GuardedOutput(DType dtype, const Shape& shape)
      : bytes_(static_cast<std::size_t>(element_count(shape)) * size_of(dtype)),
        memory_(std::max<std::size_t>(8, size_of(dtype)) + bytes_ + 2 * guard_bytes, pattern) {
    tensor_ = Tensor::view(dtype, static_cast<void*>(memory_.data() + start()), shape);
  }

  const Tensor& tensor() const { return tensor_; }

  bool intact() const {
    const auto is_pattern = [](unsigned char byte) { return byte == pattern; };
    const auto begin = memory_.begin(), first = begin + static_cast<std::ptrdiff_t>(start());
    return std::all_of(begin, first, is_pattern) &&
           std::all_of(first + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), is_pattern);
  }

 private:
  static constexpr std::size_t guard_bytes = 256;
  static constexpr unsigned char pattern = 0xA5;
  // The allocator aligns to 16; 8 more breaks every larger alignment.
  static std::size_t start() { return guard_bytes + 8; }

  std::size_t bytes_;
  std::vector<unsigned char> memory_;
  Tensor tensor_;
};

std::vector<std::vector<std::int64_t>> dims_of(const std::vector<Tensor>& inputs) {
  std::vector<std::vector<std::int64_t>> dims;
  for (const auto& input : inputs) dims.push_back(input.shape());
  return dims;
}

reference::Array weight_of(const graph::Module& module, graph::ValueId id) {
  const auto& value = module.value(id);
  if (value.weight.kind != graph::WeightSource::Kind::Splat) {
    throw Error(ErrorKind::unsupported, "these tests know splat weights only");
  }
  std::vector<std::int64_t> dims;
  for (const auto dim : value.type.dims) dims.push_back(dim.constant().value());
  auto array = reference::make_array(value.type.dtype, dims);
  std::fill(array.floats.begin(), array.floats.end(), static_cast<float>(value.weight.splat));
  std::fill(array.integers.begin(), array.integers.end(),
            static_cast<std::int64_t>(value.weight.splat));
  return array;
}

/// The largest magnitude, of those that are finite; 0 where there is none.
double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values)
    result = std::isfinite(value) ? std::max(result, std::fabs(value)) : result;
  return result;
}

double largest(const std::vector<reference::Array>& arrays) {
  double result = 0;
  for (const auto& array : arrays) result = std::max(result, largest(array.floats));
  return result;
}

/// The scale of each element of an output; `others` are those of others_of.
std::vector<double> scales_of(Tolerance::Scale scale, const std::vector<double>& expected,
                              const std::vector<reference::Array>& others, std::size_t output) {
  using Scale = Tolerance::Scale;
  switch (scale) {
    case Scale::Unit: return std::vector<double>(expected.size(), 1);
    case Scale::Largest: return std::vector<double>(expected.size(), largest(expected));
    case Scale::Values:
      return std::vector<double>(expected.size(),
                                 std::max(largest(expected), largest(others) / 32));
    default: break;
  }
  std::vector<double> scales = scale == Scale::Absolute ? others[output].floats : expected;
  for (auto& value : scales) value = std::isfinite(value) ? std::fabs(value) : 0;
  return scales;
}

std::vector<Tensor> magnitudes_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> magnitudes;
  for (const auto& input : inputs) {
    auto array = reference::from_tensor(input);
    for (auto& value : array.floats) value = std::fabs(value);
    magnitudes.push_back(reference::to_tensor(array));
  }
  return magnitudes;
}

}  // namespace

void for_each_isa(int rounds, const std::function<void(const codegen::Isa& isa)>& body) {
  for (int round = 0; round < rounds; ++round) {
    for (const codegen::Isa& isa : codegen::all_isas()) {
      if (!codegen::cpu_has(isa)) continue;
      CAPTURE(isa.name);
      body(isa);
    }
  }
}

Options test_options(const std::string& isa) {
  static const TemporaryFolder cache;
  Options options;
  options.threads = 2;
  options.isa = isa;
  options.cache_dir = cache.string();
  return options;
}

Options on_reference(Options options) {
  options.device = "reference";
  options.isa.clear();
  options.deterministic = false;
  return options;
}

Subject::Subject(const std::string& text, const Options& options)
    : text_(text), module_(graph::parse(text)), graph_(Graph::from_text(text, options)) {}

std::vector<Tensor> make_inputs(const graph::Module& module, const Sizes& sizes,
                                const std::vector<Fill>& fills, Random& random) {
  std::vector<std::int64_t> symbols(static_cast<std::size_t>(module.dims->symbol_count()), 0);
  for (const auto& [name, size] : sizes) {
    const auto dim = module.dims->find_symbol(name);
    if (dim && dim->symbol()) symbols[static_cast<std::size_t>(*dim->symbol())] = size;
  }
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < module.inputs.size(); ++i) {
    const auto& type = module.value(module.inputs[i]).type;
    Shape shape;
    for (const auto dim : type.dims) shape.push_back(graph::evaluate(dim, symbols));
    Tensor tensor(type.dtype, shape);
    fill(tensor, i < fills.size() ? fills[i] : normal_fill, random);
    inputs.push_back(tensor);
  }
  return inputs;
}

std::vector<std::int64_t> Subject::symbols_of(const std::vector<Tensor>& inputs) const {
  return reference::bind_symbols(module_, dims_of(inputs));
}

std::vector<reference::Array> Subject::expect(const graph::Module& module,
                                              const std::vector<Tensor>& inputs) const {
  std::vector<reference::Array> arrays;
  for (const auto& input : inputs) arrays.push_back(reference::from_tensor(input));
  const auto weight = [&](graph::ValueId id) { return weight_of(module, id); };
  return reference::run(module, symbols_of(inputs), arrays, weight, reference::Precision::f64);
}

std::vector<reference::Array> Subject::others_of(Tolerance::Scale scale,
                                                 const std::vector<Tensor>& inputs) const {
  if (scale == Tolerance::Scale::Absolute) return expect(magnitudes_of(inputs));
  if (scale != Tolerance::Scale::Values) return {};
  auto whole = graph::parse(text_);
  whole.outputs = whole.inputs;
  for (const auto& node : whole.nodes)
    whole.outputs.insert(whole.outputs.end(), node.outputs.begin(), node.outputs.end());
  return expect(whole, inputs);
}

std::string Subject::check(const std::vector<Tensor>& inputs, const Tolerance& tolerance,
                           const Sizes& sizes) const {
  const auto expected = expect(inputs);
  const auto others = others_of(tolerance.scale, inputs);

  Call call(graph_);
  for (std::size_t i = 0; i < inputs.size(); ++i) call.set_input(i, inputs[i]);
  std::vector<GuardedOutput> outputs;
  outputs.reserve(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    outputs.emplace_back(expected[i].dtype, expected[i].dims);
    call.set_output(i, outputs.back().tensor());
  }
  call.run();

  const auto times =
      *tolerance.times == 0 ? 1 : std::max<std::int64_t>(1, sizes.at(tolerance.times));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!outputs[i].intact()) return fmt::format("output {}: bytes around it were written", i);
    const auto wrong =
        difference(outputs[i].tensor(), expected[i], tolerance.factor * static_cast<double>(times),
                   scales_of(tolerance.scale, expected[i].floats, others, i));
    if (!wrong.empty()) return fmt::format("output {}: {}\n{}", i, wrong, text_);
  }
  return {};
}

}  // namespace dyn::testing
