// Blocks that are transposed in registers, executed on every ISA that this CPU has.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include "targets/llvm/code/transpose.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "targets/llvm/jit/jit.hpp"
#include "tests/support/held_code.hpp"

namespace {

/// void symbol(const T in[count][count], T out[count][count]).
void emit_transposition(llvm::Module& module, const std::string& symbol, int element_bits,
                        int count) {
  llvm::LLVMContext& context = module.getContext();
  dyn::codegen::Builder builder(context);
  llvm::Type* pointer = builder.getPtrTy();
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getVoidTy(), {pointer, pointer}, false),
      llvm::Function::ExternalLinkage, symbol, module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  llvm::Type* element = element_bits == 32 ? builder.getFloatTy()
                                           : builder.getIntNTy(static_cast<unsigned>(element_bits));
  llvm::Type* row = dyn::codegen::lanes_of(element, count);
  const llvm::Align align(static_cast<std::uint64_t>(element_bits / 8));
  const auto place = [&](unsigned argument, std::size_t i) {
    return builder.CreateConstGEP1_64(element, function->getArg(argument),
                                      i * static_cast<std::size_t>(count));
  };
  std::vector<llvm::Value*> rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    rows.push_back(builder.CreateAlignedLoad(row, place(0, i), align));
  const std::vector<llvm::Value*> columns = dyn::codegen::transpose(builder, rows);
  for (std::size_t i = 0; i < columns.size(); ++i)
    builder.CreateAlignedStore(columns[i], place(1, i), align);
  builder.CreateRetVoid();
}

}  // namespace

TEST_CASE("blocks of every size of element are transposed in registers") {
  struct Block {
    int element_bits, count;
  };
  const std::vector<Block> blocks = {{32, 1},  {32, 2},  {32, 4}, {32, 8}, {32, 16}, {32, 32},
                                     {8, 2},   {8, 8},   {8, 16}, {8, 32}, {16, 4},  {16, 8},
                                     {16, 16}, {16, 32}, {64, 2}, {64, 4}, {64, 8},  {64, 16}};
  for (const auto& isa : dyn::codegen::all_isas()) {
    if (!dyn::codegen::cpu_has(isa)) continue;
    const auto store = dyn::codegen::CodeStore::open(isa, {});
    std::vector<dyn::codegen::KernelSource> sources;
    for (const Block& block : blocks)
      sources.push_back(
          {fmt::format("transposition of {} x {} bits", block.count, block.element_bits),
           [block](llvm::Module& module, const std::string& symbol) {
             emit_transposition(module, symbol, block.element_bits, block.count);
           }});
    dyn::rkernel::CompileReport report;
    const auto addresses = dyn::testing::hold(store->resolve(sources, 1, report));
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto count = static_cast<std::size_t>(blocks[b].count),
                 bytes = static_cast<std::size_t>(blocks[b].element_bits / 8);
      CAPTURE(isa.name);
      CAPTURE(count);
      CAPTURE(bytes);
      // No two elements are alike, in any of their bytes where those can tell them apart.
      std::vector<std::uint8_t> in(count * count * bytes), out(in.size()), wanted(in.size());
      for (std::size_t i = 0; i < count * count; ++i)
        for (std::size_t byte = 0; byte < bytes; ++byte)
          in[i * bytes + byte] = static_cast<std::uint8_t>((i * 7 + i / 256 + byte * 53) & 0x7f);
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < count; ++j)
          std::memcpy(&wanted[(i * count + j) * bytes], &in[(j * count + i) * bytes], bytes);
      reinterpret_cast<void (*)(const void*, void*)>(addresses[b])(in.data(), out.data());
      CHECK(out == wanted);
    }
  }
}

TEST_CASE("a block as large as the registers are wide takes L log2 L shuffles and no stack") {
  for (const auto& isa : dyn::codegen::all_isas()) {
    const int count = isa.f32_lanes;
    dyn::codegen::Compiler compiler(isa, dyn::codegen::CodeEffort::Full);
    const std::string text =
        compiler.assembly({"transposition",
                           [count](llvm::Module& module, const std::string& symbol) {
                             emit_transposition(module, symbol, 32, count);
                           }},
                          "block");
    CAPTURE(isa.name);
    CAPTURE(text);
    CHECK(text.find("(%rsp)") == std::string::npos);
    int shuffles = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      for (const char* kind : {"unpck", "\tvshuf", "\tshuf", "\tvperm", "\tvinsert", "\tvextract",
                               "blend", "\tmovhl", "\tmovlh"})
        if (line.find(kind) != std::string::npos) ++shuffles;
    CHECK(shuffles <= count * std::countr_zero(static_cast<unsigned>(count)));
  }
}
