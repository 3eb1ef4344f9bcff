#include "tests/kernels/encoder.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "graph/text/text.hpp"
#include "tests/kernels/compare.hpp"

namespace dyn::testing {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file, path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Matrices keep the magnitude of what they multiply; the factors of norms lie around 1.
float weight_value(const graph::Value& weight, std::int64_t fan_in, Random& random) {
  if (weight.type.rank() == 2)
    return static_cast<float>(random.normal() / std::sqrt(static_cast<double>(fan_in)) * 1.5);
  const bool is_factor = weight.name.ends_with("LayerNorm.weight");
  return static_cast<float>((is_factor ? 1.0 : 0.1) + 0.2 * random.normal());
}

}  // namespace

RandomWeights::RandomWeights(const graph::Module& module, Random& random) {
  nlohmann::ordered_json header;
  std::string data;
  for (std::size_t i = 0; i < module.values.size(); ++i) {
    const auto& value = module.values[i];
    if (value.kind != graph::ValueKind::Weight) continue;
    Shape shape;
    for (const auto dim : value.type.dims) shape.push_back(dim.constant().value());
    Tensor tensor(DType::f32, shape);
    for (auto& element : tensor.mutable_data<float>())
      element = weight_value(value, shape[0], random);
    arrays_[static_cast<graph::ValueId>(i)] = reference::from_tensor(tensor);
    header[value.name] = {{"dtype", "F32"},
                          {"shape", shape},
                          {"data_offsets", {data.size(), data.size() + tensor.bytes()}}};
    data.append(static_cast<const char*>(tensor.raw()), tensor.bytes());
  }
  std::string text = header.dump();
  while (text.size() % 8 != 1) text += ' ';
  const std::uint64_t length = text.size();
  file_.assign(reinterpret_cast<const char*>(&length), sizeof length);
  file_ += text + data;
}

Encoder::Encoder(const char* test)
    : text_(read_file(DYN_SOURCE_DIR "/tests/models/encoder_small.dyn")),
      random_(test),
      module_(graph::parse(text_)),
      weights_(module_, random_),
      graph_(Graph::from_memory(text_, {{"encoder_small.safetensors", weights_.file()}},
                                test_options())) {}

std::vector<Tensor> Encoder::make_inputs(std::int64_t batch, std::int64_t length) {
  Tensor ids(DType::i64, {batch, length}), mask(DType::f32, {batch, length});
  fill(ids, uniform(0, 99), random_);
  auto keep = mask.mutable_data<float>();
  for (std::int64_t row = 0; row < batch; ++row) {
    const auto kept = random_.integer(0, length);
    for (std::int64_t i = 0; i < length; ++i)
      keep[static_cast<std::size_t>(row * length + i)] = i < kept;
  }
  return {ids, mask};
}

std::vector<reference::Array> Encoder::expect(const std::vector<Tensor>& inputs) const {
  std::vector<reference::Array> arrays;
  std::vector<std::vector<std::int64_t>> dims;
  for (const auto& input : inputs) {
    arrays.push_back(reference::from_tensor(input));
    dims.push_back(input.shape());
  }
  return reference::run(
      module_, reference::bind_symbols(module_, dims), arrays,
      [&](graph::ValueId id) { return weights_(id); }, reference::Precision::f64);
}

std::vector<Tensor> row_of(const std::vector<Tensor>& inputs, std::int64_t row) {
  std::vector<Tensor> rows;
  for (const auto& input : inputs) {
    Shape shape = input.shape();
    const auto bytes = input.bytes() / static_cast<std::size_t>(shape[0]);
    shape[0] = 1;
    Tensor tensor(input.dtype(), shape);
    std::memcpy(tensor.raw(),
                static_cast<const char*>(input.raw()) + static_cast<std::size_t>(row) * bytes,
                bytes);
    rows.push_back(tensor);
  }
  return rows;
}

}  // namespace dyn::testing
