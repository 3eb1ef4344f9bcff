#include "src/rkernel/target/program_space.hpp"

namespace dyn::rkernel {

std::unique_ptr<const ProgramSpace> Kernel::program_space(const PlanRequest&) const {
  return nullptr;
}

}  // namespace dyn::rkernel
