#include "src/choice/policies/paper_policy.hpp"

#include "src/choice/policies/papers.hpp"

namespace dyn::choice {

std::unique_ptr<const PaperPolicy> make_paper_policy(rkernel::Policy policy,
                                                     const MicroKernels& kernels,
                                                     std::int64_t panel, Partition partition) {
  switch (policy) {
    case rkernel::Policy::Vortex: return make_vortex(kernels);
    case rkernel::Policy::MikPoly: return make_mikpoly(kernels, partition);
    case rkernel::Policy::FTuner: return make_ftuner(kernels, panel, partition);
    case rkernel::Policy::TSCompiler: return make_tscompiler(kernels);
    case rkernel::Policy::DietCode: return make_dietcode(kernels);
    case rkernel::Policy::Dyn:
    case rkernel::Policy::Vendor:
    case rkernel::Policy::Oracle: break;
  }
  return nullptr;
}

}  // namespace dyn::choice
