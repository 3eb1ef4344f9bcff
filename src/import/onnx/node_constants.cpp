// Inputs of a node that are known when a model is imported: elements, and sizes.

#include <utility>

#include <fmt/format.h>

#include "src/import/onnx/node_context.hpp"
#include "src/import/onnx/sizes/known_ints.hpp"

namespace dyn::onnx {
namespace {

/// True for the dtypes of shape arithmetic: sizes, and conditions that choose among them.
bool counts(DType dtype) {
  return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::boolean;
}

std::optional<KnownInts> ints_of_tensor(const Tensor& tensor, graph::DimTable& dims) {
  if (!counts(tensor.dtype) || static_cast<std::uint64_t>(tensor.elements()) > most_known_ints)
    return std::nullopt;
  KnownInts ints{tensor.dtype, false, {}};
  for (const std::int64_t element : integers_of(tensor))
    ints.elements.push_back(dims.constant(element));
  return with_dims(std::move(ints), tensor.dims);
}

/// Nothing where one of them depends on sizes.
std::optional<Tensor> tensor_of(const KnownInts& ints) {
  Tensor tensor{ints.dtype, dims_of(ints), {}};
  const std::size_t bytes = size_of(ints.dtype);
  for (const Dim element : ints.elements) {
    const std::optional<std::int64_t> value = element.constant();
    if (!value) return std::nullopt;
    tensor.bytes.append(reinterpret_cast<const char*>(&*value), bytes);
  }
  return tensor;
}

}  // namespace

const Tensor* constant_of(Operand& operand) {
  if (!operand.constant && operand.ints) {
    if (std::optional<Tensor> tensor = tensor_of(*operand.ints))
      operand.constant = std::make_shared<const Tensor>(*std::move(tensor));
  }
  return operand.constant.get();
}

const Tensor* NodeContext::constant(std::size_t input) {
  Operand& operand = find(input);
  const Tensor* tensor = constant_of(operand);
  if (tensor == nullptr) lacked_.push_back(operand.id);
  return tensor;
}

const Tensor& NodeContext::need_constant(std::size_t input, std::string_view what) {
  const Tensor* tensor = constant(input);
  if (tensor == nullptr)
    fail_unsupported(fmt::format("{} must be constant, and \"{}\" depends on data", what,
                                 node_.input(static_cast<int>(input))));
  return *tensor;
}

std::optional<KnownInts> NodeContext::ints(std::size_t input) {
  std::optional<KnownInts> any = ints_of_any_rank(input);
  return any && any->dims.empty() ? any : std::nullopt;
}

std::optional<KnownInts> NodeContext::ints_of_any_rank(std::size_t input) {
  Operand& operand = find(input);
  std::optional<KnownInts> known = ints_of(operand);
  if (!known) lacked_.push_back(operand.id);
  return known;
}

std::optional<KnownInts> NodeContext::ints_of(Operand& operand) {
  // Floats are no sizes, and their elements may not be made yet.
  if (!operand.ints && operand.constant && !is_float(operand.constant.dtype()))
    operand.ints = ints_of_tensor(*operand.constant, dims());
  if (!operand.ints) return std::nullopt;
  for (Dim& element : operand.ints->elements) element = state_.builder.resolve(element);
  return operand.ints;
}

/// The elements that are known, and for each of the others a dim whose value a run gives.
std::vector<Dim> NodeContext::defined_sizes(Operand& operand) {
  if (const std::optional<KnownInts> known = ints_of(operand)) return known->elements;
  std::vector<Dim> sizes;
  for (const auto& part : operand.parts) {
    const std::vector<Dim> of_part = defined_sizes(*part);
    sizes.insert(sizes.end(), of_part.begin(), of_part.end());
  }
  if (!operand.parts.empty()) return sizes;
  const ValueId list = value_of(operand);
  for (std::int64_t i = 0; i < *state_.builder.type(list).dims[0].constant(); ++i)
    sizes.push_back(defined_dim("size"));
  add("sizes", {list}, {{"dims", sizes}});
  return sizes;
}

std::vector<Dim> NodeContext::need_dims(std::size_t input, std::string_view what) {
  const std::optional<KnownInts> known = ints(input);
  const graph::TensorType type = type_of(input);
  constexpr std::int64_t most_sizes = 2 * graph::max_rank;  // pads have two for each axis
  if (!known && type.rank() == 1 &&
      type.dims[0].constant().value_or(most_sizes + 1) <= most_sizes &&
      (type.dtype == DType::i64 || type.dtype == DType::i32) && asked_for().empty())
    return defined_sizes(find(input));
  if (!known)
    fail_unsupported(fmt::format("{} must depend on nothing but sizes, and \"{}\" depends on data",
                                 what, node_.input(static_cast<int>(input))));
  return known->elements;
}

std::vector<std::int64_t> NodeContext::need_integers(std::size_t input, std::string_view what) {
  const Tensor& tensor = need_constant(input, what);
  if (!counts(tensor.dtype)) fail(fmt::format("{} must be integers", what));
  return integers_of(tensor);
}

Dim NodeContext::need_dim(std::size_t input, std::string_view what) {
  const std::vector<Dim> dims = need_dims(input, what);
  if (dims.size() != 1) fail(fmt::format("{} must be one integer, not {}", what, dims.size()));
  return dims[0];
}

std::int64_t NodeContext::need_integer(std::size_t input, std::string_view what) {
  const std::vector<std::int64_t> integers = need_integers(input, what);
  if (integers.size() != 1)
    fail(fmt::format("{} must be one integer, not {}", what, integers.size()));
  return integers[0];
}

double NodeContext::need_number(std::size_t input, std::string_view what) {
  const Tensor& tensor = need_constant(input, what);
  if (tensor.elements() != 1)
    fail(fmt::format("{} must be one number, not {}", what, tensor.elements()));
  return numbers_of(tensor).front();
}

}  // namespace dyn::onnx
