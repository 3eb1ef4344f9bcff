// The choice of each policy for a contraction on a described GPU.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "src/choice/calibration/calibration.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/gpus/gpu_descriptions.hpp"
#include "tests/unit/ptx/target_fixture.hpp"

using namespace dyn;
using namespace dyn::ptx;
using namespace dyn::ptx::testing;
using rkernel::Choices;
using rkernel::Policy;

namespace {

constexpr Policy papers[] = {Policy::Vortex, Policy::MikPoly, Policy::FTuner, Policy::TSCompiler,
                             Policy::DietCode};

/// A contraction whose sizes and strides are all open.
class OpenProduct {
 public:
  OpenProduct(const char* gpu, DType precision)
      : graph_(lowered(product)), gpu_(gpu), precision_(precision) {
    rkernel::Problem& problem = graph_.problems.at(0);
    for (const int factor : {problem.contraction->a, problem.contraction->b})
      problem.operands[static_cast<std::size_t>(factor)].dtype = precision;
  }

  std::unique_ptr<ContractionKernel> kernel(Policy policy) const {
    const std::vector<dyn::choice::GpuTile> tiles =
        dyn::choice::gpu_tiles(described_gpu(gpu_), precision_, false);
    auto draft = ContractionKernel::draft(graph_.contraction(), described_gpu(gpu_), precision_,
                                          tiles, "cuda/test", policy);
    REQUIRE(draft.has_value());
    return numbered(*std::move(draft));
  }

  std::vector<std::int64_t> symbols(std::int64_t b, std::int64_t m, std::int64_t n,
                                    std::int64_t k) const {
    return graph_.symbols({{"B", b}, {"M", m}, {"N", n}, {"K", k}});
  }

 private:
  LoweredGraph graph_;
  const char* gpu_;
  DType precision_;
};

constexpr std::int64_t shapes[][4] = {{1, 1, 1, 1},          {1, 1, 4096, 4096}, {1, 128, 768, 768},
                                      {12, 100, 100, 64},    {1, 300, 1001, 37}, {1, 5, 7, 0},
                                      {1, 4096, 4096, 1024}, {2, 8000, 31, 512}};

bool same_run(const rkernel::Launch& a, const rkernel::Launch& b) {
  return a.ints == b.ints && a.tickets == b.tickets && a.grid.function == b.grid.function &&
         a.grid.blocks == b.grid.blocks;
}

}  // namespace

TEST_CASE(
    "every policy has distinct candidates on a described GPU, predicts what it can, and takes one "
    "of them") {
  for (const char* gpu : {"a100", "h200"}) {
    for (const DType precision : {DType::f32, DType::bf16}) {
      const OpenProduct open(gpu, precision);
      const auto kernel = open.kernel(Policy::Dyn);
      std::map<Policy, int> others;
      for (const auto& [b, m, n, k] : shapes) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        const auto symbols = open.symbols(b, m, n, k);
        const Choices of_dyn = kernel->choices({symbols, 1}, Policy::Dyn);
        REQUIRE(of_dyn.chosen < of_dyn.candidates.size());
        double least = of_dyn.candidates.front().launch.predicted_seconds;
        std::set<std::string> programs;
        for (const rkernel::Candidate& candidate : of_dyn.candidates) {
          CHECK(candidate.predicted_seconds == candidate.launch.predicted_seconds);
          least = std::min(least, candidate.launch.predicted_seconds);
          programs.insert(candidate.program);
        }
        CHECK(programs.size() == of_dyn.candidates.size());
        const double chosen = of_dyn.candidates[of_dyn.chosen].launch.predicted_seconds;
        CHECK(chosen * choice::default_calibration().gpu_worth_sharing <= least);
        CHECK(same_run(of_dyn.candidates[of_dyn.chosen].launch, kernel->plan({symbols, 1})));
        for (const Policy policy : papers) {
          CAPTURE(name_of(policy));
          const Choices choices = kernel->choices({symbols, 1}, policy);
          REQUIRE(choices.chosen < choices.candidates.size());
          if (policy != Policy::FTuner) CHECK(choices.candidates.size() > 1);
          std::set<std::string> own;
          for (const rkernel::Candidate& candidate : choices.candidates) {
            CHECK(own.insert(candidate.program).second);
            others[policy] += programs.count(candidate.program) == 0;
            CHECK(candidate.launch.predicted_seconds > 0);
            CHECK(candidate.predicted_seconds.has_value() ==
                  (policy != Policy::FTuner && policy != Policy::DietCode));
            if (candidate.predicted_seconds) CHECK(*candidate.predicted_seconds > 0);
          }
          const rkernel::Candidate& taken = choices.candidates[choices.chosen];
          // Its own prediction is the least: no policy takes a program that it predicts to be
          // slower.
          for (const rkernel::Candidate& candidate : choices.candidates) {
            if (candidate.predicted_seconds)
              CHECK(*taken.predicted_seconds <= *candidate.predicted_seconds);
          }
        }
      }
      for (const Policy policy : papers) {
        CAPTURE(name_of(policy));
        CHECK(others[policy] > 0);
      }
    }
  }
}

TEST_CASE("plans follow the policy that a kernel is made with, as its choices say") {
  const OpenProduct open("a100", DType::bf16);
  const auto by_dyn = open.kernel(Policy::Dyn);
  int others = 0;
  for (const Policy policy : papers) {
    CAPTURE(name_of(policy));
    const auto kernel = open.kernel(policy);
    for (const auto& [b, m, n, k] : shapes) {
      const auto symbols = open.symbols(b, m, n, k);
      const Choices choices = by_dyn->choices({symbols, 1}, policy);
      const rkernel::Launch first = kernel->plan({symbols, 1}), again = kernel->plan({symbols, 1});
      CHECK(same_run(first, choices.candidates.at(choices.chosen).launch));
      CHECK(same_run(first, again));
      CHECK(first.predicted_seconds ==
            choices.candidates.at(choices.chosen).launch.predicted_seconds);
      others += !same_run(first, by_dyn->plan({symbols, 1}));
      CHECK(kernel->explain({symbols, 1}).find("chosen") != std::string::npos);
      CHECK(kernel->explain({symbols, 1}).find("by policy " + std::string(name_of(policy))) !=
            std::string::npos);
      for (const bool remembered : {false, true})
        kernel->choose_only({symbols, 1}, policy, remembered);
    }
  }
  CHECK(others > 0);
  MESSAGE(others << " of " << std::size(papers) * std::size(shapes)
                 << " choices of the papers are not dyn's");
  for (const Policy policy : {Policy::Vendor, Policy::Oracle}) {
    const auto symbols = open.symbols(1, 128, 768, 768);
    CHECK(same_run(open.kernel(policy)->plan({symbols, 1}), by_dyn->plan({symbols, 1})));
  }
}

TEST_CASE("a GPU has no vendor's kernels; an empty output has no candidates, whoever asks") {
  const OpenProduct open("h200", DType::f32);
  const auto kernel = open.kernel(Policy::MikPoly);
  const auto full = open.symbols(1, 128, 64, 64), empty = open.symbols(1, 0, 64, 64);
  for (const rkernel::PolicyInfo& info : rkernel::all_policies()) {
    const Choices none = kernel->choices({empty, 1}, info.policy);
    CHECK(none.candidates.empty());
    CHECK(!none.none_reason.empty());
    kernel->choose_only({empty, 1}, info.policy, false);
  }
  CHECK(kernel->plan({empty, 1}).tickets == 0);
  CHECK(kernel->choices({full, 1}, Policy::Vendor).candidates.empty());
  CHECK(kernel->choices({full, 1}, Policy::Vendor).none_reason.find("oneDNN") != std::string::npos);
  CHECK(kernel->choices({full, 1}, Policy::Oracle).candidates.empty());
}
