#pragma once
// Operations that the lanes of a warp compute together, by the layouts of the PTX ISA. No state, no
// checks.

#include <array>
#include <cstdint>
#include <span>

#include "targets/ptx/ir/op.hpp"

namespace dyn::ptx::emulation {

inline constexpr int warp_lanes = 32;

std::uint16_t to_bf16(float value);
std::uint16_t to_f16(float value);
float from_f16(std::uint16_t bits);

/// A finite float that is not 0, moved by so many of its units in the last place, or less where
/// there is no float; 0 where that is subnormal.
float moved_by_ulps(float value, int ulps);

/// 2^x and 1 / x as the approximating instructions may give them: the rounded result, moved by as
/// many ulp as the PTX ISA allows or fewer, as the bits of x say.
float approximate_exp2(float x);
float approximate_reciprocal(float x);

/// The lane that a shuffle reads ("shfl.sync" in the PTX ISA): b and c as the instruction has them.
int shuffle_source(Op op, int lane, std::uint32_t b, std::uint32_t c);

/// Operands and results of one lane, 32 bits each.
using LaneOperands = std::array<std::uint32_t, 10>;

/// d = a * b + c for all lanes; the results are four f32 for each, of bytes four i32, which wrap
/// around. Floats are added as a Hopper GPU adds them (tests/golden/gpu); no document gives the
/// order and the guard bits of others.
void multiply(Op op, std::span<const LaneOperands, warp_lanes> operands,
              std::span<std::array<std::uint32_t, 4>, warp_lanes> results);

/// prmt.b32: bytes of a and b that the digits of `selector` name.
std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t selector);

/// Result `matrix` of a lane of ldmatrix: rows[8 * matrix + i] is row i of that matrix, 16 bytes.
std::uint32_t matrix_fragment(bool transposed, int lane, std::span<const char* const> rows,
                              int matrix);

}  // namespace dyn::ptx::emulation
