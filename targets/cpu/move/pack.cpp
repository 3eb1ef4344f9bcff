#include "targets/cpu/move/pack.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/choice/cost/rest_columns.hpp"
#include "src/rkernel/expr/block_coder.hpp"
#include "src/rkernel/expr/narrow.hpp"

namespace dyn::cpu {
namespace {

// Blocks of K keep the lines that are written in L1.
constexpr std::int64_t depth_block = 64;

/// Some columns of the source.
struct Columns {
  const rkernel::MatrixElements& source;
  std::int64_t k, first, count;

  /// Elements (row, first + column) as f32, `length` of them along the axis whose stride is 1.
  void read(std::int64_t row, std::int64_t column, std::int64_t length, float* out) const {
    rkernel::convert(source.dtype, source.at(row, first + column), DType::f32, out, length);
  }
};

void pack_floats(const Columns& columns, std::int64_t width, float* out) {
  const rkernel::MatrixElements& source = columns.source;
  const auto* const from = reinterpret_cast<const float*>(source.at(0, columns.first));
  for (std::int64_t start = 0; start < columns.k; start += depth_block) {
    const std::int64_t end = std::min(columns.k, start + depth_block);
    for (std::int64_t column = 0; column < columns.count; ++column) {
      for (std::int64_t row = start; row < end; ++row)
        out[row * width + column] = from[row * source.k_stride + column * source.n_stride];
    }
  }
}

void pack_columns(const Columns& columns, std::int64_t width, float* out) {
  if (columns.source.dtype == DType::f32) return pack_floats(columns, width, out);
  const std::int64_t run = columns.source.k_stride == 1 ? depth_block : 1;
  std::array<float, depth_block> numbers;
  for (std::int64_t start = 0; start < columns.k; start += depth_block) {
    const std::int64_t end = std::min(columns.k, start + depth_block);
    for (std::int64_t column = 0; column < columns.count; ++column) {
      for (std::int64_t first = start; first < end; first += run) {
        const std::int64_t length = std::min(run, end - first);
        columns.read(first, column, length, numbers.data());
        for (std::int64_t i = 0; i < length; ++i)
          out[(first + i) * width + column] = numbers[static_cast<std::size_t>(i)];
      }
    }
  }
}

/// `depth` rows, of which the columns fill the first ones.
void pack_panel(const Columns& columns, std::int64_t width, std::int64_t depth, float* out) {
  if (columns.k == 0) return;  // there may be no memory
  if (columns.count < width || columns.k < depth)
    std::memset(out, 0, static_cast<std::size_t>(depth * width) * sizeof(float));
  if (columns.source.n_stride != 1) return pack_columns(columns, width, out);
  for (std::int64_t row = 0; row < columns.k; ++row)
    columns.read(row, 0, columns.count, out + row * width);
}

/// Rounds to nearest, ties to even. The magnitude must be below 2^22: the sum with `shift` then has
/// no bits of fraction.
float nearest(float value) {
  constexpr float shift = 0x1.8p23f;
  return value + shift - shift;
}

/// The largest magnitude in each column of a panel. As integers the bits of magnitudes are in their
/// order, infinity and NaN above all numbers.
std::vector<float> largest_magnitudes(const std::vector<float>& panel, std::size_t width) {
  std::vector<std::uint32_t> largest(width, 0);
  for (std::size_t row = 0; row < panel.size(); row += width) {
    for (std::size_t column = 0; column < width; ++column) {
      largest[column] = std::max(largest[column],
                                 std::bit_cast<std::uint32_t>(panel[row + column]) & 0x7fff'ffffu);
    }
  }
  std::vector<float> magnitudes;
  for (const std::uint32_t bits : largest) magnitudes.push_back(std::bit_cast<float>(bits));
  return magnitudes;
}

/// The same; throws Error(model) where one is infinity or NaN. `first_column` is for the message.
std::vector<float> finite_magnitudes(const std::vector<float>& panel, std::int64_t columns,
                                     std::int64_t first_column) {
  std::vector<float> largest = largest_magnitudes(panel, static_cast<std::size_t>(columns));
  for (std::size_t column = 0; column < largest.size(); ++column) {
    if (!std::isfinite(largest[column])) {
      throw Error(ErrorKind::model,
                  fmt::format("column {} holds {}, which has no place in i8 and i4; keep weights "
                              "in bf16 or f32",
                              first_column + static_cast<std::int64_t>(column), largest[column]));
    }
  }
  return largest;
}

/// A panel of f32 as multiples of its columns' scales; `first_column` is for the message.
void quantise(const std::vector<float>& panel, std::int64_t columns, std::int64_t first_column,
              std::int8_t* out, float* scales) {
  constexpr float most = 127;
  const auto width = static_cast<std::size_t>(columns);
  const std::vector<float> largest = finite_magnitudes(panel, columns, first_column);
  std::vector<float> divisors;
  for (std::size_t column = 0; column < width; ++column) {
    scales[column] = largest[column] / most;
    divisors.push_back(scales[column] == 0 ? std::numeric_limits<float>::infinity()
                                           : scales[column]);
  }
  for (std::size_t row = 0; row < panel.size(); row += width) {
    for (std::size_t column = 0; column < width; ++column) {
      // A denormal scale is rough: the quotient may be larger than it should be.
      const float quotient = std::clamp(panel[row + column] / divisors[column], -most, most);
      out[row + column] = static_cast<std::int8_t>(static_cast<std::int32_t>(nearest(quotient)));
    }
  }
}

/// Rows of a panel side by side, a group of them in each column: element (k, column) of number
/// (k / size * width + column) * size + k % size.
template <class Element, class Convert>
void interleave(const std::vector<float>& panel, std::size_t width, std::size_t size, Element* out,
                const Convert& convert) {
  for (std::size_t first = 0; first < panel.size(); first += size * width) {
    for (std::size_t column = 0; column < width; ++column) {
      for (std::size_t row = 0; row < size; ++row)
        *out++ = convert(panel[first + row * width + column]);
    }
  }
}

void pack_groups(const std::vector<float>& panel, const rkernel::PackedLayout& layout,
                 std::byte* out) {
  const auto width = static_cast<std::size_t>(layout.panel),
             size = static_cast<std::size_t>(rkernel::elements_of(layout.group));
  const auto whole = []<class Integer>(Integer) {
    return [](float number) { return static_cast<Integer>(number); };
  };
  switch (layout.group) {
    case rkernel::Group::Bytes:
      return interleave(panel, width, size, reinterpret_cast<std::int8_t*>(out),
                        whole(std::int8_t{}));
    case rkernel::Group::Shorts:
      return interleave(panel, width, size, reinterpret_cast<std::int16_t*>(out),
                        whole(std::int16_t{}));
    case rkernel::Group::Bfloats:
      return interleave(panel, width, size, reinterpret_cast<std::uint16_t*>(out),
                        rkernel::to_bf16);
    case rkernel::Group::None: break;
  }
}

void add_up_columns(const std::vector<float>& panel, std::size_t width, std::int32_t* sums) {
  std::fill_n(sums, width, 0);
  for (std::size_t i = 0; i < panel.size(); ++i)
    sums[i % width] += static_cast<std::int32_t>(panel[i]);
}

/// Where the sums of a panel's columns lie; nullptr: nowhere.
template <class Sum>
Sum* sums_of_panel(const rkernel::PackedLayout& layout, std::int64_t panel, std::byte* matrix) {
  if (!layout.sums) return nullptr;
  return reinterpret_cast<Sum*>(matrix + layout.sums_offset_bytes()) + panel * layout.panel;
}

/// One block of a panel: `count` rows that exist, of a block's room. Adds what the codes stand for
/// to `sums`, by column; nullptr: to nothing.
void pack_block(rkernel::BlockCoder& coder, const rkernel::PackedLayout& layout, const float* rows,
                std::int64_t count, std::byte* out, float* sums) {
  coder.choose_scales(rows, count);
  rkernel::convert(DType::f32, coder.scales().data(), layout.coding.scale, out, layout.panel);
  out += layout.panel * static_cast<std::int64_t>(size_of(layout.coding.scale));
  const auto width = static_cast<std::size_t>(layout.panel);
  std::vector<std::int32_t> codes(width);
  std::vector<std::uint32_t> words(width);
  const int codes_of_word = layout.coding.codes_of_word();
  for (int row = 0; row < layout.coding.block; row += codes_of_word) {
    std::ranges::fill(words, 0);
    for (int i = 0; i < codes_of_word && row + i < count; ++i) {
      coder.code(rows + (row + i) * layout.panel, codes.data());
      const int bit = rkernel::bit_of_code(layout.group, layout.coding.bits, i);
      for (std::size_t n = 0; n < width; ++n)
        words[n] |= (static_cast<std::uint32_t>(codes[n]) & 15U) << bit;
      for (std::size_t n = 0; sums != nullptr && n < width; ++n)
        sums[n] += static_cast<float>(codes[n]) * coder.scales()[n];
    }
    std::memcpy(out, words.data(), width * sizeof words[0]);
    out += width * sizeof words[0];
  }
}

/// A panel of whole blocks; rows from `layout.k` on are zeros.
void pack_codes(const std::vector<float>& panel, const rkernel::PackedLayout& layout,
                std::byte* out, float* sums) {
  if (sums != nullptr) std::fill_n(sums, layout.panel, 0.0F);
  rkernel::BlockCoder coder(layout.coding.scale, layout.panel);
  const std::int64_t block = layout.coding.block;
  for (std::int64_t first = 0; first < layout.k; first += block) {
    pack_block(coder, layout, panel.data() + first * layout.panel,
               std::min(block, layout.k - first), out, sums);
    out += layout.panel * layout.coding.block_bytes();
  }
}

void pack_rows(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& source,
               float* out) {
  for (std::int64_t row = 0; row < layout.rows; ++row)
    pack_columns({source, layout.k, layout.n - layout.rows + row, 1}, 1,
                 out + row * layout.row_stride());
}

}  // namespace

std::int64_t packed_rows(const codegen::Isa& isa, DType dtype, std::int64_t k, std::int64_t n) {
  return dtype == DType::f32 ? choice::packed_rest(isa.f32_lanes, isa.panel_f32, n, k) : 0;
}

void pack_panels(const rkernel::PackedLayout& layout, const rkernel::MatrixElements& source,
                 std::int64_t first_panel, std::int64_t last_panel, void* destination) {
  const std::int64_t width = layout.panel, panel_elements = layout.depth() * width;
  auto* out = static_cast<std::byte*>(destination);
  if (layout.rows > 0 && layout.k > 0 && last_panel == layout.panels())
    pack_rows(layout, source, reinterpret_cast<float*>(out + layout.rows_offset_bytes()));
  std::vector<float> panel(layout.dtype == DType::f32 ? 0
                                                      : static_cast<std::size_t>(panel_elements));
  for (std::int64_t i = first_panel; i < last_panel; ++i) {
    const Columns columns{source, layout.k, i * width, std::min(width, layout.n - i * width)};
    std::byte* to = out + i * layout.panel_step();
    if (layout.dtype == DType::f32) {
      pack_panel(columns, width, layout.k, reinterpret_cast<float*>(to));
      continue;
    }
    pack_panel(columns, width, layout.depth(), panel.data());
    if (layout.coding) {
      finite_magnitudes(panel, width, i * width);
      pack_codes(panel, layout, to, sums_of_panel<float>(layout, i, out));
    } else if (layout.group != rkernel::Group::None) {
      pack_groups(panel, layout, to);
      if (layout.sums)
        add_up_columns(panel, static_cast<std::size_t>(width),
                       sums_of_panel<std::int32_t>(layout, i, out));
    } else if (layout.dtype == DType::i8) {
      quantise(panel, width, i * width, reinterpret_cast<std::int8_t*>(to),
               reinterpret_cast<float*>(out + layout.scales_offset_bytes()) + i * width);
    } else {
      rkernel::convert(DType::f32, panel.data(), layout.dtype, to, panel_elements);
    }
  }
}

namespace {

/// Numbers of a block's columns as memory holds them; 0 behind the last column.
template <class Number>
void store_numbers(DType dtype, std::int64_t count, std::int64_t width, std::byte* out,
                   const Number& number) {
  std::vector<float> numbers(static_cast<std::size_t>(width));
  for (std::int64_t n = 0; n < count; ++n) numbers[static_cast<std::size_t>(n)] = number(n);
  rkernel::convert(DType::f32, numbers.data(), dtype, out, width);
}

/// The codes of a word, which lie one above the other and count from 0 up.
class WordOfCodes {
 public:
  WordOfCodes(int bits, std::uint32_t word)
      : bits_(bits), greatest_((1U << bits) - 1), word_(word) {}

  /// As its group takes them.
  std::uint32_t placed(rkernel::Group group) const {
    if (group == rkernel::Group::None || bits_ * rkernel::elements_of(group) == 32) return word_;
    std::uint32_t placed = 0;
    for (int i = 0; i < 32 / bits_; ++i) placed |= code(i) << rkernel::bit_of_code(group, bits_, i);
    return placed;
  }
  /// The sum of the first of them.
  int sum(int count) const {
    std::uint32_t all = 0;
    for (int i = 0; i < count; ++i) all += code(i);
    return static_cast<int>(all);
  }

 private:
  std::uint32_t code(int index) const { return word_ >> (index * bits_) & greatest_; }

  const int bits_;
  const std::uint32_t greatest_, word_;
};

/// A file's columns in one panel.
class CodedPanel {
 public:
  CodedPanel(const rkernel::PackedLayout& layout, const rkernel::CodedColumns& source,
             std::int64_t panel, float* sums)
      : layout_(layout),
        source_(source),
        first_(panel * layout.panel),
        count_(std::min(layout.panel, layout.n - first_)),
        middle_(1 << (layout.coding.bits - 1)),
        // One in each place of a word, times the middle.
        middles_(static_cast<std::uint32_t>(middle_) *
                 (~std::uint32_t{0} / ((1U << layout.coding.bits) - 1))),
        sums_(sums) {
    if (sums_ != nullptr) std::fill_n(sums_, layout_.panel, 0.0F);
  }

  void pack(std::byte* out) const {
    const rkernel::Coding& coding = layout_.coding;
    const std::int64_t number_bytes =
        layout_.panel * static_cast<std::int64_t>(size_of(coding.scale));
    for (std::int64_t block = 0; block < layout_.depth() / coding.block; ++block) {
      store_numbers(coding.scale, count_, layout_.panel, out,
                    [&](std::int64_t n) { return source_.scales[place(n, block)]; });
      out += number_bytes;
      if (coding.zero_points) {
        store_numbers(coding.scale, count_, layout_.panel, out, [&](std::int64_t n) {
          return static_cast<float>(zero_at(place(n, block)) - middle_);
        });
        out += number_bytes;
      }
      out = store_words(block, out);
    }
  }

 private:
  std::int64_t place(std::int64_t n, std::int64_t block) const {
    return (first_ + n) * source_.blocks + block;
  }

  int zero_at(std::int64_t at) const {
    const int zero = source_.zeros[at];
    if (zero >= 2 * middle_)
      throw Error(ErrorKind::model,
                  fmt::format("the zero point of a block of codes of {} bits is {}; it must be a "
                              "code, at most {}",
                              layout_.coding.bits, zero, 2 * middle_ - 1));
    return zero;
  }

  std::byte* store_words(std::int64_t block, std::byte* out) const {
    const int size = layout_.coding.block, bits = layout_.coding.bits;
    for (int k = 0; k < size; k += layout_.coding.codes_of_word()) {
      const std::int64_t left = layout_.k - block * size - k;
      for (std::int64_t n = 0; n < layout_.panel; ++n) {
        std::uint32_t word = middles_;
        if (n < count_) {
          std::memcpy(
              &word,
              source_.codes + (first_ + n) * source_.column_bytes + (block * size + k) * bits / 8,
              sizeof word);
          if (sums_ != nullptr) sums_[n] += sum_of_word(word, left, place(n, block));
        }
        word = WordOfCodes(bits, word ^ middles_).placed(layout_.group);
        std::memcpy(out, &word, sizeof word);
        out += sizeof word;
      }
    }
    return out;
  }

  /// Its first `left` elements count.
  float sum_of_word(std::uint32_t word, std::int64_t left, std::int64_t at) const {
    const rkernel::Coding& coding = layout_.coding;
    const auto count = static_cast<int>(std::clamp<std::int64_t>(left, 0, coding.codes_of_word()));
    const int zero = source_.zeros == nullptr ? middle_ : int{source_.zeros[at]};
    return static_cast<float>(WordOfCodes(coding.bits, word).sum(count) - zero * count) *
           source_.scales[at];
  }

  const rkernel::PackedLayout& layout_;
  const rkernel::CodedColumns& source_;
  const std::int64_t first_, count_;
  /// The source's codes count from 0 up, panels hold them less the middle.
  const int middle_;
  const std::uint32_t middles_;  ///< of a word
  float* const sums_;
};

}  // namespace

void pack_coded_panels(const rkernel::PackedLayout& layout, const rkernel::CodedColumns& source,
                       std::int64_t first_panel, std::int64_t last_panel, void* destination) {
  auto* const out = static_cast<std::byte*>(destination);
  for (std::int64_t panel = first_panel; panel < last_panel; ++panel)
    CodedPanel(layout, source, panel, sums_of_panel<float>(layout, panel, out))
        .pack(out + panel * layout.panel_step());
}

}  // namespace dyn::cpu
