#pragma once
// How good the choices are that the cost model makes with given constants.

#include <span>
#include <string>
#include <vector>

#include "src/fit/measurements.hpp"

namespace dyn::fit {

/// Over the shapes of one suite on one number of threads: the best program's time over that of the
/// program which the model predicts to be fastest. 1 is perfect.
struct SuiteRegret {
  std::string suite;
  int threads = 1;
  std::size_t shapes = 0;
  double geometric_mean = 1;
  double p5 = 1;  ///< the 5th percentile
  double worst = 1;
  std::string worst_shape;
  double error = 0;  ///< the median of |log(predicted / measured)| over the chosen programs
};

/// In the order in which suites come first. Ties of predictions go to the earlier program.
std::vector<SuiteRegret> regrets(std::span<const MeasuredShape> shapes,
                                 const choice::Calibration& calibration);

/// The mean of the suites' logarithmic means, as a factor: each suite and number of threads weighs
/// the same.
double overall(std::span<const SuiteRegret> suites);

/// What leaving out one constant's term does.
struct LeftOut {
  std::string name;
  double overall = 0;       ///< with all others as they are
  double worst_change = 0;  ///< of a suite's geometric mean: below 0 where it needs the term most
  std::string worst_suite;
};

/// Every constant with a neutral value, those first that the choices need most.
std::vector<LeftOut> leave_out_each(std::span<const MeasuredShape> shapes,
                                    const choice::Calibration& calibration);

/// Changes one constant at a time, by factors between a half and 2, as long as that raises the
/// overall figure by more than `least_gain`. Constants that no measured choice depends on stay.
choice::Calibration fitted_to(std::span<const MeasuredShape> shapes, choice::Calibration start,
                              double least_gain);

}  // namespace dyn::fit
