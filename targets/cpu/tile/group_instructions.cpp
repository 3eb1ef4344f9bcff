#include "targets/cpu/tile/group_instructions.hpp"

#include <fmt/format.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

#include "dyn/error.hpp"
#include "targets/cpu/x86/functions.hpp"

namespace dyn::cpu {
namespace {

struct Row {
  Group group;
  int lanes;  ///< of i32
  std::string_view feature;
  llvm::Intrinsic::ID products;
  bool adds;         ///< the instruction adds the sums as well
  DType multiplied;  ///< what the instruction calls the elements
};
constexpr Row rows[] = {
    {Group::Bytes, 16, "avx512vnni", llvm::Intrinsic::x86_avx512_vpdpbusd_512, true, DType::i32},
    {Group::Bytes, 8, "avxvnni", llvm::Intrinsic::x86_avx512_vpdpbusd_256, true, DType::i32},
    {Group::Shorts, 16, "", llvm::Intrinsic::x86_avx512_pmaddw_d_512, false, DType::i16},
    {Group::Shorts, 8, "", llvm::Intrinsic::x86_avx2_pmadd_wd, false, DType::i16},
    {Group::Shorts, 4, "", llvm::Intrinsic::x86_sse2_pmadd_wd, false, DType::i16},
    {Group::Bfloats, 16, "avx512bf16", llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, true,
     DType::bf16},
};

const Row& row_for(const codegen::Isa& isa, Group group) {
  const Row* const found = std::ranges::find_if(
      rows, [&](const Row& row) { return row.group == group && row.lanes == isa.f32_lanes; });
  if (found == std::end(rows))
    throw Error(ErrorKind::internal, fmt::format("{} has no instruction for groups of {}", isa.name,
                                                 Factors(group).name()));
  return *found;
}

}  // namespace

std::vector<GroupInstruction> group_instructions(const codegen::Isa& isa) {
  std::vector<GroupInstruction> found;
  for (const Row& row : rows) {
    if (row.lanes == isa.f32_lanes) found.push_back({row.group, row.feature, row.adds ? 1 : 2});
  }
  return found;
}

bool cpu_has(const codegen::Isa& isa, const GroupInstruction& instruction) {
  if (!codegen::cpu_has(isa)) return false;
  __builtin_cpu_init();
  if (instruction.feature == "avx512vnni") return __builtin_cpu_supports("avx512vnni");
  if (instruction.feature == "avxvnni") return __builtin_cpu_supports("avxvnni");
  if (instruction.feature == "avx512bf16") return __builtin_cpu_supports("avx512bf16");
  return instruction.feature.empty();
}

namespace {

bool multiplies(const codegen::Isa& isa, Group group) {
  return std::ranges::any_of(group_instructions(isa), [&](const GroupInstruction& each) {
    return each.group == group && cpu_has(isa, each);
  });
}

}  // namespace

DType widest_integer_factor(const codegen::Isa& isa) {
  return multiplies(isa, Group::Bytes) ? DType::u8 : DType::i16;
}

bool multiplies_bfloats(const codegen::Isa& isa) { return multiplies(isa, Group::Bfloats); }

GroupInstruction instruction_for(const codegen::Isa& isa, Group group) {
  const Row& row = row_for(isa, group);
  return {row.group, row.feature, row.adds ? 1 : 2};
}

void allow_group(llvm::Function& function, const codegen::Isa& isa, Group group) {
  if (group == Group::None) return;
  const Row& row = row_for(isa, group);
  if (!row.feature.empty()) allow_feature(function, isa, row.feature);
}

llvm::Value* add_products(codegen::Builder& builder, const codegen::Isa& isa, Group group,
                          llvm::Value* a, llvm::Value* b, llvm::Value* sums) {
  const Row& row = row_for(isa, group);
  if (row.multiplied != DType::i32) {
    const int width = row.lanes * 4 / static_cast<int>(size_of(row.multiplied));
    llvm::Type* element = row.multiplied == DType::bf16
                              ? builder.getBFloatTy()
                              : llvm::Type::getInt16Ty(builder.getContext());
    llvm::Type* type = codegen::lanes_of(element, width);
    a = builder.CreateBitCast(a, type);
    b = builder.CreateBitCast(b, type);
  }
  if (row.adds) return builder.CreateIntrinsic(row.products, {}, {sums, a, b});
  return builder.CreateAdd(sums, builder.CreateIntrinsic(row.products, {}, {a, b}));
}

}  // namespace dyn::cpu
