// Jobs on a few threads: each runs once, and the first failure comes back.

#include "targets/llvm/code/parallel_jobs.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

using dyn::codegen::run_jobs;
using dyn::codegen::run_workers;

TEST_CASE("workers are as many as were asked for, the caller among them") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{3}}) {
    std::atomic<std::size_t> calls{0};
    run_workers(workers, [&] { ++calls; });
    CHECK(calls == workers);
  }
  std::atomic<int> ended{0};
  CHECK_THROWS_WITH_AS(run_workers(3,
                                   [&] {
                                     ++ended;
                                     throw std::runtime_error("a worker");
                                   }),
                       "a worker", std::runtime_error);
  CHECK(ended == 3);
}

TEST_CASE("every job runs once, on any number of threads") {
  for (const int threads : {-1, 0, 1, 3, 64}) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{50}}) {
      std::vector<std::atomic<int>> runs(count);
      run_jobs(count, threads, [&](std::size_t i) { ++runs[i]; });
      for (const std::atomic<int>& times : runs) CHECK(times == 1);
    }
  }
}

TEST_CASE("a failure is thrown to the caller, and jobs that have not begun are left out") {
  for (const int threads : {1, 4}) {
    std::atomic<int> runs{0};
    const auto fail_at_3 = [&](std::size_t i) {
      ++runs;
      if (i == 3) throw std::runtime_error("job 3");
    };
    CHECK_THROWS_WITH_AS(run_jobs(1000000, threads, fail_at_3), "job 3", std::runtime_error);
    CHECK(runs < 1000000);
    CHECK(runs >= 4);
  }
}
