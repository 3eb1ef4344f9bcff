// dyn-fit: fits the constants of the cost model to measured programs, and says what each is worth.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "dyn/error.hpp"
#include "src/choice/calibration/calibration.hpp"
#include "src/fit/regret.hpp"

namespace dyn::fit {
namespace {

struct Arguments {
  std::vector<std::string> measurements;
  std::string calibration, output;
  bool leave_out = false;
  double least_gain = 1e-4;
};

choice::Calibration calibration_of(const Arguments& arguments) {
  if (arguments.calibration.empty()) return choice::default_calibration();
  std::ifstream file(arguments.calibration);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw Error(ErrorKind::user, arguments.calibration + ": cannot be read");
  return choice::calibration_from(text.str(), arguments.calibration);
}

void print_regrets(const std::vector<SuiteRegret>& suites) {
  fmt::print(
      "| suite | threads | shapes | geometric mean | p5 | worst | worst shape | error |\n"
      "|---|---|---|---|---|---|---|---|\n");
  for (const SuiteRegret& suite : suites) {
    fmt::print("| {} | {} | {} | {:.4f} | {:.3f} | {:.3f} | {} | {:.3f} |\n", suite.suite,
               suite.threads, suite.shapes, suite.geometric_mean, suite.p5, suite.worst,
               suite.worst_shape, suite.error);
  }
  fmt::print("\noverall {:.5f}\n", overall(suites));
}

void print_left_out(const std::vector<MeasuredShape>& shapes,
                    const choice::Calibration& calibration) {
  const double with_all = overall(regrets(shapes, calibration));
  std::string unused;
  fmt::print(
      "\n| left out | overall | change, % | most in one suite, % | which |\n"
      "|---|---|---|---|---|\n");
  for (const LeftOut& left : leave_out_each(shapes, calibration)) {
    if (left.overall == with_all && left.worst_change == 0) {
      unused += (unused.empty() ? "" : ", ") + left.name;
      continue;
    }
    fmt::print("| {} | {:.5f} | {:+.3f} | {:+.3f} | {} |\n", left.name, left.overall,
               100 * (left.overall / with_all - 1), 100 * left.worst_change, left.worst_suite);
  }
  fmt::print("\nno measured choice depends on: {}\n", unused.empty() ? "none" : unused);
}

void write_fitted(const std::vector<MeasuredShape>& shapes, const choice::Calibration& start,
                  const Arguments& arguments) {
  const choice::Calibration fitted = fitted_to(shapes, start, arguments.least_gain);
  fmt::print("\n| fitted | from | to |\n|---|---|---|\n");
  for (const choice::CalibratedConstant& constant : choice::calibrated_constants()) {
    if (constant.get(fitted) != constant.get(start))
      fmt::print("| {} | {:.4g} | {:.4g} |\n", constant.name, constant.get(start),
                 constant.get(fitted));
  }
  fmt::print("\n");
  print_regrets(regrets(shapes, fitted));
  std::ofstream file(arguments.output, std::ios::trunc);
  file << choice::calibration_text(fitted) << std::flush;
  if (!file) throw Error(ErrorKind::device, arguments.output + ": cannot be written");
}

void run(const Arguments& arguments) {
  const std::vector<MeasuredShape> shapes = read_measurements(arguments.measurements);
  const choice::Calibration calibration = calibration_of(arguments);
  print_regrets(regrets(shapes, calibration));
  if (arguments.leave_out) print_left_out(shapes, calibration);
  if (!arguments.output.empty()) write_fitted(shapes, calibration, arguments);
}

}  // namespace
}  // namespace dyn::fit

int main(int argc, char** argv) {
  CLI::App app(
      "Fits the constants of the cost model to measured programs: prints, for each suite, the best "
      "program's time over that of the program which the model chooses.");
  dyn::fit::Arguments arguments;
  app.add_option("measurements", arguments.measurements,
                 "Files that dynrun select --measurements wrote")
      ->required();
  app.add_option("--calibration", arguments.calibration,
                 "Begin with the constants of this file, instead of those that are compiled in");
  app.add_flag("--leave-out", arguments.leave_out,
               "Print the same with each constant's term left out");
  app.add_option("--fit", arguments.output,
                 "Fit the constants again, print what changed, and write them to this file");
  app.add_option("--least-gain", arguments.least_gain,
                 "The least gain of the overall figure for which a constant is changed");
  CLI11_PARSE(app, argc, argv);
  try {
    dyn::fit::run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "dyn-fit: {}\n", error.what());
    return 1;
  }
  return 0;
}
