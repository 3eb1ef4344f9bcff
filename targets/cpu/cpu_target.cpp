#include "targets/cpu/cpu_target.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/choice/cpu/tuned_pools.hpp"
#include "src/choice/policies/shared/cpu_blocks.hpp"
#include "targets/cpu/drafts.hpp"
#include "targets/cpu/measure/buffer.hpp"
#include "targets/cpu/measure/matrix_check.hpp"
#include "targets/cpu/measure/measure.hpp"
#include "targets/cpu/measure/vendor_figures.hpp"
#include "targets/cpu/move/computed_factor.hpp"
#include "targets/cpu/move/pack.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/group_instructions.hpp"
#include "targets/cpu/vendor/provider.hpp"
#include "targets/cpu/x86/cpu_info.hpp"
#include "targets/llvm/jit/code_stamp.hpp"

namespace dyn::cpu {
namespace {

class CpuTarget final : public rkernel::Target {
 public:
  explicit CpuTarget(const TargetOptions& options)
      : options_(options),
        isa_(isa_of(options)),
        store_(codegen::CodeStore::open(isa_, {.cache_dir = options.cache_dir,
                                               .perf_map = options.perf_map,
                                               .debugger = options.debugger,
                                               .dump = options.dump})) {
    if (!store_->problem().empty()) warn(store_->problem());
    if (options.tuning) rkernel::require_same_machine(*options.tuning, name(), cpu_name());
    if (!codegen::can_widen(isa_, options.weights.weights)) {
      throw Error(ErrorKind::unsupported,
                  fmt::format("instruction set '{}' cannot convert {} weights to f32; use avx2 or "
                              "avx512, or precision bf16",
                              isa_.name, options.weights.name()));
    }
  }

  std::string name() const override { return "cpu/" + isa_.name; }

  bool fuses_attention() const override { return true; }
  std::vector<DType> key_dtypes() const override { return codegen::widened_dtypes(isa_); }
  graph::FuseOptions fuse_options() const override {
    const rkernel::Factors& weights = options_.weights;
    const bool has_scales = weights.weights == DType::i8 || weights.coded();
    return {.place_parts = true,
            .gated_columns = has_scales ? 0 : isa_.panel_f32,
            .prologue_columns = columns_of_prologue,
            .image_channels = isa_.f32_lanes,
            .columns_apart = true,
            .share_inputs = true};
  }
  /// Weights of i8 are multiplied by their scales, in f32.
  bool multiplies_bfloats() const override {
    return cpu::multiplies_bfloats(isa_) && options_.weights.weights != DType::i8;
  }
  bool codes_weights() const override { return options_.weights.coded(); }
  std::span<const int> code_blocks() const override { return rkernel::coding_blocks; }
  DType products() const override {
    return options_.precision == DType::bf16 && !multiplies_bfloats() ? DType::f32
                                                                      : options_.precision;
  }
  DType integer_factor() const override { return widest_integer_factor(isa_); }

  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    rkernel::CompileReport report;
    if (isa_.rounds_bfloats) narrow_tensors(problems, buffers);
    choose_forms(problems, buffers.constant, isa_, options_.weights);
    const bool contracts = std::any_of(problems.begin(), problems.end(), [](const auto& problem) {
      return problem.contraction || problem.attention;
    });
    if (!machine_) {
      machine_ = std::make_shared<const choice::Machine>(machine_figures(
          isa_, options_.threads, [&] { return main_loops({}, report); }, *store_,
          options_.cache_dir, report));
    }
    if (contracts && !context_) context_ = make_context(problems, report);
    KernelDrafts drafts(problems, {isa_, machine_, context_, attention_choices_,
                                   machine_->level_of(packed_bytes(problems))});
    const std::vector<void*> addresses = resolve(marked(drafts.sources()), report);
    compiled_ += report.compiled;
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels = std::move(drafts).with_code(addresses);
    for (const std::string& warning : report.warnings) warn(warning);
    return {std::move(problems), std::move(kernels), report};
  }

  std::int64_t functions_compiled() const override { return compiled_; }

  std::int64_t panel_width(DType) const override { return isa_.panel_f32; }

  std::int64_t packed_rows(DType dtype, std::int64_t k, std::int64_t n) const override {
    return cpu::packed_rows(isa_, dtype, k, n);
  }

  std::string packing() const override { return name() + " " + codegen::code_stamp(); }

  void pack(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& source,
            std::int64_t first_panel, std::int64_t last_panel, void* destination) const override {
    pack_panels(layout, source, first_panel, last_panel, destination);
  }

  void pack_codes(const rkernel::PackedLayout& layout, const rkernel::CodedColumns& columns,
                  std::int64_t first_panel, std::int64_t last_panel,
                  void* destination) const override {
    pack_coded_panels(layout, columns, first_panel, last_panel, destination);
  }

 private:
  static const codegen::Isa& isa_of(const TargetOptions& options) {
    const codegen::Isa& plain = codegen::select_isa(options.isa);
    const codegen::Isa& isa = has_sound_matrices(plain) ? codegen::with_matrices(plain) : plain;
    const bool rounds = options.precision == DType::bf16 && cpu::multiplies_bfloats(isa);
    return rounds ? codegen::with_rounding(isa) : isa;
  }

  /// Code that rounds to bf16 by the instruction is other code.
  std::vector<codegen::KernelSource> marked(std::span<const codegen::KernelSource> sources) const {
    std::vector<codegen::KernelSource> all(sources.begin(), sources.end());
    if (!isa_.rounds_bfloats) return all;
    for (codegen::KernelSource& source : all)
      if (source.key.find(name_of(DType::bf16)) != std::string::npos)
        source.key += "; rounds by instruction";
    return all;
  }

  void warn(const std::string& message) const {
    if (options_.log) options_.log(LogLevel::warning, message);
  }

  std::int64_t packed_bytes(const std::vector<rkernel::Problem>& problems) const {
    std::set<graph::ValueId> counted;
    std::int64_t bytes = 0;
    for (const rkernel::Problem& problem : problems) {
      if (!problem.contraction) continue;
      for (const int right_side : problem.contraction->right_sides()) {
        const rkernel::Operand& b = problem.operands[static_cast<std::size_t>(right_side)];
        if (b.form == rkernel::Form::Packed && counted.insert(b.buffer).second)
          bytes += packed_bytes(problem, b);
      }
    }
    return bytes;
  }

  std::int64_t packed_bytes(const rkernel::Problem& problem, const rkernel::Operand& b) const {
    const auto extent = [&](int axis) {
      return problem.axes[static_cast<std::size_t>(axis)].extent.constant().value_or(0);
    };
    const rkernel::Group group = problem.contraction->group;
    return rkernel::PackedLayout{.dtype = b.dtype,
                                 .panel = isa_.panel_f32,
                                 .k = extent(problem.contraction->k) * rkernel::elements_of(group),
                                 .n = extent(problem.contraction->n),
                                 .group = group,
                                 .coding = b.coding}
        .bytes();
  }

  /// Its sums depend on the library's version: not where they must not change.
  bool uses_vendor() const {
    return !options_.deterministic &&
           (options_.vendor || options_.policy == rkernel::Policy::Vendor ||
            options_.policy == rkernel::Policy::Oracle);
  }

  std::shared_ptr<const ContractionContext> make_context(
      const std::vector<rkernel::Problem>& problems, rkernel::CompileReport& report) {
    choice::Machine machine = *machine_;
    ContractionLoops loops{main_loops({}, report), dot_loops(problems, report)};
    for (const rkernel::Factors& factors : multiplied_factors(problems)) {
      if (factors == rkernel::Factors()) continue;
      const MainLoopTable& narrow = loops.narrow[factors] = main_loops(factors, report);
      machine.narrow_tiles[factors] =
          tile_figures(isa_, factors, [&] { return narrow; }, options_.cache_dir, report);
    }
    ContractionSettings settings{.deterministic = options_.deterministic,
                                 .policy = options_.policy,
                                 .tuning = options_.tuning};
    for (const rkernel::Policy policy : measured_policies(options_.policy)) {
      std::vector<choice::TunedKernels> tuned;
      if (options_.tuning) tuned = choice::tuned_kernels(*machine_, *options_.tuning, policy);
      // Its own blocks are timed when operands come for which the tuner has none.
      if (tuned.empty())
        settings.figures.speeds[policy] = own_figures(policy, loops.f32, report);
      else
        settings.figures.tuned[policy] = std::move(tuned);
    }
    settings.figures.measure = [this, loops = loops.f32](rkernel::Policy policy) {
      rkernel::CompileReport later;
      std::vector<BlockSpeed> speeds = own_figures(policy, loops, later);
      for (const std::string& warning : later.warnings) warn(warning);
      return speeds;
    };
    if (uses_vendor()) settings.library = open_vendor(report);
    return std::make_shared<const ContractionContext>(isa_, std::move(machine), loops,
                                                      std::move(settings));
  }

  /// The policy's own blocks, timed here.
  std::vector<BlockSpeed> own_figures(rkernel::Policy policy, const MainLoopTable& loops,
                                      rkernel::CompileReport& report) const {
    return block_figures(
        isa_, *machine_, name_of(policy), choice::cpu_blocks(policy, *machine_),
        [&] { return loops; }, options_.cache_dir, report);
  }

  std::shared_ptr<const ContractionLibrary> open_vendor(rkernel::CompileReport& report) const {
    Vendor made;
    made.library = vendor::OneDnn::of_process(made.why_not);
    made.beside_dyn = options_.vendor;
    if (!made.library) return std::make_shared<const OneDnnLibrary>(std::move(made));
    const auto measure = [&] {
      const double start = now_seconds();
      const VendorFigures figures = measure_vendor(made.library, isa_);
      report.measure_seconds += now_seconds() - start;
      return figures;
    };
    try {
      made.figures = vendor_figures(isa_, made.library->version(), options_.cache_dir, measure);
    } catch (const vendor::Unsupported& error) {
      made.why_not = error.what();
      made.library = nullptr;
    }
    return std::make_shared<const OneDnnLibrary>(std::move(made));
  }

  std::set<rkernel::Factors> multiplied_factors(
      const std::vector<rkernel::Problem>& problems) const {
    std::set<rkernel::Factors> all;
    for (const rkernel::Problem& problem : problems) {
      const rkernel::Group group = rkernel::group_of(problem);
      if (problem.attention) {
        all.emplace(problem.operands[static_cast<std::size_t>(problem.attention->v)].dtype);
        if (isa_.rounds_bfloats) all.emplace(rkernel::Group::Bfloats);
      }
      if (problem.contraction && group != rkernel::Group::None)
        all.emplace(rkernel::factors_of(problem));
      for (const rkernel::Operand& operand : problem.operands) {
        if (operand.form != rkernel::Form::Packed) continue;
        all.insert(operand.coding                  ? rkernel::Factors(operand.coding, group)
                   : group != rkernel::Group::None ? rkernel::Factors(group)
                                                   : rkernel::Factors(operand.dtype));
      }
    }
    return all;
  }

  /// Functions that stay in memory as long as the target, which its kernels need.
  std::vector<void*> resolve(std::span<const codegen::KernelSource> sources,
                             rkernel::CompileReport& report) {
    codegen::LinkedCode code = store_->resolve(sources, options_.threads, report);
    code_.insert(code_.end(), code.keep.begin(), code.keep.end());
    return std::move(code.addresses);
  }

  MainLoopTable main_loops(const rkernel::Factors& factors, rkernel::CompileReport& report) {
    return main_loop_table(main_loop_tiles(isa_),
                           resolve(main_loop_sources(isa_, factors), report));
  }

  MainLoopTable dot_loops(const std::vector<rkernel::Problem>& problems,
                          rkernel::CompileReport& report) {
    const bool thin =
        std::any_of(problems.begin(), problems.end(), [&](const rkernel::Problem& problem) {
          return problem.contraction &&
                 (has_dot_form(problem, isa_) || may_have_rest(problem, isa_) ||
                  has_rest_as_rows(problem, isa_));
        });
    if (!thin) return {};
    return main_loop_table(dot_tiles(isa_), resolve(dot_loop_sources(isa_), report));
  }

  TargetOptions options_;
  const codegen::Isa& isa_;
  std::shared_ptr<codegen::CodeStore> store_;
  std::vector<std::shared_ptr<const void>> code_;
  std::shared_ptr<const choice::Machine> machine_;
  std::shared_ptr<const ContractionContext> context_;
  std::shared_ptr<const AttentionChoices> attention_choices_ =
      std::make_shared<const AttentionChoices>();
  std::atomic<std::int64_t> compiled_{0};
};

}  // namespace

std::unique_ptr<rkernel::Target> make_cpu_target(const TargetOptions& options) {
  return std::make_unique<CpuTarget>(options);
}

}  // namespace dyn::cpu
