// Models on the GPU emulator, through the very path of a GPU, beside the reference.

#include <set>

#include "src/runtime/executables/planned_executable.hpp"
#include "src/runtime/load/fallback_target.hpp"
#include "src/runtime/load/target_factory.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "tests/support/seed.hpp"
#include "tests/unit/runtime/device/models.hpp"
#include "tests/unit/runtime/load/support.hpp"

using namespace dyn;
using namespace dyn::runtime;
using namespace dyn::testing;

namespace {

Options emulated(const std::string& precision = "f32") {
  Options options;
  options.device = "emulator";
  options.precision = precision;
  options.threads = 2;
  return options;
}

/// A target that only sees the problems of a mask, and has no kernel for the others.
class Masked final : public rkernel::Target {
 public:
  Masked(std::shared_ptr<rkernel::Target> target, std::uint64_t mask)
      : target_(std::move(target)), mask_(mask) {}

  std::string name() const override { return target_->name(); }
  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    std::vector<rkernel::Problem> own;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      if (takes(i)) own.push_back(problems[i]);
    }
    rkernel::Prepared made = target_->prepare(std::move(own), buffers);
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels(problems.size());
    for (std::size_t i = 0, next = 0; i < problems.size(); ++i) {
      if (!takes(i)) continue;
      problems[i] = std::move(made.problems[next]);
      kernels[i] = std::move(made.kernels[next++]);
    }
    return {std::move(problems), std::move(kernels), made.report};
  }
  std::vector<const void*> load(std::span<const void* const> functions) const override {
    return target_->load(functions);
  }
  std::shared_ptr<rkernel::Device> device() const override { return target_->device(); }
  std::int64_t panel_width(DType) const override { return 1; }
  void pack(const rkernel::PackedLayout&, const rkernel::MatrixElements&, std::int64_t,
            std::int64_t, void*) const override {}

 private:
  bool takes(std::size_t group) const { return (mask_ >> group & 1) != 0; }
  std::shared_ptr<rkernel::Target> target_;
  std::uint64_t mask_;
};

/// Groups of the mask on the emulator, the others on this CPU.
TargetFactory mixed(std::uint64_t mask) {
  return [mask](const Options& options, int threads, const Dump& dump) {
    return with_fallback(std::make_shared<Masked>(make_target(options, threads, dump), mask),
                         [threads, dump] { return make_target(Options(), threads, dump); });
  };
}

void check_model(const ModelPtr& model, const char* text, double tolerance,
                 const std::vector<std::map<std::string, std::int64_t>>& shapes) {
  std::mt19937 random(device_seed());
  CallState call(model), expected(load_reference(text));
  for (const auto& dims : shapes) {
    const std::vector<Tensor> inputs = random_inputs(*model, dims, random);
    set_inputs(call, inputs);
    set_inputs(expected, inputs);
    call.run();
    expected.run();
    CHECK(difference(*model, call, expected) <= tolerance);
  }
  const std::int64_t compiled = model->kernels_compiled_since_load();
  CHECK(compiled <= model->load_report().kernels);
  for (const auto& dims : shapes) model->plan_uncached(model->bind_dims(dims));
  CHECK(model->kernels_compiled_since_load() == compiled);
}

}  // namespace

TEST_CASE("groups on the emulator and on the CPU, mixed") {
  const ModelPtr all = load_model(attention_like, make_target, emulated());
  const std::uint64_t groups = (std::uint64_t{1} << all->problems().size()) - 1;
  for (const std::uint64_t mask :
       {std::uint64_t{0x55} & groups, std::uint64_t{0x2a} & groups, std::uint64_t{1}, groups - 1}) {
    CAPTURE(mask);
    check_model(load_model(attention_like, mixed(mask), emulated()), attention_like, 2e-4,
                {{{"B", 2}, {"S", 7}}, {{"B", 1}, {"S", 3}}});
  }
}

TEST_CASE("four threads on one model on the emulator") {
  CHECK(wrong_on_four_threads(load_model(chain, make_target, emulated()), chain, 4, 2e-4) == 0);
}

TEST_CASE("an index out of range on the emulator") {
  const ModelPtr model = load_model(attention_like, make_target, emulated());
  std::mt19937 random(1);
  std::vector<Tensor> inputs = random_inputs(*model, {{"B", 1}, {"S", 2}}, random);
  CallState call(model);
  set_inputs(call, inputs);
  call.set_input(0, Tensor::from<std::int64_t>({3, 7}, {1, 2}));
  check_error(ErrorKind::user, [&] { call.run(); }, "index is out of range");
  call.set_input(0, inputs[0]);
  call.run();
}

TEST_SUITE("full") {
  TEST_CASE("the emulator gives the results of the reference in every precision") {
    Sweep sweep(2);
    for (const auto& [precision, tolerance] : std::vector<std::pair<std::string, double>>{
             {"f32", 2e-4}, {"tf32", 2e-2}, {"f16", 2e-2}, {"bf16", 0.15}}) {
      if (!sweep.takes()) continue;
      CAPTURE(precision);
      const auto load = [&](const char* text) {
        return load_model(text, make_target, emulated(precision));
      };
      check_model(load(attention_like), attention_like, tolerance,
                  {{{"B", 2}, {"S", 7}},
                   {{"B", 1}, {"S", 1}},
                   {{"B", 0}, {"S", 5}},
                   {{"B", 3}, {"S", 16}}});
      check_model(load(joined), joined, tolerance, {{{"S", 5}}, {{"S", 0}}, {{"S", 16}}});
      check_model(load(chain), chain, tolerance, {{{"S", 33}}, {{"S", 1}}});
    }
  }

  TEST_CASE("what the emulator runs is the IR that a described GPU's PTX is made from") {
    Options described = emulated("bf16");
    described.device = "cuda";
    described.gpu = "a100";
    const ModelPtr listed = load_model(attention_like, make_target, described),
                   run = load_model(attention_like, make_target, emulated("bf16"));
    const auto emulator = std::dynamic_pointer_cast<ptx::Emulator>(
        dynamic_cast<const PlannedExecutable&>(run->executable()).device());
    REQUIRE(emulator);
    REQUIRE(listed->problems().size() == run->problems().size());
    for (std::size_t group = 0; group < run->problems().size(); ++group) {
      for (const std::int64_t length : {1, 7, 16}) {
        const PlanPtr plan = run->plan(run->bind_dims({{"B", 2}, {"S", length}}));
        std::set<std::string> hashes;
        for (const rkernel::CodeListing& listing :
             listed->kernel(group).listings_at({plan->symbols, listed->threads()}))
          hashes.insert(listing.hash);
        CAPTURE(run->problems()[group].name);
        CHECK(hashes.contains(emulator->module_hash_of(plan->device_functions[group])));
      }
    }
  }

  TEST_CASE("a described GPU: every group has code, the same for every length") {
    Options options;
    options.device = "cuda";
    options.precision = "bf16";
    for (const char* gpu : {"a100", "h200"}) {
      options.gpu = gpu;
      const ModelPtr model = load_model(attention_like, make_target, options);
      for (std::size_t group = 0; group < model->problems().size(); ++group) {
        const rkernel::Kernel& kernel = model->kernel(group);
        CHECK(kernel.space() == rkernel::Space::Device);
        for (const rkernel::CodeListing& listing : kernel.listings()) {
          CHECK(listing.text.find(".target sm_80") != std::string::npos);
          CHECK(listing.hash.size() == 16);
        }
      }
      CallState call(model);
      check_error(
          ErrorKind::user, [&] { call.run(); }, std::string("cuda/") + gpu, "only a description");
    }
  }
}
