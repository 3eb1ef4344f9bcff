#include "src/choice/policies/paper_policy.hpp"

#include "src/choice/policies/papers.hpp"

namespace dyn::rkernel {

std::unique_ptr<const PaperPolicy> make_paper_policy(Policy policy, const MicroKernels& kernels, std::int64_t panel, Partition partition) {
  switch (policy) {
    case Policy::Vortex: return make_vortex(kernels);
    case Policy::MikPoly: return make_mikpoly(kernels, partition);
    case Policy::FTuner: return make_ftuner(kernels, panel, partition);
    case Policy::TSCompiler: return make_tscompiler(kernels);
    case Policy::DietCode: return make_dietcode(kernels);
    case Policy::Dyn:
    case Policy::Vendor:
    case Policy::Oracle: break;
  }
  return nullptr;
}

}  // namespace dyn::rkernel
