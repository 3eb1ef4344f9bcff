#pragma once
// All programs of a contraction at one shape, for tuners.

#include <memory>

#include "src/rkernel/target/program_space.hpp"
#include "targets/cpu/contraction/generated_programs.hpp"

namespace dyn::cpu {

/// nullptr where nothing is to be computed. Both must outlive it.
std::unique_ptr<const rkernel::ProgramSpace> make_program_space(
    const ContractionForms& forms, const GeneratedPrograms& programs,
    const rkernel::PlanRequest& request);

}  // namespace dyn::cpu
