#pragma once
// The policies of the papers, one by one; make_paper_policy() makes them by name.

#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::choice {

std::unique_ptr<const PaperPolicy> make_ftuner(const MicroKernels& kernels,
                                               const PartitionRules& rules);
std::unique_ptr<const PaperPolicy> make_tscompiler(const MicroKernels& kernels);
std::unique_ptr<const PaperPolicy> make_dietcode(const MicroKernels& kernels,
                                                 const PartitionRules& rules);
std::unique_ptr<const PaperPolicy> make_dietcode_padding(const MicroKernels& kernels,
                                                         const PartitionRules& rules);
std::unique_ptr<const PaperPolicy> make_dietcode_partition(const MicroKernels& kernels,
                                                           const PartitionRules& rules);

}  // namespace dyn::choice
