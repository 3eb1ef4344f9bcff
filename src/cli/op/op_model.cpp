#include "src/cli/op/op_model.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "dyn/graph.hpp"
#include "graph/ir/op.hpp"
#include "graph/text/text.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/rkernel/problem/factors.hpp"
#include "src/runtime/weights/random_weights.hpp"

namespace dyn::cli {
namespace {

// Random elements are made once for this many and repeated: a prime, so that rows of usual lengths
// differ.
constexpr std::int64_t random_period = 1'000'003;
constexpr std::size_t alignment = 4096;

std::string type_text(const OpOperand& operand) {
  return fmt::format("{}[{}]", name_of(operand.dtype), fmt::join(operand.dims, ", "));
}

struct Text {
  std::string header, inputs, outputs, body, results;
};

/// The call of one copy; its weights and inputs are declared in passing.
std::string call_text(const OpProblem& problem, int copy, Text& text) {
  std::string arguments;
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const OpOperand& operand = problem.operands[i];
    const std::string name = fmt::format("{}{}_{}", operand.constant ? "w" : "x", i, copy);
    if (operand.constant)
      text.header += fmt::format("weight {}: {} = random 0\n", name, type_text(operand));
    else
      text.inputs +=
          fmt::format("{}{}: {}", text.inputs.empty() ? "" : ", ", name, type_text(operand));
    arguments += (arguments.empty() ? "" : ", ") + name;
  }
  std::string call = fmt::format("{}({})", problem.op, arguments);
  for (const auto& [name, value] : problem.attributes) call += fmt::format(" {}={}", name, value);
  return call;
}

std::string whole_text(const Text& text, const OpProblem& problem) {
  std::string dims;
  for (const std::string& name : dim_names(problem.operands)) dims += fmt::format("dim {}\n", name);
  return fmt::format("dyn 1\n{}{}\ngraph op({}) -> ({}) {{\n{}  return {}\n}}\n", dims, text.header,
                     text.inputs, text.outputs, text.body, text.results);
}

const graph::OpDef& op_of(const OpProblem& problem) {
  const graph::OpDef* op = graph::find_op(problem.op);
  if (op == nullptr) {
    throw Error(ErrorKind::user,
                fmt::format("there is no operator \"{}\"; docs/ir.md lists them all", problem.op));
  }
  if (op->outputs != 1)
    throw Error(ErrorKind::unsupported,
                fmt::format("{} has several results; dynrun op takes operators of one", op->name));
  return *op;
}

/// The type that shape inference gives the result. A cast to f32 of all elements in a row can be
/// declared without knowing it.
template <class Use>
auto with_inferred_result(const OpProblem& problem, Use&& use) {
  const graph::OpDef& op = op_of(problem);
  Text text;
  text.body = "  y = " + call_text(problem, 0, text) +
              "\n  z = reshape(y) shape=[-1]\n  flat = cast(z) dtype=f32\n";
  text.outputs = "flat: f32[_]";
  text.results = "flat";
  const graph::Module module = graph::parse(whole_text(text, problem), problem.op);
  const auto made_here = [&](const graph::Node& node) { return node.op == &op; };
  const auto node = std::find_if(module.nodes.begin(), module.nodes.end(), made_here);
  return use(module.value(node->outputs[0]).type);
}

std::string claim_text(const graph::TensorType& type) {
  std::string text = fmt::format("{}[", name_of(type.dtype));
  for (int axis = 0; axis < type.rank(); ++axis) text += axis == 0 ? "_" : ", _";
  return text + "]";
}

std::size_t padded(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::size_t bytes_of(DType dtype, const Shape& shape) {
  return static_cast<std::size_t>(element_count(shape)) * size_of(dtype);
}

void fill_periodically(std::byte* data, std::int64_t count, std::uint64_t seed) {
  const std::int64_t first = std::min(count, random_period);
  runtime::fill_random(DType::f32, seed, {}, 0, first, data);
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(float));
  for (std::int64_t done = first; done < count; done += random_period) {
    std::memcpy(data + done * bytes, data,
                static_cast<std::size_t>(std::min(count - done, random_period) * bytes));
  }
}

/// Integers may be indices, which the general maker of inputs knows how to bound.
bool needs_general_inputs(const runtime::Model& model) {
  return std::any_of(model.inputs().begin(), model.inputs().end(),
                     [](const PortInfo& port) { return port.dtype != DType::f32; });
}

std::size_t port_bytes(const std::vector<PortInfo>& ports, const runtime::NamedShapes& shapes) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < ports.size(); ++i)
    bytes += padded(bytes_of(ports[i].dtype, shapes[i].second));
  return bytes;
}

}  // namespace

OpResult result_of(const OpProblem& problem, const DimMap& values) {
  OpProblem fixed = problem;
  for (OpOperand& operand : fixed.operands) {
    const Shape shape = shape_of(operand, values);
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      operand.dims[axis] = fmt::format("{}", shape[axis]);
  }
  return with_inferred_result(fixed, [&](const graph::TensorType& type) {
    OpResult result{type.dtype, {}};
    for (const graph::Dim& dim : type.dims) result.shape.push_back(graph::evaluate(dim, {}));
    return result;
  });
}

std::string model_text(const OpProblem& problem, int copies) {
  const std::string claim = with_inferred_result(problem, claim_text);
  Text text;
  for (int copy = 0; copy < copies; ++copy) {
    text.body += fmt::format("  y_{} = {}\n", copy, call_text(problem, copy, text));
    text.outputs += fmt::format("{}y_{}: {}", copy == 0 ? "" : ", ", copy, claim);
    text.results += fmt::format("{}y_{}", copy == 0 ? "" : ", ", copy);
  }
  return whole_text(text, problem);
}

std::shared_ptr<const runtime::Model> OpModels::get(const OpProblem& problem, int copies,
                                                    int threads) {
  const std::string text = model_text(problem, copies), key = fmt::format("{}{}", threads, text);
  if (model_ == nullptr || key_ != key) {
    Options options = options_;
    options.threads = threads;
    model_ = nullptr;
    model_ = Graph::from_text(text, options).model();
    key_ = key;
  }
  return model_;
}

OpRun::OpRun(std::shared_ptr<const runtime::Model> model, const DimMap& values, std::uint64_t seed)
    : call_(model) {
  const std::vector<std::int64_t> symbols = model->bind_dims(values);
  const runtime::NamedShapes inputs = model->input_shapes(symbols),
                             outputs = model->output_shapes(symbols);
  memory_ = runtime::MemoryBlock(
      port_bytes(model->inputs(), inputs) + port_bytes(model->outputs(), outputs) + alignment,
      "operands");
  std::byte* place = memory_.data();
  const auto next = [&](DType dtype, const Shape& shape) {
    void* data = place;
    place += padded(bytes_of(dtype, shape));
    return Tensor::view(dtype, data, shape);
  };
  std::vector<Tensor> general;
  if (needs_general_inputs(*model)) general = make_inputs(*model, symbols, {}, seed);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor tensor = next(model->inputs()[i].dtype, inputs[i].second);
    auto* data = static_cast<std::byte*>(tensor.raw());
    // Bytes are numbers here, and no index: any will do.
    if (tensor.dtype() == DType::u8)
      runtime::fill_random(DType::i8, seed + i, {}, 0, tensor.size(), data);
    else if (general.empty())
      fill_periodically(data, tensor.size(), seed + i);
    else
      std::copy_n(static_cast<const std::byte*>(general[i].raw()), tensor.bytes(), data);
    call_.set_input(i, std::move(tensor));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs_.push_back(next(model->outputs()[i].dtype, outputs[i].second));
    call_.set_output(i, outputs_.back());
  }
}

const std::string& kept_weights_of(const Options& options) {
  return options.weights.empty() ? options.precision : options.weights;
}

namespace {

/// Bytes of a weight as these options keep it.
double kept_bytes(const Options& options) {
  const DType dtype = parse_dtype(kept_weights_of(options)).value_or(DType::f32);
  if (dtype != DType::i4) return static_cast<double>(size_of(dtype));
  return rkernel::Factors(rkernel::Coding{options.weight_group, DType::f16}).step_bytes();
}

}  // namespace

double compulsory_bytes(const OpProblem& problem, const DimMap& values, const Options& kept) {
  const OpResult result = result_of(problem, values);
  const auto result_bytes = static_cast<double>(bytes_of(result.dtype, result.shape));
  const graph::OpClass kind = op_of(problem).op_class;
  const bool selects = kind == graph::OpClass::Indexed || kind == graph::OpClass::View;
  if (result_bytes == 0) return 0;
  double total = result_bytes;
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const OpOperand& operand = problem.operands[i];
    const bool kept_narrow = problem.op == "matmul" && i == 1 && operand.constant &&
                             operand.dtype == DType::f32 && operand.dims.size() == 2;
    const double element =
        kept_narrow ? kept_bytes(kept) : static_cast<double>(size_of(operand.dtype));
    const double bytes = element * static_cast<double>(element_count(shape_of(operand, values)));
    total += selects ? std::min(bytes, result_bytes) : bytes;
  }
  return total;
}

}  // namespace dyn::cli
