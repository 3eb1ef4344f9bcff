// Cases that crash, or never end, beside others.

#include <doctest/doctest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>

#include "tests/conformance/baseline.hpp"
#include "tests/conformance/children.hpp"

using dyn::conformance::Ended;
using dyn::conformance::run_children;

TEST_CASE("a child that crashes, exits or never ends is told, and takes nothing else with it") {
  const auto work = [](std::size_t i) -> std::string {
    if (i == 1) raise(SIGKILL);
    if (i == 3) _exit(7);
    while (i == 4) pause();
    return std::string(i == 5 ? 1000000 : 3, static_cast<char>('a' + i));
  };
  std::map<std::size_t, Ended> all;
  run_children(7, 2, 0.5, work,
               [&](std::size_t i, const Ended& ended) { CHECK(all.emplace(i, ended).second); });
  REQUIRE(all.size() == 7);
  CHECK(all[0].output == "aaa");
  CHECK(all[1].problem.starts_with("signal 9"));
  CHECK(all[2].output == "ccc");
  CHECK(all[3].problem == "exit code 7");
  CHECK(all[4].problem == "no end within 0.5 s");
  CHECK(all[5].output == std::string(1000000, 'f'));
  CHECK(all[6].problem.empty());
  CHECK(all[6].output == "ggg");
}

TEST_CASE("a sample reaches from the first case to the last ones, and is the same each time") {
  std::vector<std::string> names;
  for (int i = 100; i < 350; ++i) names.push_back(std::to_string(i));
  const std::vector<std::string> sample = dyn::conformance::sample_of(names, 60);
  REQUIRE(sample.size() == 60);
  CHECK(sample.front() == "100");
  CHECK(sample.back() >= "340");
  CHECK(std::is_sorted(sample.begin(), sample.end()));
  CHECK(dyn::conformance::sample_of(names, 60) == sample);
  CHECK(dyn::conformance::sample_of(names, 1000) == names);
}

TEST_CASE("a model's place is that of all its groups") {
  dyn::conformance::Outcome outcome;
  CHECK(dyn::conformance::place_of(outcome) == "no kernel");
  outcome.targets = {{"cpu/avx2", 3}};
  CHECK(dyn::conformance::place_of(outcome) == "cpu");
  outcome.targets = {{"cpu/avx2", 3}, {"host", 1}};
  CHECK(dyn::conformance::place_of(outcome) == "cpu + host");
}
