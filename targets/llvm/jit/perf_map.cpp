#include "targets/llvm/jit/perf_map.hpp"

#include <fmt/format.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Object/SymbolSize.h>
#include <llvm/Support/MemoryBufferRef.h>
#include <unistd.h>

#include <fstream>

namespace dyn::codegen {

void append_to_perf_map(const std::string& object, const std::string& symbol,
                        const std::string& name, const void* address) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, symbol));
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  std::uint64_t size = 0;
  for (const auto& [found, bytes] : llvm::object::computeSymbolSizes(**file)) {
    auto found_name = found.getName();
    if (!found_name) {
      llvm::consumeError(found_name.takeError());
    } else if (*found_name == symbol) {
      size = bytes;
    }
  }
  std::ofstream map(fmt::format("/tmp/perf-{}.map", getpid()), std::ios::app);
  map << fmt::format("{:x} {:x} {} {}\n", reinterpret_cast<std::uintptr_t>(address), size, symbol,
                     name.substr(0, name.find('\n')));
}

}  // namespace dyn::codegen
