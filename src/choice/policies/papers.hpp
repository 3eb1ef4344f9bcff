#pragma once
// The policies of the papers, one by one; make_paper_policy() makes them by name.

#include "src/choice/policies/paper_policy.hpp"

namespace dyn::choice {

std::unique_ptr<const PaperPolicy> make_vortex(const MicroKernels& kernels);
std::unique_ptr<const PaperPolicy> make_mikpoly(const MicroKernels& kernels, Partition partition);
std::unique_ptr<const PaperPolicy> make_ftuner(const MicroKernels& kernels, std::int64_t panel,
                                               Partition partition);
std::unique_ptr<const PaperPolicy> make_tscompiler(const MicroKernels& kernels);
std::unique_ptr<const PaperPolicy> make_dietcode(const MicroKernels& kernels);

}  // namespace dyn::choice
