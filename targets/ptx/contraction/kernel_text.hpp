#pragma once
// Texts about a contraction's candidates: names, the explanation of a choice, listings.

#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"
#include "targets/ptx/contraction/choice.hpp"
#include "targets/ptx/contraction/manifest.hpp"

namespace dyn::ptx {

/// "matmul_3_bf16_128x128x32_vv": group, dtype that is multiplied, block, and how A and B are
/// copied (v: vectors, e: elements; t: B along K); with the second block where the code is of two
/// tiles.
std::string listing_name(const std::string& group, const GpuContractionClass& shape_class);

/// One program: "bf16 tensor cores 128x128x32, warps 64x32, 3 stages; A as vectors, B by element;
/// 96 tickets on 96 blocks". With two regions: "bf16 tensor cores 128x128x32, ... on rows 0 to 384,
/// bf16 tensor cores 64x64x64, ... on rows 384 to 777; A ...".
std::string program_text(const std::vector<choice::GpuTile>& tiles,
                         const std::vector<choice::GpuRegion>& regions, const MetContraction& met,
                         std::int64_t tickets, std::int64_t blocks);

/// The shape, and every program that is considered with its occupancy and the terms of its cost,
/// cheapest first; the one with the `chosen` regions is marked.
std::string explain_choice(const choice::GpuMachine& machine,
                           const std::vector<choice::GpuTile>& tiles, const MetContraction& met,
                           std::vector<ConsideredProgram> programs,
                           const std::vector<choice::GpuRegion>& chosen);

}  // namespace dyn::ptx
