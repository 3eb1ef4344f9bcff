#include "targets/llvm/jit/listing.hpp"

#include <array>

#include <fmt/format.h>

#include "targets/llvm/jit/compiler.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/object_cache.hpp"

namespace dyn::codegen {

std::string symbol_of(const KernelSource& source) {
  return fmt::format("dyn_{:016x}", checksum(source.key));
}

std::string assembly_text(Compiler& compiler, const KernelSource& source) {
  return "# " + source.key + "\n" + compiler.assembly(source, symbol_of(source));
}

rkernel::CodeListing list_code(const Isa& isa, const KernelSource& source) {
  Compiler compiler(isa);
  rkernel::CodeListing listing;
  listing.name = symbol_of(source);
  listing.text = assembly_text(compiler, source);
  listing.ir = compiler.ir(source, listing.name);
  return listing;
}

std::vector<rkernel::CodeListing> list_launched(const Isa& isa,
                                                std::span<const KernelSource> sources,
                                                std::span<void* const> addresses,
                                                const rkernel::Launch& launch) {
  const std::array<const void*, 2> stages = {reinterpret_cast<const void*>(launch.function),
                                             reinterpret_cast<const void*>(launch.merge)};
  return list_functions(isa, sources, addresses, stages);
}

std::vector<rkernel::CodeListing> list_functions(const Isa& isa,
                                                 std::span<const KernelSource> sources,
                                                 std::span<void* const> addresses,
                                                 std::span<const void* const> functions) {
  std::vector<rkernel::CodeListing> listings;
  for (const void* function : functions) {
    for (std::size_t i = 0; function != nullptr && i < sources.size(); ++i) {
      if (addresses[i] != function) continue;
      listings.push_back(list_code(isa, sources[i]));
      break;
    }
  }
  return listings;
}

}  // namespace dyn::codegen
