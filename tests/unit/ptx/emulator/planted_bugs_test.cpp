// Bugs planted in real kernels: the emulator reports each one, or its result is wrong.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "targets/ptx/ir/device_module.hpp"
#include "tests/unit/ptx/contraction/matmul_data.hpp"
#include "tests/unit/ptx/emulator/planted_bugs.hpp"
#include "tests/unit/ptx/emulator/planted_bugs_kernels.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::Fault;

namespace {

std::string expectation(const PlantedBug& bug) {
  return bug.fault ? name_of(*bug.fault) : "wrong result";
}

/// One line for people: the result of the bug.
std::string line_of(const PlantedOutcome& outcome) {
  if (outcome.reports.empty()) return outcome.right ? "nothing noticed" : "wrong result";
  const ptx::FaultReport& report = outcome.reports.front();
  return fmt::format("{}: block {} thread {}: {}", name_of(report.fault), report.block,
                     report.thread, report.text.substr(0, 160));
}

bool is_expected(const PlantedBug& bug, const PlantedOutcome& outcome) {
  if (!bug.fault) return outcome.reports.empty() && !outcome.right;
  return !outcome.reports.empty() &&
         std::ranges::all_of(outcome.reports, [&](const ptx::FaultReport& report) {
           return report.fault == *bug.fault;
         });
}

/// The kernel with the bug in it. The edited module must still be a device module.
std::unique_ptr<llvm::Module> planted(const PlantedBug& bug, const llvm::Module& sound,
                                      llvm::LLVMContext& context) {
  auto module = ptx::parse_device_module(context, plant(bug, ptx::module_text(sound)));
  ptx::verify_device_module(*module);
  REQUIRE(ptx::module_hash(*module) != ptx::module_hash(sound));
  return module;
}

bool is_noticed(const PlantedBug& bug, const PlantedKernel& kernel) {
  llvm::LLVMContext context, edited;
  PlantedOutcome outcome;
  try {
    outcome = run(kernel, *planted(bug, *kernel.emit(context), edited));
  } catch (const std::exception& error) {
    FAIL_CHECK(bug.name << ": " << std::string(error.what()));
    return false;
  }
  const bool expected = is_expected(bug, outcome);
  std::printf("%s %s (%s): %s\n", expected ? "ok" : "failed", bug.name.c_str(), bug.breaks.c_str(),
              line_of(outcome).c_str());
  CHECK_MESSAGE(expected, bug.name << " must give: " << expectation(bug)
                                   << "; it gives: " << line_of(outcome));
  return expected;
}

const PlantedKernel* find_kernel(const std::vector<PlantedKernel>& kernels,
                                 const std::string& name) {
  const auto found = std::ranges::find(kernels, name, &PlantedKernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("kernels without a planted bug break no rule and are right") {
  for (const PlantedKernel& kernel : planted_kernels(ptx::testing::contraction_seed())) {
    llvm::LLVMContext context;
    const PlantedOutcome outcome = run(kernel, *kernel.emit(context));
    CHECK_MESSAGE((outcome.reports.empty() && outcome.right),
                  kernel.name << ": " << line_of(outcome));
  }
}

TEST_CASE("every planted bug is reported") {
  const std::vector<PlantedBug> bugs = planted_bugs();
  const std::vector<PlantedKernel> kernels = planted_kernels(ptx::testing::contraction_seed());
  std::size_t noticed = 0, faults = 0;
  std::set<Fault> kinds;
  for (const PlantedBug& bug : bugs) {
    const PlantedKernel* kernel = find_kernel(kernels, bug.kernel);
    REQUIRE_MESSAGE(kernel != nullptr, bug.name << ": no kernel is named \"" << bug.kernel << "\"");
    noticed += is_noticed(bug, *kernel);
    faults += bug.fault.has_value();
    if (bug.fault) kinds.insert(*bug.fault);
  }
  std::printf("note: %zu of %zu planted bugs reported, %zu of them as a fault of %zu kinds\n",
              noticed, bugs.size(), faults, kinds.size());
  CHECK(noticed == bugs.size());
  CHECK(bugs.size() >= 20);
  CHECK(faults >= 14);
  // A launch that does not fit the kernel is no bug of the kernel.
  CHECK(kinds.size() == static_cast<std::size_t>(Fault::BadLaunch));
}

TEST_CASE("an edit that finds nothing says so") {
  PlantedBug bug;
  bug.name = "name";
  bug.kernel = "kernel";
  bug.edits.push_back({{"^first"}, "", "second", "third", 1});
  CHECK(plant(bug, "first\nsecond\n") == "first\nthird\n");
  CHECK_THROWS_WITH(plant(bug, "second\nfirst\n"),
                    "name.mutant, edit 1: the kernel \"kernel\" is no longer what the edit was "
                    "written for: 0 lines match \"second\" where "
                    "occurrence 1 is to change");
  bug.edits[0].before = "^last";
  CHECK(plant(bug, "first\nsecond 1\nsecond 2\nlast\nsecond 3\n") ==
        "first\nsecond 1\nthird 2\nlast\nsecond 3\n");
  CHECK_THROWS_WITH_AS(plant(bug, "first\nsecond\n"),
                       doctest::Contains("no line below line 1 matches \"^last\""),
                       std::runtime_error);
}
