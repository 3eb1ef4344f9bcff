#include "targets/ptx/contraction/program_memory.hpp"

#include <bit>

namespace dyn::ptx {
namespace {

using choice::GpuProgram;
using choice::GpuRegion;

}  // namespace

ProgramKey::ProgramKey(const choice::GpuContraction& shape, int vectors)
    : WordKey({word(shape.batch), word(shape.m), word(shape.n), word(shape.k), word(vectors),
               std::bit_cast<std::uint64_t>(shape.a_overlap)}) {}

std::optional<GpuProgram> ProgramMemory::find(const ProgramKey& key) const {
  Table::Value words;
  if (!table_.find(key, words)) return std::nullopt;
  GpuProgram program{.regions = {}, .seconds = std::bit_cast<double>(words[0])};
  const auto regions = static_cast<std::size_t>(words[1]);
  program.regions.reserve(regions);
  for (std::size_t region = 0; region < regions; ++region) {
    const std::uint64_t* of = words.data() + words_before_regions + region * words_of_region;
    program.regions.push_back({static_cast<std::size_t>(of[0]),
                               dyn::number(of[1]),
                               dyn::number(of[2]),
                               dyn::number(of[3]),
                               dyn::number(of[4]),
                               {dyn::number(of[5]), dyn::number(of[6])}});
  }
  return program;
}

void ProgramMemory::insert(const ProgramKey& key, const GpuProgram& program) {
  if (program.regions.size() > most_regions) return;
  Table::Value words;
  words[0] = std::bit_cast<std::uint64_t>(program.seconds);
  words[1] = program.regions.size();
  std::size_t at = words_before_regions;
  for (const GpuRegion& region : program.regions) {
    for (const std::uint64_t each : {std::uint64_t{region.tile}, dyn::word(region.m0),
                                     dyn::word(region.m), dyn::word(region.n0), dyn::word(region.n),
                                     dyn::word(region.split.tiles), dyn::word(region.split.span)})
      words[at++] = each;
  }
  table_.insert(key, std::span(words).first(at));
}

}  // namespace dyn::ptx
