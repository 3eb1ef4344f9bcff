#include "tests/unit/ptx/target_fixture.hpp"

#include <algorithm>

#include "graph/passes/widen_halves.hpp"
#include "graph/text/text.hpp"
#include "src/rkernel/problem/lower.hpp"

namespace dyn::ptx::testing {

const char* const product = R"(
dim B in 1..64
dim M in 0..5000
dim N in 0..5000
dim K in 0..5000
graph g(a: f32[B, M, K], b: f32[B, K, N]) -> (y: f32[B, M, N]) {
  y = matmul(a, b)
  return y
}
)";

rkernel::BufferFacts LoweredGraph::facts() const {
  const graph::Module* from = module.get();
  const graph::Fusion* groups = &fusion;
  const auto constant = [from](graph::ValueId id) {
    const graph::Value& value = from->value(id);
    return value.kind == graph::ValueKind::Weight || value.kind == graph::ValueKind::Constant;
  };
  const auto port = [from, groups](graph::ValueId id) {
    return std::find(from->inputs.begin(), from->inputs.end(), id) != from->inputs.end() ||
           std::find(groups->output_bases.begin(), groups->output_bases.end(), id) !=
               groups->output_bases.end();
  };
  return {constant, port};
}

std::vector<std::int64_t> LoweredGraph::symbols(
    const std::vector<std::pair<std::string, std::int64_t>>& values) const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(module->dims->symbol_count()), 1);
  for (const auto& [name, value] : values)
    result.at(static_cast<std::size_t>(module->dims->find_symbol(name).value().symbol().value())) =
        value;
  return result;
}

const rkernel::Problem& LoweredGraph::contraction(std::size_t index) const {
  for (const rkernel::Problem& problem : problems) {
    if (problem.contraction && index-- == 0) return problem;
  }
  throw std::out_of_range("no such contraction");
}

LoweredGraph lowered(const std::string& text, const graph::DecomposeOptions& kept,
                     const graph::FuseOptions& fuse) {
  LoweredGraph result;
  result.module = std::make_unique<graph::Module>(graph::parse("dyn 1\n" + text));
  graph::widen_halves(*result.module);
  graph::decompose(*result.module, kept);
  graph::simplify(*result.module);
  result.fusion = graph::fuse(*result.module, fuse);
  result.problems = rkernel::lower(*result.module, result.fusion);
  return result;
}

std::unique_ptr<ContractionKernel> numbered(ContractionKernel::Draft draft) {
  std::vector<const void*> handles;
  for (std::size_t i = 0; i < draft.sources().size(); ++i)
    handles.push_back(reinterpret_cast<const void*>(i + 1));
  return std::move(draft).with_code(std::move(handles));
}

std::vector<const void*> RecordingDevice::load(std::span<const codegen::KernelSource> sources, int,
                                               rkernel::CompileReport& report) {
  ++calls;
  std::vector<const void*> handles;
  for (const codegen::KernelSource& source : sources) {
    keys.push_back(source.key);
    handles.push_back(handle(keys.size() - 1));
    ++report.kernels;
    ++report.compiled;
  }
  return handles;
}

}  // namespace dyn::ptx::testing
