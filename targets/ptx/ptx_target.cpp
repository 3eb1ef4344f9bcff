#include "targets/ptx/ptx_target.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <set>
#include <unordered_map>
#include <variant>

#include "dyn/error.hpp"
#include "src/rkernel/target/narrowing.hpp"
#include "targets/ptx/attention/kernel.hpp"
#include "targets/ptx/attention/manifest.hpp"
#include "targets/ptx/bundle/kernel.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/function/kernel.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "targets/ptx/measure/device_clock.hpp"
#include "targets/ptx/programs/prologue_worth.hpp"

namespace dyn::ptx {
namespace {

/// Right sides of one product: the columns of every tile are equal parts for so many.
constexpr std::size_t most_right_sides = 2;

/// A kernel of any kind, or none of this target.
using Draft = std::variant<std::monostate, ContractionKernel::Draft, GpuAttentionKernel::Draft,
                           FunctionKernel::Draft, LoopKernel::Draft, BundleKernel::Draft>;

bool is_none(const Draft& draft) { return std::holds_alternative<std::monostate>(draft); }

std::vector<codegen::KernelSource> sources_of(const Draft& draft) {
  const auto list = [](const auto& one) -> std::vector<codegen::KernelSource> {
    if constexpr (requires { one.sources(); })
      return one.sources();
    else
      return {};
  };
  return std::visit(list, draft);
}

/// nullptr of none.
std::unique_ptr<rkernel::Kernel> finished(Draft draft, std::vector<const void*> functions) {
  const auto finish = [&](auto&& one) -> std::unique_ptr<rkernel::Kernel> {
    if constexpr (requires { one.sources(); })
      return std::move(one).with_code(std::move(functions));
    else
      return nullptr;
  };
  return std::visit(finish, std::move(draft));
}

/// The code of one class: kernels plan with its address, and it is made when a plan needs it.
class LazyCode {
 public:
  /// `problem`: one of those that have it, for messages. The source may refer to a kernel, which
  /// must be there for as long as plans are made.
  LazyCode(codegen::KernelSource source, const std::string& problem) : source_(std::move(source)) {
    source_.problem = problem;
  }

  const codegen::KernelSource& source() const { return source_; }
  /// The device's handle; nullptr before set_function().
  const void* function() const { return function_.load(std::memory_order_acquire); }
  void set_function(const void* function) const {
    function_.store(function, std::memory_order_release);
  }

 private:
  codegen::KernelSource source_;
  mutable std::atomic<const void*> function_{nullptr};
};

class PtxTarget final : public rkernel::Target {
 public:
  explicit PtxTarget(const TargetOptions& options)
      : options_(options),
        contraction_machine_(options.machine),
        tiles_(choice::gpu_tiles(options.machine, options.precision, options.allow_tf32)),
        pairs_(choice::gpu_pairs(options.machine, tiles_)),
        byte_tiles_(choice::gpu_tiles(options.machine, DType::i8, false)) {
    const bool emulated = std::dynamic_pointer_cast<Emulator>(options.device) != nullptr;
    name_ = (emulated ? "emulator/" : "cuda/") + options.machine.name;
    if (options.tuning)
      rkernel::require_same_machine(*options.tuning, name_, options.machine.product);
  }

  std::string name() const override { return name_; }
  bool fuses_attention() const override { return true; }
  std::int64_t most_attention_depth() const override { return ptx::most_attention_depth; }
  DType integer_factor() const override { return byte_tiles_.empty() ? DType::f32 : DType::u8; }
  graph::FuseOptions fuse_options() const override {
    // What the device refuses goes to a host: its kernels have panels of at most so many columns.
    constexpr std::int64_t columns_on_host = 32;
    return {.gated_columns = columns_on_host,
            .most_gated_products = most_right_sides,
            .prologue_columns = columns_on_host,
            .prologue_pays =
                [machine = options_.machine, tiles = tiles_,
                 precision = options_.precision](const graph::PrologueWork& work) {
                  return prologue_is_worth(machine, tiles, precision, work);
                },
            .columns_apart = true,
            .share_inputs = true};
  }
  bool bundles(const rkernel::Problem& problem) const override {
    return is_worth_bundling(problem, options_.machine);
  }
  std::shared_ptr<rkernel::Device> device() const override { return options_.device; }
  std::int64_t functions_compiled() const override { return compiled_; }

  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    rkernel::CompileReport report;
    if (options_.measures && std::ranges::any_of(problems, [](const rkernel::Problem& problem) {
          return problem.contraction.has_value();
        }))
      std::call_once(measured_, [&] { measure(); });
    std::call_once(spaces_made_, [&] { make_spaces(); });
    std::vector<bool> own;
    for (const rkernel::Problem& problem : problems) own.push_back(!is_none(draft_of(problem)));
    rkernel::narrow_buffers(
        problems,
        [&](std::size_t problem, int) {
          return own[problem] && !problems[problem].host && !problems[problem].recurrence;
        },
        buffers, options_.precision);
    std::vector<Draft> drafts;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      drafts.push_back(own[i] ? draft_of(problems[i]) : Draft());
      if (own[i] && is_none(drafts.back())) {
        throw Error(ErrorKind::internal, "the kernel of " + problems[i].name +
                                             " does not exist in " +
                                             std::string(name_of(options_.precision)));
      }
    }
    for (const Draft& draft : drafts)
      if (const auto* bundle = std::get_if<BundleKernel::Draft>(&draft))
        report.kernels += static_cast<int>(bundle->kernel().part_classes());
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels = with_code(std::move(drafts), problems);
    report.kernels += static_cast<int>(classes_.back().size());
    return {std::move(problems), std::move(kernels), report};
  }

  std::vector<const void*> load(std::span<const void* const> functions) const override {
    std::vector<const LazyCode*> missing;
    for (const void* function : functions) {
      const auto* code = static_cast<const LazyCode*>(function);
      if (code != nullptr && options_.device && code->function() == nullptr &&
          std::ranges::find(missing, code) == missing.end())
        missing.push_back(code);
    }
    if (!missing.empty()) make(missing);
    std::vector<const void*> loaded;
    for (const void* function : functions)
      loaded.push_back(function == nullptr ? nullptr
                                           : static_cast<const LazyCode*>(function)->function());
    return loaded;
  }

  std::int64_t panel_width(DType) const override { return 1; }
  void pack(const rkernel::PackedLayout&, const rkernel::MatrixElements&, std::int64_t,
            std::int64_t, void*) const override {
    throw Error(ErrorKind::internal,
                name_ + " packs no operands: its kernels read them as they lie");
  }

 private:
  /// A device that fails here keeps its predictions: what is wrong with it shows at the first run.
  void measure() {
    try {
      const auto clock = make_device_clock(*options_.device, options_.precision);
      auto times =
          stage_times(options_.machine, tiles_, options_.device->identity(), options_.cache_dir,
                      *clock, [&](const std::string& text) { warn(text); });
      if (times)
        contraction_machine_ = choice::with_stage_times(options_.machine, *std::move(times));
      else
        warn("the clock of " + options_.device->name() + " gives no times; tiles stay predicted");
    } catch (const Error& error) {
      warn("timing tiles on " + options_.device->name() + ": " + error.message());
    }
  }

  using Spaces = std::shared_ptr<const choice::GpuPaperSpaces>;
  /// A space is only made when its policy is asked.
  void make_spaces() {
    const auto made = [&](const std::vector<choice::GpuTile>& tiles,
                          choice::GpuPaperSpaces::Tuned tuned) {
      return std::make_shared<const choice::GpuPaperSpaces>(
          contraction_machine_, choice::kinds_of(tiles), std::move(tuned));
    };
    spaces_ = made(tiles_, tuned_spaces());
    byte_spaces_ = made(byte_tiles_, {});
  }

  /// A file's tiles for the policies that are asked for; they multiply what the precision says.
  choice::GpuPaperSpaces::Tuned tuned_spaces() const {
    choice::GpuPaperSpaces::Tuned spaces;
    if (!options_.tuning) return spaces;
    for (const rkernel::TunedPool& pool : options_.tuning->pools) {
      if (options_.policy != rkernel::Policy::Oracle &&
          choice::space_policy(options_.policy) != pool.policy)
        continue;
      if (auto tuned = choice::tuned_tiles(options_.machine, choice::kinds_of(tiles_),
                                           *options_.tuning, pool.policy))
        spaces.emplace(pool.policy, *std::move(tuned));
    }
    return spaces;
  }

  TargetShares shares_of(const Spaces& spaces) const {
    return {spaces, code_on_demand(), searches_};
  }

  CodeOnDemand code_on_demand() const {
    return [this](codegen::KernelSource source) { return later(std::move(source)); };
  }

  /// Code that no prepare() has listed; plans of several threads may ask.
  const void* later(codegen::KernelSource source) const {
    const std::lock_guard lock(later_mutex_);
    const LazyCode*& known = later_by_key_[source.key];
    if (known == nullptr) {
      const std::string problem = source.problem;
      known = &later_.emplace_back(std::move(source), problem);
    }
    return known;
  }

  Draft draft_of(const rkernel::Problem& problem) const {
    const auto made = [](auto draft) { return draft ? Draft(*std::move(draft)) : Draft(); };
    if (problem.host || problem.recurrence)
      return made(FunctionKernel::draft(problem, options_.machine, name_));
    if (problem.contraction && multiplies_bytes(problem))
      return made(ContractionKernel::draft(problem, contraction_machine_, DType::i8, byte_tiles_,
                                           name_, options_.policy, {}, true, options_.tuning.get(),
                                           shares_of(byte_spaces_)));
    if (problem.contraction)
      return made(ContractionKernel::draft(problem, contraction_machine_, options_.precision,
                                           tiles_, name_, options_.policy, pairs_, true,
                                           options_.tuning.get(), shares_of(spaces_)));
    if (problem.attention)
      return made(GpuAttentionKernel::draft(problem, options_.machine, options_.precision,
                                            options_.allow_tf32, name_, options_.policy));
    if (!problem.parts.empty())
      return made(BundleKernel::draft(problem, options_.machine, name_, code_on_demand()));
    return made(LoopKernel::draft(problem, options_.machine, name_));
  }

  /// Problems of one structure share their code.
  std::vector<std::unique_ptr<rkernel::Kernel>> with_code(
      std::vector<Draft> drafts, const std::vector<rkernel::Problem>& problems) {
    std::deque<LazyCode>& classes = classes_.emplace_back();
    std::unordered_map<std::string, const LazyCode*> by_key;
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      std::vector<const void*> functions;
      for (codegen::KernelSource& source : sources_of(drafts[i])) {
        const LazyCode*& known = by_key[source.key];
        if (known == nullptr) known = &classes.emplace_back(std::move(source), problems[i].name);
        functions.push_back(known);
      }
      kernels.push_back(finished(std::move(drafts[i]), std::move(functions)));
    }
    return kernels;
  }

  /// The device makes each once, whoever else asks for it meanwhile.
  void make(const std::vector<const LazyCode*>& missing) const {
    std::vector<codegen::KernelSource> sources;
    for (const LazyCode* code : missing) sources.push_back(code->source());
    rkernel::CompileReport report;
    struct Count {
      std::atomic<std::int64_t>& compiled;
      const rkernel::CompileReport& report;
      ~Count() { compiled += report.compiled; }  // others may be made before one fails
    } const count{compiled_, report};
    const std::vector<const void*> functions =
        options_.device->load(sources, options_.threads, report);
    for (std::size_t i = 0; i < missing.size(); ++i) missing[i]->set_function(functions[i]);
    for (const std::string& warning : report.warnings) warn_once(warning);
  }

  /// Each new class may find the same wrong.
  void warn_once(const std::string& warning) const {
    {
      const std::lock_guard lock(warned_mutex_);
      if (!warned_.insert(warning).second) return;
    }
    warn(warning);
  }

  void warn(const std::string& text) const {
    if (options_.log) options_.log(LogLevel::warning, text);
  }

  TargetOptions options_;
  choice::GpuMachine contraction_machine_;   ///< with what was timed, once measured_ is set
  std::vector<choice::GpuTile> tiles_;       ///< candidates of every contraction
  std::vector<choice::GpuPair> pairs_;       ///< pairs that one launch can run
  std::vector<choice::GpuTile> byte_tiles_;  ///< of those of integers of 8 bits; never timed
  std::once_flag measured_, spaces_made_;
  Spaces spaces_, byte_spaces_;  ///< of tiles_, and of byte_tiles_
  std::shared_ptr<TileSearches> searches_ = std::make_shared<TileSearches>();
  mutable std::mutex later_mutex_;
  mutable std::deque<LazyCode> later_;  ///< they stay where they are
  mutable std::unordered_map<std::string, const LazyCode*> later_by_key_;
  std::string name_;
  mutable std::atomic<std::int64_t> compiled_{0};
  std::deque<std::deque<LazyCode>> classes_;  ///< of each prepare(); they stay where they are
  mutable std::mutex warned_mutex_;
  mutable std::set<std::string> warned_;
};

}  // namespace

std::unique_ptr<rkernel::Target> make_ptx_target(const TargetOptions& options) {
  return std::make_unique<PtxTarget>(options);
}

}  // namespace dyn::ptx
