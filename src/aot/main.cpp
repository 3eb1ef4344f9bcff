// dyn-aot FOLDER ISA...: compiles ahead of time what depends on an ISA alone, and what common
// layers are made of. It writes FOLDER/aot_ISA.o for each, and FOLDER/aot_table.cpp, which names
// their functions. The build of dyn runs it and links both into the library.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/aot/layer_code.hpp"
#include "targets/cpu/ahead_of_time.hpp"
#include "targets/llvm/code/parallel_jobs.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "targets/llvm/jit/listing.hpp"

namespace {

using dyn::codegen::Isa;
using dyn::codegen::KernelSource;

struct Compiled {
  std::string declarations, entries, object;
};

// Each key once.
std::vector<KernelSource> distinct(std::span<const KernelSource> sources) {
  std::vector<KernelSource> kept;
  std::set<std::string_view> keys;
  for (const KernelSource& source : sources) {
    if (keys.insert(source.key).second) kept.push_back(source);
  }
  return kept;
}

Compiled compile(const Isa& isa) {
  const dyn::aot::LayerCode layers(isa);
  std::vector<KernelSource> all = dyn::cpu::ahead_of_time_sources(isa);
  all.insert(all.end(), layers.sources().begin(), layers.sources().end());
  const std::vector<KernelSource> sources = distinct(all);
  Compiled result;
  std::vector<std::string> symbols;
  for (const KernelSource& source : sources) {
    symbols.push_back(fmt::format("{}_{}", symbol_of(source), isa.name));
    result.declarations += fmt::format("extern \"C\" void {}();\n", symbols.back());
    result.entries += fmt::format("      {{\"{}\", \"{}\", reinterpret_cast<void*>(&{})}},\n",
                                  isa.name, source.key, symbols.back());
  }
  result.object = dyn::codegen::Compiler(isa).library_object(sources, symbols);
  return result;
}

// A file that would be the same keeps its time, and nothing is linked again.
void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ifstream existing(path, std::ios::binary);
  if (existing && std::string(std::istreambuf_iterator<char>(existing),
                              std::istreambuf_iterator<char>()) == bytes)
    return;
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void run(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  const auto isas = dyn::codegen::all_isas();
  if (!std::ranges::equal(isas, names, {}, &Isa::name))
    throw std::runtime_error("the names are not those of all ISAs, in their order");
  std::vector<Compiled> compiled(isas.size());
  dyn::codegen::run_jobs(isas.size(), static_cast<int>(std::thread::hardware_concurrency()),
                         [&](std::size_t i) { compiled[i] = compile(isas[i]); });
  std::string declarations, entries;
  for (std::size_t i = 0; i < isas.size(); ++i) {
    declarations += compiled[i].declarations;
    entries += compiled[i].entries;
    write(folder / ("aot_" + isas[i].name + ".o"), compiled[i].object);
  }
  write(folder / "aot_table.cpp", fmt::format(R"(// Written by dyn-aot.
#include "targets/llvm/jit/ahead_of_time.hpp"

{}
namespace dyn::codegen {{

std::span<const AheadOfTime> ahead_of_time_table() {{
  static const AheadOfTime table[] = {{
{}  }};
  return table;
}}

}}  // namespace dyn::codegen
)",
                                              declarations, entries));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("usage: dyn-aot FOLDER ISA...");
    run(argv[1], {argv + 2, argv + argc});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "dyn-aot: %s\n", error.what());
    return 1;
  }
}
