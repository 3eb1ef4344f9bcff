// Every class of loop kernels is PTX that the assembler takes, without spills.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "targets/ptx/loop/kernel.hpp"
#include "tests/support/problems/random_problem.hpp"
#include "tests/support/ptxas.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/ptx/loop/cases.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

struct Totals {
  int assembled = 0, most_registers = 0;
  std::set<std::string> hashes;
};

/// The sweep is over kernels and GPUs.
void assemble_all(const rkernel::Problem& problem, std::span<const char* const> gpus,
                  dyn::testing::Sweep& sweep, Totals& totals) {
  auto draft = ptx::LoopKernel::draft(problem, {}, "ptx/test");
  REQUIRE(draft.has_value());
  const auto kernel = (*std::move(draft)).without_code();
  for (const rkernel::CodeListing& listing : kernel->listings()) {
    if (!totals.hashes.insert(listing.hash).second) continue;
    for (const char* gpu : gpus) {
      if (!sweep.takes()) continue;
      const Assembled result = assemble(listing.text, gpu);
      INFO(listing.name << " for " << gpu << "\n" << listing.text << "\n" << result.log);
      CHECK(result.ok);
      CHECK(result.spill_bytes == 0);
      CHECK(result.stack_bytes == 0);
      totals.most_registers = std::max(totals.most_registers, result.registers);
      totals.assembled += result.ok;
    }
  }
}

}  // namespace

TEST_SUITE("full") {
  TEST_CASE("loop kernels assemble for every GPU") {
    if (ptxas_is_missing()) return;
    Totals totals;
    const auto gpus = static_cast<int>(ptxas_gpus().size());
    dyn::testing::Sweep sweep(gpus);  // else each kernel for one of them
    for (const LoopCase& loop_case : loop_cases())
      assemble_all(build(loop_case, 5, 300)->problem, ptxas_gpus(), sweep, totals);
    const auto cases = static_cast<int>(loop_cases().size());
    CHECK(totals.assembled >= cases * (dyn::testing::full_sweeps() ? gpus : 1));
    std::printf("note: ptxas assembled %d loop kernels, at most %d registers\n", totals.assembled,
                totals.most_registers);
  }

  TEST_CASE("random loop kernels assemble") {
    if (ptxas_is_missing()) return;
    constexpr unsigned first_seed = 1000;
    const auto count = static_cast<unsigned>(dyn::testing::test_rounds(25, 2));
    Totals totals;
    dyn::testing::Sweep all(1);
    for (unsigned seed = first_seed; seed < first_seed + count; ++seed) {
      CAPTURE(seed);
      assemble_all(dyn::testing::random_problem(seed, dyn::testing::RandomDtypes::Gpu)->problem,
                   ptxas_gpus().first(1), all, totals);
    }
    CHECK(totals.assembled >= static_cast<int>(count));
    std::printf("note: ptxas assembled %d random loop kernels, at most %d registers\n",
                totals.assembled, totals.most_registers);
  }
}
