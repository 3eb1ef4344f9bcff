#include "tests/avx512/refused_vsib.hpp"

#include <cpuid.h>

#include <cstdint>
#include <cstring>

namespace dyn::avx512_check {
namespace {

/// Components of an XSAVE area (Intel SDM, volume 1, chapter 13).
enum Component : unsigned { avx = 2, opmask = 5, zmm_high256 = 6, high16_zmm = 7 };

/// The vector and mask registers of a signal's frame.
class SavedRegisters {
 public:
  explicit SavedRegisters(ucontext_t& context)
      : area_(reinterpret_cast<std::uint8_t*>(context.uc_mcontext.fpregs)) {}

  void read_vector(unsigned index, std::uint8_t* bytes) {
    for_parts(index, [&](std::uint8_t* part, std::size_t offset, std::size_t size) {
      std::memcpy(bytes + offset, part, size);
    });
  }
  void write_vector(unsigned index, const std::uint8_t* bytes) {
    for_parts(index, [&](std::uint8_t* part, std::size_t offset, std::size_t size) {
      std::memcpy(part, bytes + offset, size);
    });
  }
  std::uint64_t& mask(unsigned index) {
    return *reinterpret_cast<std::uint64_t*>(component(opmask) + 8 * index);
  }

 private:
  // The area lacks a component in its initial state, which is all zeros: it becomes a part of the
  // area.
  std::uint8_t* component(Component which) {
    constexpr std::size_t header = 512;
    unsigned size = 0, offset = 0, c = 0, d = 0;
    __get_cpuid_count(13, which, &size, &offset, &c, &d);
    std::uint64_t present;
    std::memcpy(&present, area_ + header, sizeof present);
    const std::uint64_t bit = std::uint64_t{1} << which;
    if ((present & bit) == 0) {
      std::memset(area_ + offset, 0, size);
      present |= bit;
      std::memcpy(area_ + header, &present, sizeof present);
    }
    return area_ + offset;
  }

  void for_parts(unsigned index, const auto& visit) {
    constexpr std::size_t xmm = 160;
    if (index >= 16) return visit(component(high16_zmm) + 64 * (index - 16), 0, 64);
    visit(area_ + xmm + 16 * index, 0, 16);
    visit(component(avx) + 16 * index, 16, 16);
    visit(component(zmm_high256) + 32 * index, 32, 32);
  }

  std::uint8_t* area_;
};

/// An EVEX gather or scatter (SDM, volume 2, sections 2.7 and 2.3.12).
struct Instruction {
  bool scatter;
  unsigned data, index, mask;  ///< registers
  std::size_t index_bytes, element_bytes, count;
  std::uint64_t base;  ///< with the displacement
  unsigned scale;
  std::size_t length;
};

std::uint64_t general_register(const ucontext_t& context, unsigned index) {
  constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<std::uint64_t>(context.uc_mcontext.gregs[order[index]]);
}

bool decode(const ucontext_t& context, const std::uint8_t* code, Instruction& result) {
  const unsigned opcode = code[4], modrm = code[5], sib = code[6], mod = modrm >> 6;
  const bool gather = opcode >= 0x90 && opcode <= 0x93;
  result.scatter = opcode >= 0xa0 && opcode <= 0xa3;
  if (code[0] != 0x62 || (code[1] & 7) != 2 || (code[2] & 3) != 1 || !(gather || result.scatter) ||
      mod == 3 || (modrm & 7) != 4)
    return false;
  // Extensions of register numbers are stored inverted.
  const auto extension = [&](int byte, int bit, unsigned value) {
    return (code[byte] >> bit & 1) != 0 ? 0u : value;
  };
  result.data = (modrm >> 3 & 7) | extension(1, 7, 8) | extension(1, 4, 16);
  result.index = (sib >> 3 & 7) | extension(1, 6, 8) | extension(3, 3, 16);
  result.mask = code[3] & 7;
  result.index_bytes = (opcode & 1) != 0 ? 8 : 4;
  result.element_bytes = (code[2] & 0x80) != 0 ? 8 : 4;
  const std::size_t vector_bytes = std::size_t{16} << (code[3] >> 5 & 3);
  result.count = vector_bytes / (result.index_bytes > result.element_bytes ? result.index_bytes
                                                                           : result.element_bytes);
  result.scale = 1u << (sib >> 6);
  const bool no_base = mod == 0 && (sib & 7) == 5;
  result.base = no_base ? 0 : general_register(context, (sib & 7) | extension(1, 5, 8));
  result.length = 7;
  if (mod == 1) {
    result.base += static_cast<std::uint64_t>(static_cast<std::int8_t>(code[7]) *
                                              static_cast<std::int64_t>(result.element_bytes));
    result.length += 1;
  } else if (mod == 2 || no_base) {
    std::int32_t displacement;
    std::memcpy(&displacement, code + 7, sizeof displacement);
    result.base += static_cast<std::uint64_t>(std::int64_t{displacement});
    result.length += 4;
  }
  return true;
}

std::int64_t index_of(const Instruction& instruction, const std::uint8_t* indices,
                      std::size_t lane) {
  std::int64_t wide;
  std::int32_t narrow;
  std::memcpy(&wide, indices + 8 * (instruction.index_bytes == 8 ? lane : 0), sizeof wide);
  std::memcpy(&narrow, indices + 4 * (instruction.index_bytes == 8 ? 0 : lane), sizeof narrow);
  return instruction.index_bytes == 8 ? wide : narrow;
}

}  // namespace

bool execute_refused_vsib(ucontext_t& context) noexcept {
  Instruction instruction;
  if (!decode(context, reinterpret_cast<const std::uint8_t*>(context.uc_mcontext.gregs[REG_RIP]),
              instruction))
    return false;
  SavedRegisters registers(context);
  std::uint8_t indices[64], data[64];
  registers.read_vector(instruction.index, indices);
  registers.read_vector(instruction.data, data);
  const std::size_t size = instruction.element_bytes;
  for (std::size_t lane = 0; lane < instruction.count; ++lane) {
    if ((registers.mask(instruction.mask) >> lane & 1) == 0) continue;
    const std::int64_t index = index_of(instruction, indices, lane);
    auto* place = reinterpret_cast<std::uint8_t*>(
        instruction.base + static_cast<std::uint64_t>(index) * instruction.scale);
    if (instruction.scatter)
      std::memcpy(place, data + lane * size, size);
    else
      std::memcpy(data + lane * size, place, size);
  }
  registers.mask(instruction.mask) = 0;
  if (!instruction.scatter) {
    std::memset(data + instruction.count * size, 0, sizeof data - instruction.count * size);
    registers.write_vector(instruction.data, data);
  }
  context.uc_mcontext.gregs[REG_RIP] += static_cast<greg_t>(instruction.length);
  return true;
}

}  // namespace dyn::avx512_check
