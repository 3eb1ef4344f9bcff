#include "tests/unit/graph/fusion/pipeline.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "graph/ir/op.hpp"
#include "graph/passes/pipeline.hpp"
#include "graph/text/text.hpp"
#include "src/rkernel/problem/lower.hpp"
#include "tests/support/problems/problem_interpreter.hpp"

namespace dyn::testing {

using graph::ValueId;
using reference::Array;

Pipeline through_passes(const std::string& text, const graph::DecomposeOptions& options,
                        const graph::FuseOptions& fuse_options) {
  Pipeline result{graph::parse(text), {}, {}};
  result.fusion = graph::run_pipeline(
      result.module, {.decompose = options, .fuse = fuse_options},
      [](const graph::Pass&, const graph::Module& module) { graph::verify(module); });
  result.problems = rkernel::lower(result.module, result.fusion);
  return result;
}

std::string describe(const Pipeline& pipeline) {
  const auto name = [&](ValueId id) { return pipeline.module.value(id).name; };
  std::string text;
  for (const auto& group : pipeline.fusion.groups) {
    text += fmt::format("group {}:", group.name);
    for (const int id : group.nodes)
      text += " " + pipeline.module.nodes[static_cast<std::size_t>(id)].op->name;
    text += " ->";
    for (const ValueId id : group.outputs) text += " " + name(id);
    text += "\n";
  }
  for (std::size_t i = 0; i < pipeline.module.outputs.size(); ++i) {
    text += fmt::format("output {} is {}\n", pipeline.module.output_names[i],
                        name(pipeline.fusion.output_bases[i]));
  }
  for (const auto& reason : pipeline.fusion.reasons)
    text += fmt::format("memory {}: {}\n", name(reason.value), reason.text);
  for (const auto& problem : pipeline.problems) text += "\n" + to_string(problem);
  return text;
}

std::vector<std::string> defects(const Pipeline& pipeline) {
  std::vector<std::string> found;
  const auto& module = pipeline.module;
  std::set<ValueId> ready;
  for (std::size_t i = 0; i < module.values.size(); ++i) {
    const auto kind = module.values[i].kind;
    if (kind == graph::ValueKind::Input || kind == graph::ValueKind::Weight)
      ready.insert(static_cast<ValueId>(i));
  }
  // Several groups may write parts of one buffer; it is complete after the last of them.
  std::map<ValueId, int> writers;
  for (const auto& problem : pipeline.problems) {
    for (const auto& operand : problem.operands) writers[operand.buffer] += operand.written;
  }
  for (const auto& problem : pipeline.problems) {
    for (const auto& operand : problem.operands) {
      if (!operand.written && !ready.contains(operand.buffer))
        found.push_back(problem.name + " reads " + operand.name + " too early");
    }
    for (const auto& operand : problem.operands) {
      if (!operand.written) continue;
      const auto kind = module.value(operand.buffer).kind;
      if (kind != graph::ValueKind::Result && kind != graph::ValueKind::State)
        found.push_back(operand.name + " is written, but is no result");
      if (--writers[operand.buffer] == 0) ready.insert(operand.buffer);
    }
  }
  std::set<ValueId> bases;
  for (const ValueId base : pipeline.fusion.output_bases) {
    if (module.value(base).kind != graph::ValueKind::Result || !ready.contains(base))
      found.push_back("an output is never written");
    if (!bases.insert(base).second) found.push_back("two outputs share a buffer");
  }
  return found;
}

namespace {

Array random_array(DType dtype, const std::vector<std::int64_t>& dims, std::mt19937_64& random) {
  Array array = reference::make_array(dtype, dims);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<std::int64_t> integer(dtype == DType::boolean ? 0 : -2, 1);
  for (double& value : array.floats) value = static_cast<double>(normal(random));
  for (std::int64_t& value : array.integers) value = integer(random);
  return array;
}

/// A dense buffer and a copy of what is in it.
struct Memory {
  Tensor tensor;
  void* data() { return tensor.raw(); }
};

std::vector<std::int64_t> evaluate_dims(const std::vector<graph::Dim>& dims,
                                        std::span<const std::int64_t> symbols) {
  std::vector<std::int64_t> values;
  for (const auto dim : dims) values.push_back(graph::evaluate(dim, symbols));
  return values;
}

}  // namespace

std::vector<Array> random_inputs(const graph::Module& module,
                                 const std::vector<std::vector<std::int64_t>>& dims,
                                 std::mt19937_64& random) {
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < module.inputs.size(); ++i) {
    inputs.push_back(random_array(module.value(module.inputs[i]).type.dtype, dims[i], random));
  }
  return inputs;
}

namespace {

/// The parts side by side: one row of each after the other.
Array joined(const graph::Module& module, const graph::Value& value) {
  Array result = reference::make_array(value.type.dtype, evaluate_dims(value.type.dims, {}));
  std::size_t start = 0;
  const auto columns = static_cast<std::size_t>(result.dims.back());
  for (const ValueId id : value.weight.parts) {
    const Array part = random_weight(module, id);
    const auto width = static_cast<std::size_t>(part.dims.back());
    for (std::size_t i = 0; i < part.floats.size(); ++i)
      result.floats[i / width * columns + start + i % width] = part.floats[i];
    for (std::size_t i = 0; i < part.integers.size(); ++i)
      result.integers[i / width * columns + start + i % width] = part.integers[i];
    start += width;
  }
  return result;
}

}  // namespace

Array random_weight(const graph::Module& module, ValueId id) {
  const auto& value = module.value(id);
  if (value.weight.kind == graph::WeightSource::Kind::Parts) return joined(module, value);
  std::mt19937_64 random(std::hash<std::string>()(value.name));
  return random_array(value.type.dtype, evaluate_dims(value.type.dims, {}), random);
}

std::vector<Array> interpret_all(const Pipeline& pipeline, const std::vector<Array>& inputs) {
  const auto& module = pipeline.module;
  std::vector<std::vector<std::int64_t>> input_dims;
  for (const Array& input : inputs) input_dims.push_back(input.dims);
  const auto symbols = reference::bind_symbols(module, input_dims);

  std::map<ValueId, Tensor> memory;
  std::map<ValueId, void*> buffers;
  const auto keep = [&](ValueId id, Tensor tensor) {
    buffers[id] = memory.insert_or_assign(id, std::move(tensor)).first->second.raw();
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    keep(module.inputs[i], reference::to_tensor(inputs[i]));
  for (std::size_t i = 0; i < module.values.size(); ++i) {
    const auto id = static_cast<ValueId>(i);
    if (module.values[i].kind == graph::ValueKind::Weight)
      keep(id, reference::to_tensor(random_weight(module, id)));
  }
  for (const auto& group : pipeline.fusion.groups) {
    for (const ValueId id : group.outputs) {
      const ValueId base = pipeline.fusion.views[static_cast<std::size_t>(id)].base;
      if (!buffers.contains(base))
        keep(base, Tensor(module.value(base).type.dtype,
                          evaluate_dims(module.value(base).type.dims, symbols)));
    }
  }
  for (const auto& problem : pipeline.problems) interpret(problem, symbols, buffers);

  std::vector<Array> outputs;
  for (std::size_t i = 0; i < module.outputs.size(); ++i) {
    outputs.push_back(reference::from_tensor(memory.at(pipeline.fusion.output_bases[i])));
    outputs.back().dims = evaluate_dims(module.value(module.outputs[i]).type.dims, symbols);
  }
  return outputs;
}

std::string difference(const std::vector<Array>& expected, const std::vector<Array>& actual) {
  constexpr double tolerance = 2e-4;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].dims != actual[i].dims) return fmt::format("output {}: other dims", i);
    for (std::size_t k = 0; k < expected[i].integers.size(); ++k) {
      if (expected[i].integers[k] != actual[i].integers[k]) {
        return fmt::format("output {} at {}: {} instead of {}", i, k, actual[i].integers[k],
                           expected[i].integers[k]);
      }
    }
    for (std::size_t k = 0; k < expected[i].floats.size(); ++k) {
      const double a = expected[i].floats[k], b = actual[i].floats[k];
      const bool same = a == b || (std::isnan(a) && std::isnan(b)) ||
                        std::fabs(a - b) <= tolerance * (1 + std::fabs(a));
      if (!same) return fmt::format("output {} at {}: {} instead of {}", i, k, b, a);
    }
  }
  return "";
}

std::string compare_with_reference(const std::string& text,
                                   const std::map<std::string, std::int64_t>& sizes,
                                   std::mt19937_64& random, const graph::DecomposeOptions& options,
                                   const graph::FuseOptions& fuse_options) {
  const graph::Module parsed = graph::parse(text);
  std::vector<std::int64_t> symbols(static_cast<std::size_t>(parsed.dims->symbol_count()), 1);
  for (const auto& [name, size] : sizes) {
    if (const auto dim = parsed.dims->find_symbol(name))
      symbols[static_cast<std::size_t>(*dim->symbol())] = size;
  }
  std::vector<std::vector<std::int64_t>> dims;
  for (const ValueId id : parsed.inputs)
    dims.push_back(evaluate_dims(parsed.value(id).type.dims, symbols));
  const auto inputs = random_inputs(parsed, dims, random);
  const auto expected = reference::run(
      parsed, reference::bind_symbols(parsed, dims), inputs,
      [&](ValueId id) { return random_weight(parsed, id); }, reference::Precision::f64);
  return difference(expected, interpret_all(through_passes(text, options, fuse_options), inputs));
}

}  // namespace dyn::testing
