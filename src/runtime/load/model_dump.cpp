#include "src/runtime/load/model_dump.hpp"

#include <fmt/format.h>

#include "graph/text/text.hpp"

namespace dyn::runtime {

ModelDump::ModelDump(const Dump& dump, const graph::Segment* segment, const graph::Module* body)
    : dump_(dump) {
  if (body != nullptr) prefix_ = fmt::format("{}-", body->name);
  if (segment != nullptr && !segment->nodes.empty())
    prefix_ += fmt::format("segment{}-", segment->nodes.front());
}

void ModelDump::write(const std::string& name, const std::string& text) const {
  dump_.write(prefix_ + name, text);
}

graph::PassObserver ModelDump::passes(const graph::Module& module) const {
  if (!dump_.wants(DumpKind::Passes)) return {};
  write("0-parse.dyn", graph::print(module));
  return [this, number = 0](const graph::Pass& pass, const graph::Module& now) mutable {
    write(fmt::format("{}-{}.dyn", ++number, pass.name), graph::print(now));
  };
}

void ModelDump::problems(const std::vector<rkernel::Problem>& problems) const {
  if (!dump_.wants(DumpKind::Problems)) return;
  for (const rkernel::Problem& problem : problems)
    write(problem.name + ".problem.txt", to_string(problem));
}

void ModelDump::listings(const rkernel::Kernel& kernel) const {
  if (!dump_.wants(DumpKind::Assembly) && !dump_.wants(DumpKind::Llvm)) return;
  for (const rkernel::CodeListing& listing : kernel.listings()) {
    if (dump_.wants(DumpKind::Assembly)) write(listing.name + ".ptx", listing.text);
    if (dump_.wants(DumpKind::Llvm)) write(listing.name + ".ll", listing.ir);
  }
}

}  // namespace dyn::runtime
