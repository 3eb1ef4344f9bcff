#include "src/choice/policies/shared/paper_policy.hpp"

#include "src/choice/policies/mikpoly/mikpoly.hpp"
#include "src/choice/policies/shared/papers.hpp"
#include "src/choice/policies/vortex/vortex.hpp"

namespace dyn::choice {

std::unique_ptr<const PaperPolicy> make_paper_policy(rkernel::Policy policy,
                                                     const MicroKernels& kernels,
                                                     const PartitionRules& rules) {
  using rkernel::Policy;
  const auto mikpoly = [&](MikPolyTerms terms) {
    const MikPolyPatterns patterns = rules.regions == Regions::Whole ? MikPolyPatterns::Whole
                                     : rules.regions == Regions::Two ? MikPolyPatterns::Two
                                                                     : MikPolyPatterns::Nine;
    return make_mikpoly(kernels, {patterns, terms, rules.panel});
  };
  switch (policy) {
    case Policy::Vortex:
    case Policy::VortexAnalytical:
    case Policy::VortexEmpirical: return make_vortex(kernels);
    case Policy::VortexFixedLowest: return make_vortex(kernels, VortexLayersFree::FixedLowest);
    case Policy::VortexFixedAll: return make_vortex(kernels, VortexLayersFree::FixedAll);
    case Policy::MikPoly: return mikpoly(MikPolyTerms::WaveAndPipe);
    case Policy::MikPolyWave: return mikpoly(MikPolyTerms::Wave);
    case Policy::MikPolyPipe: return mikpoly(MikPolyTerms::Pipe);
    case Policy::FTuner: return make_ftuner(kernels, rules);
    case Policy::TSCompiler: return make_tscompiler(kernels);
    case Policy::DietCode: return make_dietcode(kernels, rules);
    case Policy::DietCodePadding: return make_dietcode_padding(kernels, rules);
    case Policy::DietCodePartition: return make_dietcode_partition(kernels, rules);
    case Policy::Dyn:
    case Policy::Vendor:
    case Policy::Oracle: break;
  }
  return nullptr;
}

}  // namespace dyn::choice
