#include "src/cli/input/inputs.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <type_traits>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "src/runtime/run/call_ports.hpp"

namespace dyn::cli {
namespace {

// Integer inputs that index nothing have values below this.
constexpr std::int64_t plain_integer_extent = 10;

std::optional<graph::Dim> gathered_extent(const graph::Module& module, const graph::Node& node) {
  const graph::TensorType& data = module.value(node.inputs[0]).type;
  const std::optional<int> axis =
      graph::normalize_axis(graph::attr_integer(node, "axis"), data.rank());
  if (!axis) return std::nullopt;
  return data.dims[static_cast<std::size_t>(*axis)];
}

bool passes_values_on(const graph::Node& node) {
  return node.op->op_class == graph::OpClass::View || node.op->id == graph::OpId::Cast;
}

bool is_mask(const std::string& name) { return name.find("mask") != std::string::npos; }

std::uint64_t seed_of(std::uint64_t seed, const std::string& name) {
  std::seed_seq sequence(name.begin(), name.end());
  std::uint32_t words[2];
  sequence.generate(words, words + 2);
  return seed ^ (std::uint64_t{words[0]} << 32 | words[1]);
}

template <class T, class Distribution>
void fill(Tensor& tensor, Distribution distribution, std::mt19937_64& generator) {
  for (T& element : tensor.mutable_data<T>()) element = static_cast<T>(distribution(generator));
}

/// f16 and bf16.
void fill_halves(Tensor& tensor, auto&& next) {
  auto* bits = static_cast<std::uint16_t*>(tensor.raw());
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    bits[i] = graph::code_of_float(tensor.dtype(), next());
}

void fill_randomly(Tensor& tensor, std::int64_t extent, std::mt19937_64& generator) {
  const std::uniform_int_distribution<std::int64_t> index(0, std::max<std::int64_t>(extent, 1) - 1);
  const bool is_filled = graph::with_element_type(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      fill<T>(tensor, std::normal_distribution<T>(), generator);
    else if constexpr (std::is_same_v<T, bool>)
      fill<T>(tensor, std::uniform_int_distribution<int>(0, 1), generator);
    else
      fill<T>(tensor, index, generator);
  });
  if (!is_filled)
    fill_halves(tensor, [&] { return std::normal_distribution<double>()(generator); });
}

void fill_ones(Tensor& tensor) {
  std::mt19937_64 unused;
  const bool is_filled = graph::with_element_type(tensor.dtype(), [&](auto zero) {
    fill<decltype(zero)>(tensor, [](auto&) { return 1; }, unused);
  });
  if (!is_filled) fill_halves(tensor, [] { return 1.0; });
}

/// NumPy has no such dtypes: its bytes are taken as codes.
Tensor as_codes(const Tensor& tensor, DType dtype) {
  const bool are_bytes = tensor.dtype() == DType::u8 || tensor.dtype() == DType::i8;
  if (!is_code(dtype) || !are_bytes) return tensor;
  Tensor codes(dtype, tensor.shape());
  std::memcpy(codes.raw(), tensor.raw(), tensor.bytes());
  return codes;
}

void check_fits(const std::string& name, const Tensor& tensor, DType dtype, const Shape& shape) {
  if (tensor.dtype() == dtype && tensor.shape() == shape) return;
  throw Error(ErrorKind::user,
              fmt::format("--load-inputs: input {} is {}{} here, but the file has {}{}", name,
                          name_of(dtype), to_string(shape), name_of(tensor.dtype()),
                          to_string(tensor.shape())));
}

}  // namespace

LoadedInputs load_inputs(std::span<const std::string> entries) {
  LoadedInputs loaded;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(ErrorKind::user, fmt::format("--load-inputs {}: expected NAME=FILE.npy", entry));
    }
    const std::string name = entry.substr(0, equals);
    if (loaded.tensors.contains(name) || loaded.texts.contains(name)) {
      throw Error(ErrorKind::user,
                  fmt::format("--load-inputs {}: input {} is given twice", entry, name));
    }
    std::variant<Tensor, TextArray> data = read_any_npy(entry.substr(equals + 1));
    if (auto* texts = std::get_if<TextArray>(&data))
      loaded.texts.emplace(name, std::move(*texts));
    else
      loaded.tensors.emplace(name, std::get<Tensor>(std::move(data)));
  }
  return loaded;
}

std::map<std::string, Tensor> as_declared(const LoadedInputs& loaded, const runtime::Model& model,
                                          TextCoder& texts) {
  std::map<std::string, Tensor> declared = loaded.tensors;
  for (const auto& [name, array] : loaded.texts) {
    try {
      declared.emplace(name, texts.encode(name, array.texts, array.shape));
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("--load-inputs: the file for {} holds texts, but {}",
                                            name, error.message()));
    }
  }
  for (const PortInfo& input : model.inputs()) {
    if (const auto given = declared.find(input.name); given != declared.end())
      given->second = runtime::as_declared(given->second, input);
  }
  return declared;
}

std::optional<graph::Dim> index_extent(const graph::Module& module, graph::ValueId input) {
  // Nodes are in topological order, so one pass follows the values through views and casts.
  std::set<graph::ValueId> carriers{input};
  std::optional<graph::Dim> extent;
  for (const graph::Node& node : module.nodes) {
    if (node.op->id == graph::OpId::Gather && carriers.contains(node.inputs[1])) {
      const std::optional<graph::Dim> here = gathered_extent(module, node);
      if (here) extent = extent ? min(*extent, *here) : *here;
    } else if (passes_values_on(node) && carriers.contains(node.inputs[0])) {
      carriers.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  return extent;
}

void fill_state(Tensor& state, const std::string& name, std::uint64_t seed) {
  std::mt19937_64 generator(seed_of(seed, name));
  fill_randomly(state, plain_integer_extent, generator);
}

std::vector<Tensor> make_inputs(const runtime::Model& model, std::span<const std::int64_t> symbols,
                                const std::map<std::string, Tensor>& given, std::uint64_t seed) {
  const graph::Module& module = model.module();
  const runtime::NamedShapes shapes = model.input_shapes(symbols);
  std::set<std::string> unused;
  for (const auto& [name, tensor] : given) unused.insert(name);
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto& [name, shape] = shapes[i];
    if (const auto found = given.find(name); found != given.end()) {
      Tensor tensor = as_codes(found->second, model.inputs()[i].dtype);
      check_fits(name, tensor, model.inputs()[i].dtype, shape);
      tensors.push_back(std::move(tensor));
      unused.erase(name);
      continue;
    }
    Tensor tensor(model.inputs()[i].dtype, shape);
    const PortInfo& port = model.inputs()[i];
    if (is_mask(name) && port.texts == nullptr) {
      fill_ones(tensor);
    } else if (port.texts != nullptr) {
      std::mt19937_64 generator(seed_of(seed, name));
      fill_randomly(tensor, static_cast<std::int64_t>(port.texts->size()), generator);
    } else {
      const std::optional<graph::Dim> extent = index_extent(module, module.inputs[i]);
      std::mt19937_64 generator(seed_of(seed, name));
      fill_randomly(tensor, extent ? graph::evaluate(*extent, symbols) : plain_integer_extent,
                    generator);
    }
    tensors.push_back(std::move(tensor));
  }
  if (!unused.empty())
    throw Error(ErrorKind::user,
                fmt::format("--load-inputs: the model has no input \"{}\"", *unused.begin()));
  return tensors;
}

}  // namespace dyn::cli
