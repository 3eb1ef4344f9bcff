#pragma once
// The assembly of generated functions, to look at.

#include <span>
#include <string>
#include <vector>

#include "src/rkernel/target/target.hpp"
#include "targets/llvm/problem/kernel_source.hpp"

namespace dyn::codegen {

class Compiler;
struct Isa;

/// The name of a source's function in this process, and of the files that DYN_DUMP writes of it.
std::string symbol_of(const KernelSource& source);

/// Assembly after a line with the source's key, as DYN_DUMP=asm writes it. Compiles it anew.
std::string assembly_text(Compiler& compiler, const KernelSource& source);

rkernel::CodeListing list_code(const Isa& isa, const KernelSource& source);

/// Code of both stages of a launch, as far as it was generated: those of `sources`, whose functions
/// are at `addresses`, that it calls.
std::vector<rkernel::CodeListing> list_launched(const Isa& isa,
                                                std::span<const KernelSource> sources,
                                                std::span<void* const> addresses,
                                                const rkernel::Launch& launch);
/// The same for any functions; nullptr: none.
std::vector<rkernel::CodeListing> list_functions(const Isa& isa,
                                                 std::span<const KernelSource> sources,
                                                 std::span<void* const> addresses,
                                                 std::span<const void* const> functions);

}  // namespace dyn::codegen
