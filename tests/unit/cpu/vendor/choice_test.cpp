// oneDNN beside policy dyn: taken where it is expected to be faster, never where results must not
// depend on it; and the figures behind that expectation.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include "targets/cpu/measure/vendor_figures.hpp"
#include "targets/cpu/vendor/blocks.hpp"
#include "targets/cpu/vendor/plan.hpp"
#include "targets/cpu/vendor/provider.hpp"
#include "targets/cpu/x86/cpu_info.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "tests/support/round_machine.hpp"
#include "tests/support/seed.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/unit/cpu/contraction/policy_context.hpp"

using namespace dyn::codegen;
using namespace dyn::cpu;
using dyn::cpu::testing::Case;
using dyn::cpu::testing::Planned;
using dyn::rkernel::Policy;

namespace {

constexpr VendorFigures fast{{1e15, 1e-9}, {1e15, 1e-9}}, slow{{1e6, 1}, {1e6, 1}};
const Case packed_case{.m = 130, .n = 200, .k = 170, .bias = true, .relu = true},
    fresh_case{.m = 130, .n = 200, .k = 170, .packed = false};

/// The process's library with invented figures; nullptr where the test is skipped.
Vendor vendor_for(const char* test, const VendorFigures& figures, bool beside_dyn) {
  Vendor vendor{.library = nullptr, .why_not = {}, .figures = figures, .beside_dyn = beside_dyn};
  vendor.library = dyn::vendor::OneDnn::of_process(vendor.why_not);
  if (!vendor.library) std::printf("skipped vendor.%s: %s\n", test, vendor.why_not.c_str());
  return vendor;
}

/// Calls `check` with the choice of policy dyn for both cases, on one thread and on two.
template <class Check>
void for_each_plan(const Vendor& vendor, bool deterministic, const Check& check) {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  std::mt19937_64 random(20261121);
  for (const int threads : {1, 2}) {
    const auto context =
        testing::policy_context(isa, *store,
                                {.threads = threads,
                                 .policy = Policy::Dyn,
                                 .deterministic = deterministic,
                                 .library = std::make_shared<const OneDnnLibrary>(vendor)});
    for (const Case& c : {packed_case, fresh_case}) {
      CAPTURE(threads);
      CAPTURE(c.packed);
      const Planned planned = testing::plan_case(c, context, *store, random, threads);
      CHECK(planned.error <= 1);
      check(planned);
    }
  }
}

bool is_vendors(const dyn::rkernel::Launch& launch) { return launch.function == VendorPlan::run; }

std::size_t vendors_candidates(const Planned& planned) {
  return static_cast<std::size_t>(
      std::ranges::count_if(planned.choices.candidates,
                            [](const auto& candidate) { return is_vendors(candidate.launch); }));
}

bool mentions_vendor(const Planned& planned) {
  return planned.explained.find("oneDNN") != std::string::npos;
}

}  // namespace

TEST_CASE("dyn takes the vendor's program where that is expected to be faster") {
  const Vendor vendor = vendor_for("chosen", fast, true);
  if (!vendor.library) return;
  for_each_plan(vendor, false, [](const Planned& planned) {
    CHECK(is_vendors(planned.launch));
    REQUIRE(vendors_candidates(planned) == 1);
    const auto& chosen = planned.choices.candidates.at(planned.choices.chosen);
    CHECK(is_vendors(chosen.launch));
    CHECK(chosen.predicted_seconds == planned.launch.predicted_seconds);
    for (const auto& candidate : planned.choices.candidates)
      CHECK(planned.launch.predicted_seconds <= *candidate.predicted_seconds);
    const std::size_t line = planned.explained.find("oneDNN");
    REQUIRE(line != std::string::npos);
    CHECK(planned.explained.rfind("chosen") < line);
  });
}

TEST_CASE("the vendor's program takes the threads that it is expected to be fastest with") {
  const dyn::choice::Machine machine = dyn::testing::round_machine(8);  // waking up takes 1 us
  const VendorFigures figures{{50e9, 0.5e-6}, {50e9, 0.5e-6}};
  const auto choose = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch,
                          int threads) {
    return choose_vendor_threads(machine, figures, {.batch = batch, .m = m, .n = n, .k = k},
                                 threads, false);
  };
  // 16 x 32 x 32 takes 0.7 us of operations, less than a wake-up; 16 x 128 x 128 takes 10 us.
  CHECK(choose(16, 32, 32, 1, 2).threads == 1);
  CHECK(choose(16, 128, 128, 1, 2).threads == 2);
  CHECK(choose(16, 128, 128, 1, 1).threads == 1);
  CHECK(choose(512, 512, 512, 1, 8).threads == 8);
  CHECK(choose(64, 64, 64, 96, 8).threads == 8);
  // One block cannot be shared.
  CHECK(choose(1, 16, 4096, 1, 8).threads == 1);
  CHECK(choose(1, 16, 4096, 1, 8).tickets == 1);
  std::mt19937_64 random(dyn::testing::test_seed(5));
  for (int i = 0; i < 300; ++i) {
    const dyn::choice::Machine any = dyn::testing::random_machine(random, 8);
    const auto shape = dyn::testing::random_contraction(random, any);
    if (shape.batch * shape.m * shape.n * shape.k == 0) continue;
    for (const int threads : {1, 2, 8}) {
      const bool epilogue = random() % 2 == 0;
      const VendorChoice choice = choose_vendor_threads(any, figures, shape, threads, epilogue);
      double least = 1e30;
      for (const int count : {1, threads}) {
        const std::int64_t tickets =
            shape.batch *
            cut_blocks({shape.batch, shape.m, shape.n, shape.k}, any.panel, count).count();
        const double seconds = vendor_seconds(any, figures, shape, count, tickets, epilogue);
        if (count == choice.threads) {
          CHECK(choice.seconds == seconds);
          CHECK(choice.tickets == tickets);
        }
        least = std::min(least, seconds);
      }
      CHECK(choice.seconds == least);
    }
  }
}

TEST_CASE("launches of the vendor's primitives run on the threads that were chosen") {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  std::mt19937_64 random(dyn::testing::test_seed(6));
  // At meaningless rates every problem is worth a second thread, or none is.
  for (const auto& [figures, threads] : {std::pair(slow, 2), std::pair(fast, 1)}) {
    const Vendor vendor = vendor_for("threads_chosen", figures, false);
    if (!vendor.library) return;
    const auto context =
        testing::policy_context(isa, *store,
                                {.threads = 2,
                                 .policy = Policy::Vendor,
                                 .library = std::make_shared<const OneDnnLibrary>(vendor)});
    for (const Case& c : {Case{.m = 48, .n = 96, .k = 20},
                          Case{.m = 48, .n = 96, .k = 20, .packed = false, .bias = true}}) {
      const Planned planned = testing::plan_case(c, context, *store, random, 2);
      CHECK(planned.error <= 1);
      REQUIRE(is_vendors(planned.launch));
      CHECK(planned.launch.threads == threads);
      CHECK(planned.launch.tickets >= threads);
      CHECK(planned.launch.predicted_seconds ==
            *planned.choices.candidates.at(0).predicted_seconds);
    }
  }
}

TEST_CASE("dyn keeps its own program where the vendor's is expected to be slower, and says so") {
  const Vendor vendor = vendor_for("not_chosen", slow, true);
  if (!vendor.library) return;
  for_each_plan(vendor, false, [](const Planned& planned) {
    CHECK_FALSE(is_vendors(planned.launch));
    CHECK(vendors_candidates(planned) == 1);
    CHECK_FALSE(is_vendors(planned.choices.candidates.at(planned.choices.chosen).launch));
    CHECK(mentions_vendor(planned));
    CHECK(planned.explained.rfind("chosen") > planned.explained.find("oneDNN"));
  });
}

TEST_CASE(
    "dyn never takes the vendor's program unasked, or where results are to be the same "
    "everywhere") {
  if (!vendor_for("unasked", fast, false).library) return;
  for (const bool deterministic : {false, true}) {
    for_each_plan(vendor_for("unasked", fast, deterministic), deterministic,
                  [](const Planned& planned) {
                    CHECK_FALSE(is_vendors(planned.launch));
                    CHECK(vendors_candidates(planned) == 0);
                    CHECK_FALSE(mentions_vendor(planned));
                  });
  }
}

TEST_CASE("without the library dyn runs its own program, and says why") {
  for_each_plan({.library = nullptr,
                 .why_not = "is not installed: nowhere",
                 .figures = fast,
                 .beside_dyn = true},
                false, [](const Planned& planned) {
                  CHECK_FALSE(is_vendors(planned.launch));
                  CHECK(vendors_candidates(planned) == 0);
                  CHECK(planned.explained.find("is not installed: nowhere") != std::string::npos);
                });
}

TEST_CASE("measured figures of the vendor are those of a CPU") {
  const Vendor vendor = vendor_for("figures", fast, true);
  if (!vendor.library) return;
  const VendorFigures figures = measure_vendor(vendor.library, select_isa(""));
  for (const VendorRate& rate : {figures.fresh, figures.packed}) {
    CHECK(rate.flops_per_second > 1e8);
    CHECK(rate.flops_per_second < 1e13);
    CHECK(rate.seconds_per_execution > 0);
    CHECK(rate.seconds_per_execution < 1);
  }
}

TEST_CASE(
    "the vendor's figures are kept for a machine and a version of the library, and believed for no "
    "other") {
  const dyn::testing::TemporaryFolder directory;
  const Isa& isa = select_isa("");
  int measured = 0;
  const VendorFigures made{{3e9, 2e-6}, {4e9, 1e-6}};
  const auto measure = [&] {
    ++measured;
    return made;
  };
  const auto path = [&](const std::string& version) {
    return directory.path() / vendor_figures_file(isa, version);
  };
  const auto figures_of = [&](const std::string& version) {
    return vendor_figures(isa, version, directory.string(), measure);
  };
  figures_of("oneDNN 9.0.0");
  figures_of("oneDNN 9.0.0");  // the process remembers it
  CHECK(measured == 1);
  REQUIRE(std::filesystem::exists(path("oneDNN 9.0.0")));
  std::ostringstream written;
  written << std::ifstream(path("oneDNN 9.0.0")).rdbuf();
  // Writes a file that is `about` a version under the name of `version`, with one more change, and
  // returns how often that version is measured.
  const auto measurements = [&](const std::string& version, const std::string& about,
                                const std::string& from, const std::string& to) {
    std::string text = written.str();
    text.replace(text.find("oneDNN 9.0.0"), about.size(), about);
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path(version)) << text;
    const int before = measured;
    const VendorFigures figures = figures_of(version);
    CHECK(figures.fresh.flops_per_second == made.fresh.flops_per_second);
    CHECK(figures.packed.seconds_per_execution == made.packed.seconds_per_execution);
    return measured - before;
  };
  const std::string name = "\"name\": \"" + cpu_name() + "\"";
  CHECK(measurements("oneDNN 9.0.1", "oneDNN 9.0.1", name, name) ==
        0);  // as if a process before had measured it
  CHECK(measurements("oneDNN 9.0.2", "oneDNN 9.0.0", name, name) == 1);
  CHECK(measurements("oneDNN 9.0.3", "oneDNN 9.0.3", name, "\"name\": \"another machine\"") == 1);
  CHECK(measurements("oneDNN 9.0.4", "oneDNN 9.0.4", "\"packed\"", "\"pack\"") == 1);
}
