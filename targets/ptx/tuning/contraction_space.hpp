#pragma once
// All programs of a contraction on a GPU at one shape, for tuners. They are predicted: most have no
// code, which is made for those of a tuning file at load.

#include <memory>
#include <string>
#include <vector>

#include "src/choice/gpu/tile_space.hpp"
#include "src/rkernel/problem/problem.hpp"
#include "src/rkernel/target/program_space.hpp"
#include "targets/ptx/tuning/tuned_programs.hpp"

namespace dyn::ptx {

/// Every tile that a kernel of the problem could have, of the engines and dtypes of its candidates.
std::vector<choice::GpuTile> every_tile(const rkernel::Problem& problem,
                                        const choice::GpuMachine& machine,
                                        const std::vector<choice::GpuTile>& candidates);

/// `machine` must outlive it. Launches of its programs cannot be launched: they have predicted
/// times, and tell programs apart.
std::unique_ptr<const rkernel::ProgramSpace> make_program_space(const choice::GpuMachine& machine,
                                                                choice::GpuPrograms programs,
                                                                TunedSizes sizes,
                                                                choice::GpuShapeFor shape_for);

}  // namespace dyn::ptx
