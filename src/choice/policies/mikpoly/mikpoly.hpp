#pragma once
// MikPoly's polymerization: which micro-kernels compute which regions.

#include <memory>

#include "src/choice/policies/shared/paper_policy.hpp"

namespace dyn::choice {

/// The patterns that are tried (MikPoly, section 4): the whole output; I and II, as on a GPU, whose
/// hardware schedules; all nine, as where software schedules.
enum class MikPolyPatterns : std::uint8_t { Whole, Two, Nine };

/// The terms of the cost model (section 5.3): both, or its variants MikPoly-Wave and MikPoly-Pipe,
/// which leave one of them out.
enum class MikPolyTerms : std::uint8_t { WaveAndPipe, Wave, Pipe };

struct MikPolyOptions {
  MikPolyPatterns patterns = MikPolyPatterns::Two;
  MikPolyTerms terms = MikPolyTerms::WaveAndPipe;
  std::int64_t panel = 1;  ///< borders along n are multiples of it
};

/// `kernels` must outlive it. Only with both terms programs have seconds.
std::unique_ptr<const PaperPolicy> make_mikpoly(const MicroKernels& kernels,
                                                const MikPolyOptions& options);

}  // namespace dyn::choice
