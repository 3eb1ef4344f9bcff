#include "src/fit/regret.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "src/base/statistics.hpp"
#include "src/choice/cost/program_cost.hpp"

namespace dyn::fit {
namespace {

using choice::CalibratedConstant;
using choice::Calibration;

struct Judged {
  double ratio;  ///< best measured over chosen
  double error;
};

double predicted(const choice::Machine& machine, const MeasuredShape& shape,
                 const MeasuredProgram& measured) {
  const choice::Choice& choice = measured.program;
  return choice::program_cost(machine, shape.sizes[measured.sizes], choice.program,
                              choice.threads) +
         (choice.threads > 1 ? machine.seconds_per_wakeup : 0);
}

Judged judge(const MeasuredShape& shape, const choice::Machine& machine) {
  const MeasuredProgram* chosen = nullptr;
  double least = 0;
  for (const MeasuredProgram& program : shape.programs) {
    const double seconds = predicted(machine, shape, program);
    if (chosen != nullptr && seconds >= least) continue;
    chosen = &program;
    least = seconds;
  }
  return {shape.best_seconds() / chosen->seconds, std::abs(std::log(least / chosen->seconds))};
}

/// The shapes of one suite on one number of threads, judged.
struct Group {
  SuiteRegret regret;
  std::vector<double> ratios, errors;

  void add(const MeasuredShape& shape, const Judged& judged) {
    ratios.push_back(judged.ratio);
    errors.push_back(judged.error);
    if (regret.worst_shape.empty() || judged.ratio < regret.worst) {
      regret.worst = judged.ratio;
      regret.worst_shape = shape.shape;
    }
  }

  SuiteRegret result() && {
    regret.shapes = ratios.size();
    regret.geometric_mean = geometric_mean(ratios);
    regret.p5 = percentile(ratios, 5);
    regret.error = percentile(errors, 50);
    return regret;
  }
};

double overall_with(std::span<const MeasuredShape> shapes, const Calibration& calibration) {
  return overall(regrets(shapes, calibration));
}

}  // namespace

std::vector<SuiteRegret> regrets(std::span<const MeasuredShape> shapes,
                                 const Calibration& calibration) {
  std::vector<Group> groups;
  std::map<const choice::Machine*, choice::Machine> machines;
  for (const MeasuredShape& shape : shapes) {
    const auto [machine, is_new] = machines.try_emplace(shape.machine.get(), *shape.machine);
    if (is_new) machine->second.fitted = calibration;
    auto group = std::ranges::find_if(groups, [&](const Group& one) {
      return one.regret.suite == shape.suite && one.regret.threads == shape.threads;
    });
    if (group == groups.end()) {
      group = groups.insert(groups.end(), Group());
      group->regret.suite = shape.suite;
      group->regret.threads = shape.threads;
    }
    group->add(shape, judge(shape, machine->second));
  }
  std::vector<SuiteRegret> result;
  for (Group& group : groups) result.push_back(std::move(group).result());
  return result;
}

double overall(std::span<const SuiteRegret> suites) {
  double logarithms = 0;
  for (const SuiteRegret& suite : suites) logarithms += std::log(suite.geometric_mean);
  return suites.empty() ? 1 : std::exp(logarithms / static_cast<double>(suites.size()));
}

std::vector<LeftOut> leave_out_each(std::span<const MeasuredShape> shapes,
                                    const Calibration& calibration) {
  const std::vector<SuiteRegret> with_all = regrets(shapes, calibration);
  std::vector<LeftOut> result;
  for (const CalibratedConstant& constant : choice::calibrated_constants()) {
    if (!constant.has_neutral) continue;
    Calibration without = calibration;
    constant.set(without, constant.neutral(calibration));
    const std::vector<SuiteRegret> suites = regrets(shapes, without);
    LeftOut left{std::string(constant.name), overall(suites), 0, {}};
    for (std::size_t i = 0; i < suites.size(); ++i) {
      const double change = suites[i].geometric_mean - with_all[i].geometric_mean;
      if (!left.worst_suite.empty() && change >= left.worst_change) continue;
      left.worst_change = change;
      left.worst_suite = suites[i].suite + " x" + std::to_string(suites[i].threads);
    }
    result.push_back(std::move(left));
  }
  std::ranges::stable_sort(result, {}, &LeftOut::overall);
  return result;
}

Calibration fitted_to(std::span<const MeasuredShape> shapes, Calibration start, double least_gain) {
  constexpr std::array factors{0.5, 0.7, 0.85, 0.95, 1.05, 1.2, 1.4, 2.0};
  double best = overall_with(shapes, start);
  for (bool improved = true; improved;) {
    improved = false;
    for (const CalibratedConstant& constant : choice::calibrated_constants()) {
      const double value = constant.get(start);
      double taken = value;
      for (const double factor : factors) {
        Calibration changed = start;
        constant.set(changed, value * factor);
        const double now = overall_with(shapes, changed);
        if (now <= best + least_gain) continue;
        best = now;
        taken = value * factor;
      }
      improved = improved || taken != value;
      constant.set(start, taken);
    }
  }
  return start;
}

}  // namespace dyn::fit
