#include "src/rkernel/target/narrowing.hpp"

#include <map>

namespace dyn::rkernel {
namespace {

struct Use {
  bool factor = false;   ///< a contraction multiplies it
  bool foreign = false;  ///< a kernel touches it that does not take it
  bool other_dtype = false;
};

std::map<graph::ValueId, Use> uses_of(const std::vector<Problem>& problems,
                                      const TakesNarrow& takes) {
  std::map<graph::ValueId, Use> uses;
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const auto& contraction = problems[i].contraction;
    for (int index = 0; index < static_cast<int>(problems[i].operands.size()); ++index) {
      const Operand& operand = problems[i].operands[static_cast<std::size_t>(index)];
      Use& use = uses[operand.buffer];
      use.foreign = use.foreign || !takes(i, index);
      use.other_dtype = use.other_dtype || operand.dtype != DType::f32;
      use.factor = use.factor || (contraction && contraction->multiplies(index));
    }
  }
  return uses;
}

}  // namespace

void narrow_buffers(std::vector<Problem>& problems, const TakesNarrow& takes,
                    const BufferFacts& buffers, DType precision) {
  if (size_of(precision) >= size_of(DType::f32)) return;
  const std::map<graph::ValueId, Use> uses = uses_of(problems, takes);
  for (Problem& problem : problems) {
    for (Operand& operand : problem.operands) {
      const Use& use = uses.at(operand.buffer);
      if (use.foreign || use.other_dtype) continue;
      if (buffers.constant(operand.buffer) ? use.factor : !buffers.port(operand.buffer))
        operand.dtype = precision;
    }
  }
}

}  // namespace dyn::rkernel
