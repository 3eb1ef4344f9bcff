#include "src/rkernel/target/tuning.hpp"

#include <fmt/format.h>

namespace dyn::rkernel {

Error broken_program(const Tuning& tuning, std::size_t number, const std::string& why) {
  return {ErrorKind::user,
          fmt::format("the tuning file '{}', program {}: {}; tune anew", tuning.file, number, why)};
}

Error broken_pool(const Tuning& tuning, const TunedPool& pool, const std::string& why) {
  return {ErrorKind::user,
          fmt::format("the tuning file '{}', micro-kernels of policy '{}'{}: {}; tune anew",
                      tuning.file, name_of(pool.policy),
                      pool.threads == 0 ? "" : fmt::format(" on {} threads", pool.threads), why)};
}

void require_same_machine(const Tuning& tuning, const std::string& target,
                          const std::string& machine) {
  if (tuning.target == target && tuning.machine == machine) return;
  throw Error(ErrorKind::user,
              fmt::format("the tuning file '{}' was made for {} on '{}', but this is {} on '{}'; "
                          "tune on this machine, or load without the file",
                          tuning.file, tuning.target, tuning.machine, target, machine));
}

}  // namespace dyn::rkernel
