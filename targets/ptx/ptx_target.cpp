#include "targets/ptx/ptx_target.hpp"

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "dyn/error.hpp"
#include "targets/ptx/contraction/kernel.hpp"
#include "targets/ptx/emulator/emulator.hpp"
#include "targets/ptx/loop/kernel.hpp"
#include "targets/ptx/narrowing.hpp"

namespace dyn::ptx {
namespace {

// A kernel of either kind.
struct PreparedKernel {
  std::unique_ptr<rkernel::Kernel> kernel;  ///< nullptr: no kernel of this target
  std::function<std::vector<codegen::KernelSource>()> sources;
  std::function<void(std::vector<const void*>)> bind;
};

template <class Own>
PreparedKernel prepared(std::unique_ptr<Own> kernel) {
  if (!kernel) return {};
  PreparedKernel result;
  result.sources = [own = kernel.get()] { return own->sources(); };
  result.bind = [own = kernel.get()](std::vector<const void*> functions) {
    own->bind(std::move(functions));
  };
  result.kernel = std::move(kernel);
  return result;
}

bool touches_state(const rkernel::Problem& problem, const rkernel::BufferFacts& buffers) {
  return buffers.state && std::any_of(problem.operands.begin(), problem.operands.end(),
                                      [&](const rkernel::Operand& operand) {
                                        return buffers.state(operand.buffer);
                                      });
}

class PtxTarget final : public rkernel::Target {
 public:
  explicit PtxTarget(const TargetOptions& options)
      : options_(options),
        tiles_(choice::gpu_tiles(options.machine, options.precision, options.allow_tf32)),
        pairs_(choice::gpu_pairs(options.machine, tiles_)) {
    const bool emulated = std::dynamic_pointer_cast<Emulator>(options.device) != nullptr;
    name_ = (emulated ? "emulator/" : "cuda/") + options.machine.name;
  }

  std::string name() const override { return name_; }
  std::shared_ptr<rkernel::Device> device() const override { return options_.device; }
  std::int64_t functions_compiled() const override { return compiled_; }

  rkernel::Prepared prepare(std::vector<rkernel::Problem> problems,
                            const rkernel::BufferFacts& buffers) override {
    rkernel::CompileReport report;
    std::vector<bool> own;
    for (const rkernel::Problem& problem : problems)
      own.push_back(!touches_state(problem, buffers) && make(problem).kernel != nullptr);
    narrow_buffers(problems, own, buffers, options_.precision);
    std::vector<PreparedKernel> all;
    for (std::size_t i = 0; i < problems.size(); ++i) {
      all.push_back(own[i] ? make(problems[i]) : PreparedKernel{});
      if (own[i] && !all.back().kernel) {
        throw Error(ErrorKind::internal, "the kernel of " + problems[i].name +
                                             " does not exist in " +
                                             std::string(name_of(options_.precision)));
      }
    }
    load(all, report);
    std::vector<std::unique_ptr<rkernel::Kernel>> kernels;
    for (PreparedKernel& one : all) kernels.push_back(std::move(one.kernel));
    return {std::move(problems), std::move(kernels), report};
  }

  std::int64_t panel_width(DType) const override { return 1; }
  void pack(const rkernel::PackedLayout&, const float*, std::int64_t, std::int64_t, std::int64_t,
            std::int64_t, void*) const override {
    throw Error(ErrorKind::internal,
                name_ + " packs no operands: its kernels read them as they lie");
  }

 private:
  PreparedKernel make(const rkernel::Problem& problem) const {
    if (problem.host) return {};
    if (problem.contraction)
      return prepared(ContractionKernel::create(problem, options_.machine, options_.precision,
                                                tiles_, name_, options_.policy, pairs_));
    return prepared(LoopKernel::create(problem, options_.machine, name_));
  }

  // Lists each distinct source once: problems of one structure share their code.
  void load(const std::vector<PreparedKernel>& all, rkernel::CompileReport& report) {
    std::vector<codegen::KernelSource> distinct;
    std::unordered_map<std::string, std::size_t> index_of;
    std::vector<std::vector<std::size_t>> indices(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].kernel) continue;
      for (codegen::KernelSource& source : all[i].sources()) {
        const auto [found, added] = index_of.emplace(source.key, distinct.size());
        indices[i].push_back(found->second);
        if (added) distinct.push_back(std::move(source));
      }
    }
    if (!options_.device) {
      report.kernels += static_cast<int>(distinct.size());
      return;
    }
    const int before = report.compiled;
    const std::vector<const void*> handles =
        options_.device->load(distinct, options_.threads, report);
    compiled_ += report.compiled - before;
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::vector<const void*> functions;
      for (const std::size_t index : indices[i]) functions.push_back(handles.at(index));
      if (all[i].kernel) all[i].bind(std::move(functions));
    }
  }

  TargetOptions options_;
  std::vector<choice::GpuTile> tiles_;  ///< candidates of every contraction
  std::vector<choice::GpuPair> pairs_;  ///< pairs that one launch can run
  std::string name_;
  std::atomic<std::int64_t> compiled_{0};
};

}  // namespace

std::unique_ptr<rkernel::Target> make_ptx_target(const TargetOptions& options) {
  return std::make_unique<PtxTarget>(options);
}

}  // namespace dyn::ptx
