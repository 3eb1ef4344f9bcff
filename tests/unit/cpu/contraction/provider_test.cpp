// Who computes a contraction: a library beside dyn's own programs is taken by what it predicts.

#include <doctest/doctest.h>

#include <random>
#include <string>

#include "targets/cpu/vendor/cost.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "tests/unit/cpu/contraction/fixture.hpp"
#include "tests/unit/cpu/contraction/policy_context.hpp"

using namespace dyn::cpu;
using namespace dyn::codegen;
using dyn::rkernel::Choices;
using dyn::rkernel::KernelArgs;
using dyn::rkernel::Launch;
using dyn::rkernel::PlanRequest;
using dyn::rkernel::Policy;

namespace {

void compute_nothing(const KernelArgs*, std::int64_t, std::int64_t, void*) {}

/// What a library says.
struct Answer {
  double seconds = 0;
  std::string refuses_offer, refuses_launch;  ///< "": it does not
};

class FakeOffer final : public ContractionOffer {
 public:
  explicit FakeOffer(const Answer& answer) : answer_(answer) {}
  double seconds() const override { return answer_.seconds; }
  std::optional<Launch> launch(std::string& why_not) const override {
    why_not = answer_.refuses_launch;
    if (!why_not.empty()) return std::nullopt;
    Launch launch;
    launch.function = compute_nothing;
    launch.predicted_seconds = answer_.seconds;
    return launch;
  }

 private:
  const Answer& answer_;
};

class FakeProvider final : public ContractionProvider {
 public:
  explicit FakeProvider(const Answer& answer) : answer_(answer) {}
  std::unique_ptr<const ContractionOffer> offer(const ContractionRequest&,
                                                std::string& why_not) const override {
    why_not = answer_.refuses_offer;
    return why_not.empty() ? std::make_unique<const FakeOffer>(answer_) : nullptr;
  }
  Choices candidates(const ContractionRequest& request) const override {
    Choices result;
    const auto made = offer(request, result.none_reason);
    auto launch = made ? made->launch(result.none_reason) : std::nullopt;
    if (launch) result.candidates.push_back({"a library", made->seconds(), *std::move(launch)});
    return result;
  }

 private:
  const Answer& answer_;
};

class FakeLibrary final : public ContractionLibrary {
 public:
  FakeLibrary(const Answer& answer, bool beside_dyn) : answer_(answer), beside_dyn_(beside_dyn) {}
  bool is_there() const noexcept override { return true; }
  bool beside_dyn() const noexcept override { return beside_dyn_; }
  std::unique_ptr<const ContractionProvider> provider_for(const ContractionForms&) const override {
    return std::make_unique<const FakeProvider>(answer_);
  }

 private:
  const Answer& answer_;
  bool beside_dyn_;
};

/// A kernel beside a library whose answer may change.
class Beside {
 public:
  Beside(CodeStore& store, Policy policy, bool beside_dyn, bool deterministic = false)
      : built_(testing::build({.m = 50, .n = 70, .k = 130})),
        kernel_(testing::compiled(
            ContractionKernel::draft(
                built_.problem,
                testing::policy_context(
                    select_isa(""), store,
                    {.threads = 2,
                     .policy = policy,
                     .deterministic = deterministic,
                     .library = std::make_shared<const FakeLibrary>(answer, beside_dyn)}),
                2),
            store)) {}

  Answer answer;

  bool takes_library() const { return kernel_->plan(request()).function == compute_nothing; }
  double planned_seconds() const { return kernel_->plan(request()).predicted_seconds; }
  Choices choices(Policy policy) const { return kernel_->choices(request(), policy); }
  std::string explain() const { return kernel_->explain(request()); }

 private:
  PlanRequest request() const { return {built_.symbols, 2}; }

  testing::Built built_;
  std::unique_ptr<const ContractionKernel> kernel_;
};

}  // namespace

TEST_CASE("policy dyn takes a library whose prediction pays, unless it refuses") {
  const auto store = CodeStore::open(select_isa(""), {});
  Beside beside(*store, Policy::Dyn, true);
  beside.answer.refuses_offer = "it has nothing";
  const double own = beside.planned_seconds();
  CHECK_FALSE(beside.takes_library());
  CHECK(beside.explain().find("no program of the vendor's: it has nothing") != std::string::npos);
  for (const double share : {0.5, 0.96, 0.98, 1.0, 2.0}) {
    CAPTURE(share);
    beside.answer = {.seconds = share * own, .refuses_offer = {}, .refuses_launch = {}};
    const bool pays = vendor_pays(beside.answer.seconds, own);
    CHECK(beside.takes_library() == pays);
    const Choices choices = beside.choices(Policy::Dyn);
    CHECK(choices.candidates.back().program == "a library");
    CHECK((choices.chosen + 1 == choices.candidates.size()) == pays);
    CHECK((beside.explain().find("  chosen") < beside.explain().find("a library")) == pays);
    beside.answer.refuses_launch = "it turns out that it cannot";
    CHECK_FALSE(beside.takes_library());
    CHECK(beside.explain().find("no program of the vendor's: it turns out") != std::string::npos);
  }
}

TEST_CASE("policy vendor takes a library whatever it predicts, and dyn's own where it refuses") {
  const auto store = CodeStore::open(select_isa(""), {});
  Beside beside(*store, Policy::Vendor, false);
  beside.answer.seconds = 1e3;
  CHECK(beside.takes_library());
  CHECK(beside.choices(Policy::Vendor).candidates.size() == 1);
  CHECK(beside.explain().find("by policy vendor\n  chosen 1e+09 us: a library") !=
        std::string::npos);
  beside.answer.refuses_launch = "it cannot";
  CHECK_FALSE(beside.takes_library());
  CHECK(beside.choices(Policy::Vendor).none_reason == "it cannot");
  CHECK(beside.explain().find("policy vendor has none: it cannot") != std::string::npos);
}

TEST_CASE("a library that was not asked for, or whose sums may differ, is never taken") {
  const auto store = CodeStore::open(select_isa(""), {});
  for (const bool deterministic : {false, true}) {
    Beside beside(*store, Policy::Dyn, deterministic, deterministic);
    beside.answer.seconds = 1e-12;
    CHECK_FALSE(beside.takes_library());
    for (const auto& candidate : beside.choices(Policy::Dyn).candidates)
      CHECK(candidate.program != "a library");
    CHECK(beside.explain().find("a library") == std::string::npos);
  }
}

TEST_CASE("without a library its provider says that the policy uses none") {
  const auto store = CodeStore::open(select_isa(""), {});
  const testing::Built built = testing::build({.m = 50, .n = 70, .k = 130});
  const auto kernel =
      ContractionKernel::draft(built.problem, testing::context_for(select_isa(""), *store), 2)
          .without_code();
  const Choices choices = kernel->choices({built.symbols, 2}, Policy::Vendor);
  CHECK(choices.candidates.empty());
  CHECK(choices.none_reason == "this policy uses no vendor's library");
}
