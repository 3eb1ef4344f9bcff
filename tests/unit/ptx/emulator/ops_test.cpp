// The result of each device operation, against plain loops.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/support/seed.hpp"
#include "tests/unit/ptx/emulator/fixture.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

std::vector<std::uint32_t> random_words(std::size_t count, std::uint64_t salt) {
  std::mt19937_64 random(dyn::testing::test_seed() + salt);
  std::vector<std::uint32_t> words(count);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random());
  return words;
}

/// bf16, f16 or f32 values of modest size, as their bits.
std::uint16_t bits_of_small(bool half, float value) {
  if (!half) return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
  const auto f = static_cast<_Float16>(value);
  std::uint16_t bits;
  std::memcpy(&bits, &f, 2);
  return bits;
}
double value_of_small(bool half, std::uint16_t bits) {
  if (!half) return std::bit_cast<float>(std::uint32_t{bits} << 16);
  _Float16 f;
  std::memcpy(&f, &bits, 2);
  return static_cast<double>(f);
}

}  // namespace

TEST_CASE("emulator: indices") {
  KernelText kernel{48, 0, 1, R"(
  %n = call i32 @dyn.dev.nctaid()
  %x = mul i32 %b, 48
  %i = add i32 %x, %t
  %v = mul i32 %lane, 1000
  %w = add i32 %v, %n
  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %i
  store i32 %w, ptr addrspace(1) %a, align 4
  ret void)"};
  std::vector<std::int32_t> out(48 * 3, -1);
  const auto reports = run(kernel, {written_buffer(out)}, 3);
  CHECK(text_of(reports) == "");
  for (int i = 0; i < 144; ++i) CHECK(out[static_cast<std::size_t>(i)] == i % 48 % 32 * 1000 + 3);
}

TEST_CASE("emulator: shuffles and votes") {
  INFO("DYN_SEED=" << dyn::testing::test_seed());
  const auto input = random_words(64, 1);
  for (const char* mode : {"bfly", "down", "idx"}) {
    for (const int segment_lanes : {32, 16, 8, 4}) {
      for (const int step : {1, 2, 5, 16, 31}) {
        const int c = (32 - segment_lanes) << 8 | 31;
        KernelText kernel{64, 0, 2, R"(
  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 %t
  %x = load i32, ptr addrspace(1) %a, align 4
  %y = call i32 @dyn.dev.shfl.sync.MODE.b32(i32 %x, i32 STEP, i32 CLAMP, i32 -1)
  store i32 %y, ptr addrspace(1) %o, align 4
  ret void)"};
        kernel = kernel.with("MODE", mode)
                     .with("STEP", std::to_string(step))
                     .with("CLAMP", std::to_string(c));
        std::vector<std::uint32_t> in = input, out(64);
        CHECK(text_of(run(kernel, {read_buffer(in), written_buffer(out)})) == "");
        for (int t = 0; t < 64; ++t) {
          const int lane = t % 32, begin = lane / segment_lanes * segment_lanes,
                    within = lane - begin;
          int source = lane;
          if (mode[0] == 'd') source = within + step < segment_lanes ? lane + step : lane;
          if (mode[0] == 'b') source = (lane ^ step) < begin + segment_lanes ? lane ^ step : lane;
          if (mode[0] == 'i') source = begin + step % segment_lanes;
          INFO(mode << " " << step << " in " << segment_lanes << " lanes, thread " << t);
          CHECK(out[static_cast<std::size_t>(t)] ==
                input[static_cast<std::size_t>(t / 32 * 32 + source)]);
        }
      }
    }
  }
  KernelText ballot{64, 0, 2, R"(
  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  %o = getelementptr i32, ptr addrspace(1) %p1, i32 %t
  %x = load i32, ptr addrspace(1) %a, align 4
  %c = icmp slt i32 %x, 0
  %y = call i32 @dyn.dev.vote.sync.ballot.b32(i1 %c, i32 -1)
  store i32 %y, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<std::uint32_t> in = input, out(64);
  CHECK(text_of(run(ballot, {read_buffer(in), written_buffer(out)})) == "");
  for (std::size_t t = 0; t < 64; ++t) {
    std::uint32_t expected = 0;
    for (std::size_t lane = 0; lane < 32; ++lane)
      expected |= (input[t / 32 * 32 + lane] >> 31) << lane;
    CHECK(out[t] == expected);
  }
}

TEST_CASE("emulator: shuffles in half a warp") {
  KernelText kernel{32, 0, 1, R"(
  %low = icmp ult i32 %t, 16
  br i1 %low, label %first, label %second
first:
  %y0 = call i32 @dyn.dev.shfl.sync.bfly.b32(i32 %t, i32 3, i32 31, i32 65535)
  br label %end
second:
  %y1 = call i32 @dyn.dev.shfl.sync.bfly.b32(i32 %t, i32 5, i32 31, i32 -65536)
  br label %end
end:
  %y = phi i32 [ %y0, %first ], [ %y1, %second ]
  %o = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  store i32 %y, ptr addrspace(1) %o, align 4
  ret void)"};
  std::vector<std::int32_t> out(32);
  CHECK(text_of(run(kernel, {written_buffer(out)})) == "");
  for (int t = 0; t < 32; ++t) CHECK(out[static_cast<std::size_t>(t)] == (t ^ (t < 16 ? 3 : 5)));
}

TEST_CASE("emulator: conversions") {
  const KernelText kernel{32, 0, 4, R"(
  %a = getelementptr float, ptr addrspace(1) %p0, i32 %t
  %x = load float, ptr addrspace(1) %a, align 4
  %h = call i16 @dyn.dev.cvt.rn.f16.f32(float %x)
  %g = call i16 @dyn.dev.cvt.rn.bf16.f32(float %x)
  %y = call float @dyn.dev.cvt.f32.f16(i16 %h)
  %o1 = getelementptr i16, ptr addrspace(1) %p1, i32 %t
  %o2 = getelementptr i16, ptr addrspace(1) %p2, i32 %t
  %o3 = getelementptr float, ptr addrspace(1) %p3, i32 %t
  store i16 %h, ptr addrspace(1) %o1, align 2
  store i16 %g, ptr addrspace(1) %o2, align 2
  store float %y, ptr addrspace(1) %o3, align 4
  ret void)"};
  std::vector<float> in = {
      0.0f,      -0.0f,         1.0f,           -2.5f,          65504.0f,      65519.9f,
      65520.0f,  -1e9f,         6.1e-5f,        6.0e-8f,        2.9802322e-8f, 2.99e-8f,
      5.96e-8f,  1.0009765625f, 1.00048828125f, 1.00146484375f, 3.3895314e38f, INFINITY,
      -INFINITY, NAN,           0.333333f,      1e-40f,         1.00390625f,   1.01171875f,
      1e-5f,     123.456f,      -0.1f,          7e-6f,          32.03f,        2047.5f,
      2049.0f,   2051.0f};
  REQUIRE(in.size() == 32);
  std::vector<std::uint16_t> half(32), brain(32);
  std::vector<float> back(32);
  CHECK(text_of(run(kernel, {read_buffer(in), written_buffer(half), written_buffer(brain),
                             written_buffer(back)})) == "");
  for (std::size_t i = 0; i < 32; ++i) {
    INFO(in[i]);
    if (std::isnan(in[i])) {
      CHECK((half[i] & 0x7FFF) > 0x7C00);
      CHECK((brain[i] & 0x7FFF) > 0x7F80);
      CHECK(std::isnan(back[i]));
      continue;
    }
    CHECK(half[i] == bits_of_small(true, in[i]));
    CHECK(std::bit_cast<std::uint32_t>(back[i]) ==
          std::bit_cast<std::uint32_t>(static_cast<float>(value_of_small(true, half[i]))));
    // The nearer of the two neighbours whose low 16 bits are 0; where both are equally near, the
    // even one.
    const auto down = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(in[i]) >> 16);
    const auto up = static_cast<std::uint16_t>(down + 1);
    const double below = std::fabs(in[i] - value_of_small(false, down)),
                 above = std::fabs(value_of_small(false, up) - in[i]);
    const std::uint16_t expected =
        std::isinf(in[i]) || below < above || (below == above && down % 2 == 0) ? down : up;
    CHECK(brain[i] == expected);
  }
}

TEST_CASE("emulator: ldmatrix") {
  INFO("DYN_SEED=" << dyn::testing::test_seed());
  for (const std::string kind : {"x1", "x2", "x4", "x2.trans", "x4.trans"}) {
    INFO(kind);
    const int matrices = kind[1] - '0';
    const bool transposed = kind.size() > 2;
    std::string result = matrices == 1   ? "i32"
                         : matrices == 2 ? "{ i32, i32 }"
                                         : "{ i32, i32, i32, i32 }";
    // Rows lie in another order than that of lanes: row of lane l at 16 * (5 * l mod 32).
    std::string body = R"(
  %a = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  br label %fill
fill:
  %i = phi i32 [ 0, %entry ], [ %next, %fill ]
  %at = mul i32 %i, 32
  %w = add i32 %at, %t
  %from = getelementptr i32, ptr addrspace(1) %p0, i32 %w
  %to = getelementptr i32, ptr addrspace(3) %shared, i32 %w
  %x = load i32, ptr addrspace(1) %from, align 4
  store i32 %x, ptr addrspace(3) %to, align 4
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 4
  br i1 %more, label %fill, label %filled
filled:
  call void @dyn.dev.barrier.sync()
  %five = mul i32 %t, 5
  %row = and i32 %five, 31
  %offset = mul i32 %row, 16
  %place = getelementptr i8, ptr addrspace(3) %shared, i32 %offset
  %m = call RESULT @dyn.dev.ldmatrix.KIND(ptr addrspace(3) %place)
  %first = mul i32 %t, 4
)";
    for (int i = 0; i < matrices; ++i) {
      const std::string n = std::to_string(i);
      body += matrices == 1 ? "  %r0 = add i32 %m, 0\n"
                            : "  %r" + n + " = extractvalue RESULT %m, " + n + "\n";
      body += "  %k" + n + " = add i32 %first, " + n + "\n  %o" + n +
              " = getelementptr i32, ptr addrspace(1) %p1, i32 %k" + n + "\n";
      body += "  store i32 %r" + n + ", ptr addrspace(1) %o" + n + ", align 4\n";
    }
    KernelText kernel{32, 512, 2, body + "  ret void"};
    kernel = kernel.with("RESULT", result).with("KIND", kind);
    std::vector<std::uint32_t> in = random_words(128, 2), out(128);
    CHECK(text_of(run(kernel, {read_buffer(in), written_buffer(out)})) == "");
    const auto element = [&](int matrix, int row, int column) {
      const int lane = 8 * matrix + row;
      const std::uint32_t word = in[static_cast<std::size_t>(5 * lane % 32 * 4 + column / 2)];
      return column % 2 == 0 ? word & 0xFFFF : word >> 16;
    };
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < matrices; ++i) {
        const int a = lane / 4, c = 2 * (lane % 4);
        const std::uint32_t expected = transposed ? element(i, c, a) | element(i, c + 1, a) << 16
                                                  : element(i, a, c) | element(i, a, c + 1) << 16;
        CHECK(out[static_cast<std::size_t>(4 * lane + i)] == expected);
      }
    }
  }
}

namespace {

/// a: 16 x k, b: k x 8, c and d: 16 x 8, as plain rows; each lane loads its fragments by the
/// layouts of the PTX ISA, written down here as a table. Each of 17 terms is cut 25 bits below the
/// largest, the sum is cut to f32.
void check_mma(const std::string& kind, const char* op) {
  INFO(kind << ", DYN_SEED=" << dyn::testing::test_seed());
  const bool tf32 = kind == "tf32", half = kind == "f16";
  const int k = tf32 ? 8 : 16;
  std::mt19937_64 random(dyn::testing::test_seed() + 3);
  std::normal_distribution<float> normal;
  std::vector<float> a(static_cast<std::size_t>(16 * k)), b(static_cast<std::size_t>(8 * k)),
      c(128), d(128);
  std::vector<std::uint32_t> words(32 * 6);
  for (float& x : c) x = normal(random);
  const auto narrow = [&](float x) {
    return tf32 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFFE000u)
                : static_cast<float>(value_of_small(half, bits_of_small(half, x)));
  };
  std::vector<float> exact_a(a.size()), exact_b(b.size());
  for (std::size_t i = 0; i < a.size(); ++i) exact_a[i] = narrow(a[i] = normal(random));
  for (std::size_t i = 0; i < b.size(); ++i) exact_b[i] = narrow(b[i] = normal(random));
  const auto at_a = [&](int row, int column) {
    return a[static_cast<std::size_t>(row * k + column)];
  };
  const auto at_b = [&](int row, int column) {
    return b[static_cast<std::size_t>(row * 8 + column)];
  };
  const auto pair = [&](float low, float high) {
    return std::uint32_t{bits_of_small(half, low)} | std::uint32_t{bits_of_small(half, high)} << 16;
  };
  std::vector<float> fragments_c(128);
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2, in_group = lane & 3;
    std::uint32_t* w = &words[static_cast<std::size_t>(lane * 6)];
    if (tf32) {
      const float values[] = {at_a(group, in_group),     at_a(group + 8, in_group),
                              at_a(group, in_group + 4), at_a(group + 8, in_group + 4),
                              at_b(in_group, group),     at_b(in_group + 4, group)};
      for (int i = 0; i < 6; ++i) w[i] = std::bit_cast<std::uint32_t>(values[i]);
    } else {
      const int p = in_group * 2;
      w[0] = pair(at_a(group, p), at_a(group, p + 1));
      w[1] = pair(at_a(group + 8, p), at_a(group + 8, p + 1));
      w[2] = pair(at_a(group, p + 8), at_a(group, p + 9));
      w[3] = pair(at_a(group + 8, p + 8), at_a(group + 8, p + 9));
      w[4] = pair(at_b(p, group), at_b(p + 1, group));
      w[5] = pair(at_b(p + 8, group), at_b(p + 9, group));
    }
    for (int i = 0; i < 4; ++i) {
      fragments_c[static_cast<std::size_t>(4 * lane + i)] =
          c[static_cast<std::size_t>((group + (i < 2 ? 0 : 8)) * 8 + in_group * 2 + i % 2)];
    }
  }
  std::string body = "  %six = mul i32 %t, 6\n  %four = mul i32 %t, 4\n";
  std::string arguments;
  const auto load = [&](const std::string& name, const std::string& type, const char* operand,
                        const char* first, int i) {
    body += "  %i" + name + " = add i32 " + first + ", " + std::to_string(i) + "\n  %q" + name +
            " = getelementptr i32, ptr addrspace(1) " + operand + ", i32 %i" + name + "\n  %" +
            name + " = load " + type + ", ptr addrspace(1) %q" + name + ", align 4\n";
    arguments += (arguments.empty() ? "" : ", ") + type + " %" + name;
  };
  for (int i = 0; i < 6; ++i) load("w" + std::to_string(i), "i32", "%p0", "%six", i);
  for (int i = 0; i < 4; ++i) load("c" + std::to_string(i), "float", "%p1", "%four", i);
  body +=
      "  %d = call { float, float, float, float } @" + std::string(op) + "(" + arguments + ")\n";
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    body += "  %d" + n + " = extractvalue { float, float, float, float } %d, " + n + "\n  %o" + n +
            " = getelementptr float, ptr addrspace(1) %p2, i32 %ic" + n + "\n  store float %d" + n +
            ", ptr addrspace(1) %o" + n + ", align 4\n";
  }
  std::vector<float> fragments_d(128);
  const KernelText kernel{32, 0, 3, body + "  ret void"};
  CHECK(text_of(run(kernel, {read_buffer(words), read_buffer(fragments_c),
                             written_buffer(fragments_d)})) == "");
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      double expected = c[static_cast<std::size_t>(row * 8 + column)],
             largest = std::fabs(expected);
      for (int i = 0; i < k; ++i) {
        const double product = static_cast<double>(exact_a[static_cast<std::size_t>(row * k + i)]) *
                               exact_b[static_cast<std::size_t>(i * 8 + column)];
        expected += product;
        largest = std::max(largest, std::fabs(product));
      }
      const int lane = row % 8 * 4 + column / 2, i = (row / 8) * 2 + column % 2;
      CHECK(std::fabs(fragments_d[static_cast<std::size_t>(4 * lane + i)] - expected) <=
            std::fabs(expected) * 0x1p-23 + 18 * largest * 0x1p-25);
    }
  }
}

}  // namespace

/// Elements of a fragment's register, byte by byte, as the PTX ISA says for m16n8k32.
void check_byte_mma(bool signed_a, bool signed_b, const char* op) {
  INFO(op);
  std::mt19937 random(static_cast<unsigned>(dyn::testing::test_seed(7)));
  constexpr int m = 16, n = 8, k = 32;
  std::vector<std::uint8_t> a(m * k), b(k * n);
  std::vector<std::uint32_t> c(m * n), d(m * n), words(32 * 10);
  for (std::uint8_t& byte : a) byte = static_cast<std::uint8_t>(random());
  for (std::uint8_t& byte : b) byte = static_cast<std::uint8_t>(random());
  for (std::uint32_t& sum : c) sum = static_cast<std::uint32_t>(random());
  const auto four = [](auto&& at) {
    std::uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word |= std::uint32_t{at(i)} << (8 * i);
    return word;
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2, in_group = lane & 3;
    std::uint32_t* w = &words[static_cast<std::size_t>(lane * 10)];
    for (int half = 0; half < 2; ++half) {
      const int first = in_group * 4 + half * 16;
      for (int lower = 0; lower < 2; ++lower)
        w[2 * half + lower] = four([&](int i) {
          return a[static_cast<std::size_t>((group + 8 * lower) * k + first + i)];
        });
      w[4 + half] =
          four([&](int i) { return b[static_cast<std::size_t>((first + i) * n + group)]; });
    }
    for (int i = 0; i < 4; ++i)
      w[6 + i] = c[static_cast<std::size_t>((group + (i < 2 ? 0 : 8)) * n + in_group * 2 + i % 2)];
  }
  std::string body = "  %ten = mul i32 %t, 10\n  %four = mul i32 %t, 4\n", arguments;
  for (int i = 0; i < 10; ++i) {
    const std::string x = std::to_string(i);
    body += "  %i" + x + " = add i32 %ten, " + x + "\n  %q" + x +
            " = getelementptr i32, ptr addrspace(1) %p0, i32 %i" + x + "\n  %w" + x +
            " = load i32, ptr addrspace(1) %q" + x + ", align 4\n";
    arguments += (i == 0 ? "i32 %w" : ", i32 %w") + x;
  }
  body += "  %d = call { i32, i32, i32, i32 } @" + std::string(op) + "(" + arguments + ")\n";
  for (int i = 0; i < 4; ++i) {
    const std::string x = std::to_string(i);
    body += "  %d" + x + " = extractvalue { i32, i32, i32, i32 } %d, " + x + "\n  %j" + x +
            " = add i32 %four, " + x + "\n  %o" + x +
            " = getelementptr i32, ptr addrspace(1) %p1, i32 %j" + x + "\n  store i32 %d" + x +
            ", ptr addrspace(1) %o" + x + ", align 4\n";
  }
  const KernelText kernel{32, 0, 2, body + "  ret void"};
  CHECK(text_of(run(kernel, {read_buffer(words), written_buffer(d)})) == "");
  const auto value = [](std::uint8_t byte, bool is_signed) -> std::int64_t {
    return is_signed ? static_cast<std::int8_t>(byte) : byte;
  };
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      std::int64_t sum = c[static_cast<std::size_t>(row * n + column)];
      for (int i = 0; i < k; ++i)
        sum += value(a[static_cast<std::size_t>(row * k + i)], signed_a) *
               value(b[static_cast<std::size_t>(i * n + column)], signed_b);
      const int lane = row % 8 * 4 + column / 2, i = row / 8 * 2 + column % 2;
      CHECK(d[static_cast<std::size_t>(4 * lane + i)] == static_cast<std::uint32_t>(sum));
    }
  }
}

TEST_CASE("emulator: mma.sync of bytes") {
  check_byte_mma(false, false, "dyn.dev.mma.m16n8k32.u8.u8");
  check_byte_mma(false, true, "dyn.dev.mma.m16n8k32.u8.s8");
  check_byte_mma(true, false, "dyn.dev.mma.m16n8k32.s8.u8");
  check_byte_mma(true, true, "dyn.dev.mma.m16n8k32.s8.s8");
}

TEST_CASE("emulator: prmt takes bytes, or their signs") {
  std::vector<std::uint32_t> words(32 * 3), d(32 * 1);
  const std::uint32_t selectors[] = {0x3210, 0x7654, 0x6420, 0x2064,
                                     0x7531, 0x3175, 0xb3a2, 0xfedc};
  const std::uint32_t expected[] = {0x84030201, 0x08870605, 0x87050301, 0x03018705,
                                    0x08068402, 0x84020806, 0xff840003, 0x00ff0000};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    words[3 * lane] = 0x84030201;
    words[3 * lane + 1] = 0x08870605;
    words[3 * lane + 2] = selectors[lane % 8];
  }
  std::string body = "  %three = mul i32 %t, 3\n";
  for (const char* i : {"0", "1", "2"}) {
    const std::string x = i;
    body += "  %i" + x + " = add i32 %three, " + x + "\n  %q" + x +
            " = getelementptr i32, ptr addrspace(1) %p0, i32 %i" + x + "\n  %w" + x +
            " = load i32, ptr addrspace(1) %q" + x + ", align 4\n";
  }
  body +=
      "  %d = call i32 @dyn.dev.prmt.b32(i32 %w0, i32 %w1, i32 %w2)\n  %o = getelementptr i32, ptr "
      "addrspace(1) %p1, i32 %t\n  store i32 %d, ptr addrspace(1) %o, align 4\n  ret void";
  CHECK(text_of(run({32, 0, 2, body}, {read_buffer(words), written_buffer(d)})) == "");
  for (std::size_t lane = 0; lane < 32; ++lane) CHECK(d[lane] == expected[lane % 8]);
}

TEST_CASE("emulator: mma.sync") {
  check_mma("f16", "dyn.dev.mma.m16n8k16.f16");
  check_mma("bf16", "dyn.dev.mma.m16n8k16.bf16");
  check_mma("tf32", "dyn.dev.mma.m16n8k8.tf32");
}
