#include "src/runtime/target_factory.hpp"

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/runtime/cache_dir.hpp"
#include "targets/cpu/cpu_target.hpp"

namespace dyn::runtime {

std::shared_ptr<rkernel::Target> make_target(const Options& options, int threads) {
  if (options.device != "cpu") {
    throw Error(ErrorKind::user, fmt::format("there is no device '{}'; this build has 'cpu' and 'reference'", options.device));
  }
  cpu::TargetOptions target;
  target.isa = options.isa;
  target.cache_dir = resolve_cache_dir(options.cache_dir);
  target.threads = threads;
  target.perf_map = options.perf_map;
  target.debugger = options.debugger;
  target.log = options.log;
  return cpu::make_cpu_target(target);
}

Options with_usable_device(Options options) {
  if (options.device != "cpu") return options;
  if (const std::string refusal = cpu::code_memory_refusal(); !refusal.empty()) {
    if (options.log) options.log(LogLevel::warning, refusal + "; running on the slow reference instead");
    options.device = "reference";
  }
  return options;
}

}  // namespace dyn::runtime
