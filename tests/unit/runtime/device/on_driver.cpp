#include "tests/unit/runtime/device/on_driver.hpp"

#include <utility>

#include "src/runtime/load/fallback_target.hpp"
#include "targets/ptx/cuda/device.hpp"
#include "targets/ptx/ptx_target.hpp"
#include "tests/unit/runtime/load/fake_target.hpp"

namespace dyn::testing {

runtime::TargetFactory on_driver(std::shared_ptr<const ptx::cuda::Driver> driver,
                                 const std::string& cubins) {
  return
      [driver = std::move(driver), cubins](const Options& options, int threads, const Dump& dump) {
        ptx::TargetOptions target;
        target.device = ptx::open_cuda_device("", cubins, driver);
        target.machine = target.device->machine();
        target.threads = threads;
        return runtime::with_fallback(ptx::make_ptx_target(target), [options, threads, dump] {
          return make_fake_target(options, threads, dump);
        });
      };
}

}  // namespace dyn::testing
