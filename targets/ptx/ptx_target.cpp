#include "targets/ptx/ptx_target.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <variant>

#include "dyn/error.hpp"
#include "src/rkernel/target/narrowing.hpp"
#include "targets/ptx/attention/kernel.hpp"
#include "targets/ptx/attention/manifest.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/function/kernel.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "targets/ptx/measure/device_clock.hpp"

namespace dyn::ptx {
namespace {

/// A kernel of any kind, or none of this target.
using Draft = std::variant<std::monostate, ContractionKernel::Draft, GpuAttentionKernel::Draft,
                           FunctionKernel::Draft, LoopKernel::Draft>;

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
  }

  std::string name() const override { return name_; }
  bool fuses_attention() const override { return true; }
  std::int64_t most_attention_depth() const override { return ptx::most_attention_depth; }
  DType integer_factor() const override { return byte_tiles_.empty() ? DType::f32 : DType::u8; }
  std::shared_ptr<rkernel::Device> device() const override { return options_.device; }
  std::int64_t functions_compiled() const override { return compiled_; }

  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    rkernel::CompileReport report;
    if (options_.measures && std::ranges::any_of(problems, [](const rkernel::Problem& problem) {
          return problem.contraction.has_value();
        }))
      std::call_once(measured_, [&] { measure(); });
    std::vector<bool> own;
    for (const rkernel::Problem& problem : problems) own.push_back(!is_none(draft_of(problem)));
    rkernel::narrow_buffers(
        problems, [&](std::size_t problem, int) { return own[problem] && !problems[problem].host; },
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
    return {std::move(problems), with_code(std::move(drafts), report), report};
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
    const auto warn = [&](const std::string& text) {
      if (options_.log) options_.log(LogLevel::warning, text);
    };
    try {
      const auto clock = make_device_clock(*options_.device, options_.precision);
      auto times = stage_times(options_.machine, tiles_, options_.device->identity(),
                               options_.cache_dir, *clock, warn);
      if (times)
        contraction_machine_ = choice::with_stage_times(options_.machine, *std::move(times));
      else
        warn("the clock of " + options_.device->name() + " gives no times; tiles stay predicted");
    } catch (const Error& error) {
      warn("timing tiles on " + options_.device->name() + ": " + error.message());
    }
  }

  Draft draft_of(const rkernel::Problem& problem) const {
    const auto made = [](auto draft) { return draft ? Draft(*std::move(draft)) : Draft(); };
    if (problem.recurrence) return {};
    if (problem.host) return made(FunctionKernel::draft(problem, options_.machine, name_));
    if (problem.contraction && multiplies_bytes(problem))
      return made(ContractionKernel::draft(problem, contraction_machine_, DType::i8, byte_tiles_,
                                           name_, options_.policy));
    if (problem.contraction)
      return made(ContractionKernel::draft(problem, contraction_machine_, options_.precision,
                                           tiles_, name_, options_.policy, pairs_));
    if (problem.attention)
      return made(GpuAttentionKernel::draft(problem, options_.machine, options_.precision,
                                            options_.allow_tf32, name_));
    return made(LoopKernel::draft(problem, options_.machine, name_));
  }

  /// Loads each distinct source once: problems of one structure share their code. Without a device
  /// the functions are nullptr.
  std::vector<std::unique_ptr<rkernel::Kernel>> with_code(std::vector<Draft> drafts,
                                                          rkernel::CompileReport& report) {
    std::vector<codegen::KernelSource> distinct;
    std::unordered_map<std::string, std::size_t> index_of;
    std::vector<std::vector<std::size_t>> indices(drafts.size());
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      for (codegen::KernelSource& source : sources_of(drafts[i])) {
        const auto [found, added] = index_of.emplace(source.key, distinct.size());
        indices[i].push_back(found->second);
        if (added) distinct.push_back(std::move(source));
      }
    }
    const std::vector<const void*> handles = load(distinct, report);
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      std::vector<const void*> functions;
      for (const std::size_t index : indices[i]) functions.push_back(handles.at(index));
      kernels.push_back(finished(std::move(drafts[i]), std::move(functions)));
    }
    return kernels;
  }

  std::vector<const void*> load(const std::vector<codegen::KernelSource>& sources,
                                rkernel::CompileReport& report) {
    if (!options_.device) {
      report.kernels += static_cast<int>(sources.size());
      return std::vector<const void*>(sources.size(), nullptr);
    }
    const int before = report.compiled;
    std::vector<const void*> handles = options_.device->load(sources, options_.threads, report);
    compiled_ += report.compiled - before;
    return handles;
  }

  TargetOptions options_;
  choice::GpuMachine contraction_machine_;   ///< with what was timed, once measured_ is set
  std::vector<choice::GpuTile> tiles_;       ///< candidates of every contraction
  std::vector<choice::GpuPair> pairs_;       ///< pairs that one launch can run
  std::vector<choice::GpuTile> byte_tiles_;  ///< of those of integers of 8 bits; never timed
  std::once_flag measured_;
  std::string name_;
  std::atomic<std::int64_t> compiled_{0};
};

}  // namespace

std::unique_ptr<rkernel::Target> make_ptx_target(const TargetOptions& options) {
  return std::make_unique<PtxTarget>(options);
}

}  // namespace dyn::ptx
