#pragma once
// What people read about a contraction's candidates: names, the explanation of a choice, listings.

#include <functional>
#include <string>
#include <vector>

#include "src/rkernel/target.hpp"
#include "targets/llvm/kernel_source.hpp"
#include "targets/ptx/contraction_manifest.hpp"

namespace dyn::ptx {

/// "matmul_3_bf16_128x128x32_vv": group, dtype that is multiplied, block, and how A and B are copied (v: vectors, e: elements; t: B along K).
std::string listing_name(const std::string& group, const GpuContractionClass& shape_class);

/// One program: "bf16 tensor cores 128x128x32, warps 64x32, 3 stages; A as vectors, B by element; 96 tickets on 96 blocks".
std::string program_text(const rkernel::GpuTile& tile, const rkernel::GpuContraction& met, std::int64_t tickets, std::int64_t blocks);

/// The shape, and every candidate with its occupancy and the terms of its cost, cheapest first.
std::string explain_choice(const rkernel::GpuMachine& machine, const rkernel::GpuContraction& shape, const std::vector<rkernel::GpuTile>& tiles,
                           const rkernel::GpuShapeFor& shape_for, const rkernel::GpuChoice& choice);

/// PTX of one source, and the hash of the device module that it was lowered from.
rkernel::CodeListing list_code(const std::string& name, const codegen::KernelSource& source);

}  // namespace dyn::ptx
