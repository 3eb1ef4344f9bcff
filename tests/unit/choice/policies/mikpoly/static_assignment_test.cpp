// Max-min allocation on units that software schedules.

#include "src/choice/policies/mikpoly/static_assignment.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "tests/support/seed.hpp"
#include "tests/unit/choice/policies/fake_kernels.hpp"

using namespace dyn::choice;
using namespace dyn::rkernel;
using namespace dyn::rkernel::testing;

namespace {

// The least time of any assignment, by trying all.
double least_time(const std::vector<double>& tasks, std::vector<double>& loads, std::size_t next) {
  if (next == tasks.size()) return *std::ranges::max_element(loads);
  double least = 1e9;
  for (double& load : loads) {
    load += tasks[next];
    least = std::min(least, least_time(tasks, loads, next + 1));
    load -= tasks[next];
  }
  return least;
}

}  // namespace

TEST_CASE("max-min gives the longest tasks first to who is ready first") {
  // 7, 5, 5, 3, 3, 3 on two units: 7 | 5, 5 -> 7 + 3 | 10, 3 -> ... the loads end at 13 and 13.
  const StaticAssignment assigned = max_min_assignment({{3, 3}, {1, 7}, {2, 5}}, 2);
  CHECK(assigned.seconds == doctest::Approx(13));
  CHECK(assigned.tasks == std::vector<std::vector<std::int64_t>>{{2, 1, 0}, {1, 0, 2}});
  CHECK(max_min_assignment({}, 3).seconds == 0);
}

TEST_CASE("max-min assigns every task once, and is at most a third slower than the best") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<TaskGroup> groups(1 + random() % 3);
    std::vector<double> tasks;
    for (TaskGroup& group : groups) {
      group = {static_cast<std::int64_t>(random() % 4), 1.0 + static_cast<double>(random() % 50)};
      tasks.insert(tasks.end(), static_cast<std::size_t>(group.tasks), group.seconds);
    }
    const int units = 1 + static_cast<int>(random() % 3);
    const StaticAssignment assigned = max_min_assignment(groups, units);
    double slowest = 0;
    for (const auto& of_unit : assigned.tasks) {
      double load = 0;
      for (std::size_t group = 0; group < groups.size(); ++group)
        load += static_cast<double>(of_unit[group]) * groups[group].seconds;
      slowest = std::max(slowest, load);
    }
    CHECK(assigned.seconds == doctest::Approx(slowest));
    for (std::size_t group = 0; group < groups.size(); ++group) {
      std::int64_t sum = 0;
      for (const auto& of_unit : assigned.tasks) sum += of_unit[group];
      CHECK(sum == groups[group].tasks);
    }
    std::vector<double> loads(static_cast<std::size_t>(units));
    const double best = least_time(tasks, loads, 0);
    CHECK(assigned.seconds <= best * (4.0 / 3.0) + 1e-9);
  }
}

TEST_CASE("on an NPU, programs of one region take their waves, and several share them") {
  const std::uint64_t seed = dyn::testing::test_seed();
  MESSAGE("DYN_SEED=" << seed);
  std::mt19937_64 random(seed);
  int shared = 0;
  for (int round = 0; round < 30; ++round) {
    const FakeKernels npu = random_kernels(random, 16);
    const auto policy = make_paper_policy(Policy::MikPoly, npu, {Regions::Any, 16});
    for (int i = 0; i < 10; ++i) {
      const ProductShape shape = random_shape(random, 600);
      for (const KernelProgram& program : all_programs(*policy, shape)) {
        const double seconds =
            max_min_assignment(task_groups(npu, shape, program), npu.units()).seconds;
        if (program.regions.size() == 1)
          CHECK(seconds == doctest::Approx(program.seconds.value()));
        else
          CHECK(seconds <= program.seconds.value() * (1 + 1e-9));
        shared += seconds < program.seconds.value() * (1 - 1e-9);
      }
    }
  }
  CHECK(shared > 0);
}
