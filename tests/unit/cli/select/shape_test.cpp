// dynrun select on one shape: programs of the CPU's, and a wrong one among them.

#include <doctest/doctest.h>

#include "dyn/error.hpp"
#include "src/cli/op/op_model.hpp"
#include "src/cli/select/shape_bench.hpp"
#include "src/runtime/load/target_factory.hpp"

using namespace dyn;
using namespace dyn::cli;
using rkernel::Policy;

namespace {

void compute_nothing(const rkernel::KernelArgs*, std::int64_t, std::int64_t, void*) {}

/// A kernel of the CPU's whose policy "vortex" also considers a program that computes nothing.
class LazyKernel final : public rkernel::Kernel {
 public:
  explicit LazyKernel(std::unique_ptr<rkernel::Kernel> sound) : sound_(std::move(sound)) {}
  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    return sound_->plan(request);
  }
  rkernel::Choices choices(const rkernel::PlanRequest& request, Policy policy) const override {
    if (policy == Policy::Dyn) return {{{"sound", 1e-6, plan(request)}}, 0, ""};
    if (policy != Policy::Vortex) return {{}, 0, "not asked"};
    rkernel::Choices choices{
        {{"sound again", 2e-6, plan(request)}, {"lazy", 1e-9, plan(request)}}, 0, ""};
    choices.candidates[1].launch.function = compute_nothing;
    choices.candidates[1].launch.merge = nullptr;
    return choices;
  }
  std::string explain(const rkernel::PlanRequest& request) const override {
    return sound_->explain(request);
  }
  std::string target_name() const override { return sound_->target_name(); }
  std::string describe() const override { return sound_->describe(); }

 private:
  std::unique_ptr<rkernel::Kernel> sound_;
};

class LazyTarget final : public rkernel::Target {
 public:
  explicit LazyTarget(std::shared_ptr<rkernel::Target> sound) : sound_(std::move(sound)) {}
  std::string name() const override { return sound_->name(); }
  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    rkernel::Prepared prepared = sound_->prepare(std::move(problems), buffers);
    for (auto& kernel : prepared.kernels) kernel = std::make_unique<LazyKernel>(std::move(kernel));
    return prepared;
  }
  std::int64_t panel_width(DType dtype) const override { return sound_->panel_width(dtype); }
  std::int64_t packed_rows(DType dtype, std::int64_t k, std::int64_t n) const override {
    return sound_->packed_rows(dtype, k, n);
  }
  void pack(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& source,
            std::int64_t first, std::int64_t last, void* destination) const override {
    sound_->pack(layout, source, first, last, destination);
  }

 private:
  std::shared_ptr<rkernel::Target> sound_;
};

OpCase case_of(std::int64_t m, const std::string& n, const std::string& k) {
  return {{"matmul", {}, {{false, DType::f32, {"M", k}}, {true, DType::f32, {k, n}}}},
          {{"M", m}},
          "",
          {"M"}};
}

ShapeRecord bench(const OpCase& test, const std::vector<Policy>& policies) {
  Options options;
  options.cache_dir = "none";
  options.threads = 1;
  const runtime::LoadRequest request{model_text(test.problem, 1), "op", ".", nullptr, {}};
  const auto model = runtime::Model::load(
      request, options, [](const Options& given, int threads, const Dump& dump) {
        return std::make_shared<LazyTarget>(runtime::make_target(given, threads, dump));
      });
  return bench_shape({policies, {2, 1e-5, 0}, true, 0}, model, test, {});
}

}  // namespace

TEST_CASE(
    "select: a program that several policies consider is one, and each has its own prediction") {
  const ShapeRecord record = bench(case_of(5, "40", "30"), {Policy::Oracle, Policy::Dyn});
  CHECK(record.shape == "M=5 threads=1");
  CHECK(record.programs == 1);
  REQUIRE(record.policies.size() == 2);
  CHECK(record.policies[0].policy == Policy::Oracle);
  CHECK(record.policies[0].program == "sound");
  CHECK_FALSE(record.policies[0].predicted_seconds);
  CHECK(record.policies[1].predicted_seconds == std::optional(1e-6));
  CHECK(record.policies[1].measured_seconds == record.oracle_seconds);
  CHECK(record.ratio(record.policies[1]) == std::optional(1.0));
  CHECK_FALSE(record.policies[1].choosing.fresh.empty());
  CHECK_FALSE(record.policies[1].choosing.remembered.empty());
}

TEST_CASE("select: a program with a wrong result ends the comparison, with its words") {
  CHECK_THROWS_WITH_AS(bench(case_of(5, "40", "30"), {Policy::Dyn, Policy::Vortex}),
                       doctest::Contains("\"lazy\""), Error);
  CHECK_THROWS_WITH_AS(bench(case_of(5, "40", "30"), {Policy::Dyn, Policy::Vortex}),
                       doctest::Contains("matmul M=5: element "), Error);
}

TEST_CASE("select: nothing to compute, no program, and no policy that has one") {
  const ShapeRecord empty =
      bench(case_of(0, "40", "30"), {Policy::Dyn, Policy::Vortex, Policy::Oracle});
  for (const PolicyRecord& policy : empty.policies) {
    CHECK(policy.program == "none: there is nothing to compute");
    CHECK(policy.candidates == 0);
    CHECK_FALSE(policy.measured_seconds);
  }
  const ShapeRecord none = bench(case_of(3, "40", "30"), {Policy::FTuner, Policy::Oracle});
  CHECK(none.policies[0].program == "none: not asked");
  CHECK(none.policies[1].program == "none: it considers no program");
  CHECK_FALSE(none.oracle_seconds);
  CHECK(bench(case_of(1, "1", "1"), {Policy::Dyn}).policies[0].measured_seconds);
  CHECK(bench(case_of(3, "4", "0"), {Policy::Dyn}).policies.size() == 1);
}
