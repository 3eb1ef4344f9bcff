#include "src/runtime/weights/weight_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "graph/ir/scalars.hpp"
#include "src/base/huge_pages.hpp"
#include "src/rkernel/expr/narrow.hpp"
#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

using Kind = graph::WeightSource::Kind;

void fill_splat(DType dtype, double value, std::int64_t count, void* out) {
  if (is_code(dtype)) {
    std::fill_n(static_cast<std::uint8_t*>(out), count,
                static_cast<std::uint8_t>(graph::code_of_number(dtype, value)));
    return;
  }
  const bool is_filled = graph::with_element_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      std::fill_n(static_cast<T*>(out), count, static_cast<T>(value));
    else
      std::fill_n(static_cast<T*>(out), count, static_cast<T>(graph::saturated(dtype, value)));
  });
  if (!is_filled)
    std::fill_n(static_cast<std::uint16_t*>(out), count, graph::code_of_float(dtype, value));
}

}  // namespace

Shape weight_shape(const graph::Value& weight) {
  Shape shape;
  for (const graph::Dim dim : weight.type.dims) {
    const auto size = dim.constant();
    if (!size)
      model_error(fmt::format("weight '{}' is {}: the sizes of a weight must be constants",
                              weight.name, to_string(weight.type)));
    if (*size < 0)
      model_error(fmt::format("weight '{}' is {}: a size is negative", weight.name,
                              to_string(weight.type)));
    shape.push_back(*size);
  }
  try {
    element_count(shape);
  } catch (const Error& error) {
    model_error(fmt::format("weight '{}': {}", weight.name, error.message()));
  }
  return shape;
}

void store_constant(const graph::Value& value, void* out) {
  const bool is_stored = graph::with_element_type(value.type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>)
      *static_cast<T*>(out) = static_cast<T>(value.constant);
    else
      *static_cast<T*>(out) = static_cast<T>(value.integer);
  });
  if (!is_stored)
    *static_cast<std::uint16_t*>(out) = graph::code_of_float(value.type.dtype, value.constant);
}

namespace {

/// The format has no elements of less than a byte: they lie there as bytes.
bool holds(const SafetensorsEntry& entry, DType dtype) {
  if (graph::packed_bits(dtype) == 0) return entry.dtype == dtype;
  return entry.dtype == (graph::is_signed_code(dtype) ? DType::i8 : DType::u8);
}

Safetensors open_file(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    throw Error(ErrorKind::device, fmt::format("cannot read the model's weights file '{}': there "
                                               "is no such file. Options::random_weights "
                                               "(dynrun --random-weights) needs none",
                                               path));
  }
  return Safetensors::open(path);
}

}  // namespace

WeightSources::WeightSources(const graph::Module& module, const LoadRequest& request,
                             const Options& options)
    : module_(module), gives_files_(request.gives_files) {
  if (!options.random_weights) open_files(module, request);
  for (std::size_t id = 0; id < module.values.size(); ++id) {
    const graph::Value& value = module.values[id];
    if (value.kind == graph::ValueKind::Weight)
      entries_.emplace(static_cast<graph::ValueId>(id), make_entry(value, options));
  }
}

void WeightSources::open_files(const graph::Module& module, const LoadRequest& request) {
  for (const std::string& name : module.weight_files) {
    if (request.reader != nullptr) {
      files_.push_back(Safetensors::from_reader(request.reader->open(name)));
      continue;
    }
    if (request.files == nullptr) {
      files_.push_back(
          open_file((std::filesystem::path(request.weight_directory) / name).string()));
      continue;
    }
    const auto found = request.files->find(name);
    if (found == request.files->end())
      throw Error(ErrorKind::user,
                  fmt::format("weights file '{}' is not among the files that were given", name));
    files_.push_back(Safetensors::from_bytes(name, std::as_bytes(std::span(found->second))));
  }
}

WeightSources::Entry WeightSources::make_entry(const graph::Value& weight,
                                               const Options& options) const {
  const Shape shape = weight_shape(weight);
  Entry entry;
  entry.kind = weight.weight.kind;
  if (!weight.weight.parts.empty()) return entry;
  if (options.random_weights || entry.kind == Kind::Random) {
    entry.kind = Kind::Random;
    entry.seed =
        weight_seed(options.random_weights ? options.seed : weight.weight.seed, weight.name);
    entry.spread = normal_spread(weight.name, shape);
  } else if (entry.kind == Kind::Splat) {
    entry.splat = weight.weight.splat;
  } else {
    find_in_files(weight, shape, entry);
  }
  return entry;
}

void WeightSources::find_in_files(const graph::Value& weight, const Shape& shape,
                                  Entry& entry) const {
  if (files_.empty())
    model_error(fmt::format("weight '{}' comes from a file, but the model names no weights file",
                            weight.name));
  const Safetensors* owner = nullptr;
  for (const Safetensors& file : files_) {
    if (file.find(weight.name) == nullptr) continue;
    if (owner != nullptr)
      model_error(fmt::format("weight '{}' is in two weights files, '{}' and '{}'", weight.name,
                              owner->name(), file.name()));
    owner = &file;
  }
  if (owner == nullptr) {
    std::vector<std::string_view> names;
    for (const Safetensors& file : files_) names.push_back(file.name());
    model_error(fmt::format("weight '{}' is not in '{}'", weight.name, fmt::join(names, "' or '")));
  }
  const SafetensorsEntry& found = *owner->find(weight.name);
  if (!holds(found, weight.type.dtype) || found.shape != shape) {
    model_error(fmt::format("weight '{}' is declared {}, but '{}' has {} {}", weight.name,
                            to_string(weight.type), owner->name(), found.dtype_name,
                            to_string(found.shape)));
  }
  entry.bytes = found.bytes;
  entry.is_given =
      gives_files_ && (owner->read_file() == nullptr || !owner->read_file()->is_host_memory());
}

std::span<const std::byte> WeightSources::file_bytes(graph::ValueId weight) const {
  return entries_.at(weight).bytes;
}

bool WeightSources::only_files() const {
  const bool no_random = std::none_of(entries_.begin(), entries_.end(), [](const auto& entry) {
    return entry.second.kind == Kind::Random;
  });
  return no_random && !files_.empty() &&
         std::all_of(files_.begin(), files_.end(), [](const Safetensors& file) {
           return file.read_file() != nullptr ? !file.read_file()->identity().empty()
                                              : file.state().has_value();
         });
}

void WeightSources::read_data() const {
  for (const Safetensors& file : files_) {
    if (file.read_file() != nullptr) file.read_file()->read_data();
  }
}

void WeightSources::release(graph::ValueId weight) const {
  const std::span<const std::byte> bytes = entries_.at(weight).bytes;
  if (!entries_.at(weight).is_given || bytes.empty()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes,
                       last = (begin + bytes.size()) / page_bytes * page_bytes;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

double WeightSources::splat(graph::ValueId weight) const { return entries_.at(weight).splat; }

bool WeightSources::is_random(graph::ValueId weight) const {
  const Entry& entry = entries_.at(weight);
  if (module_.value(weight).weight.parts.empty()) return entry.kind == Kind::Random;
  return std::ranges::all_of(module_.value(weight).weight.parts,
                             [this](graph::ValueId part) { return is_random(part); });
}

void WeightSources::fill_part(graph::ValueId part, DType dtype, std::int64_t first,
                              std::int64_t count, std::byte* out) const {
  const DType held = module_.value(part).type.dtype;
  if (held == dtype) return fill(part, first, count, out);
  std::array<std::uint16_t, 1024> bits;
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t some = std::min(count - done, static_cast<std::int64_t>(bits.size()));
    fill(part, first + done, some, bits.data());
    rkernel::convert(held, bits.data(), dtype,
                     out + done * static_cast<std::int64_t>(size_of(dtype)), some);
    done += some;
  }
}

std::vector<float> WeightSources::floats(graph::ValueId weight) const {
  const std::int64_t count = element_count(weight_shape(module_.value(weight)));
  std::vector<float> all(static_cast<std::size_t>(count));
  fill_part(weight, DType::f32, 0, count, reinterpret_cast<std::byte*>(all.data()));
  return all;
}

namespace {

constexpr float most_code = 127;
constexpr std::int32_t middle_code = 128;
/// Elements of a weight that are quantised at once.
constexpr std::int64_t stretch = 1 << 14;

/// The columns of the weight that these codes, scales or sums are made of.
std::int64_t columns_in(const graph::Module& module, const graph::Value& quantised) {
  const std::int64_t length = quantised.weight.block;
  // Codes have the columns as their last axis, scales and sums as their only one.
  if (length == 0) return weight_shape(quantised).back();
  return element_count(weight_shape(module.value(quantised.weight.parts[0]))) / length;
}

float code_of(float element, float scale) {
  if (scale == 0) return 0;
  return std::nearbyint(std::clamp(element / scale, -most_code, most_code));
}

}  // namespace

const WeightSources::Columns& WeightSources::columns_of(const graph::Value& quantised) const {
  const std::lock_guard lock(mutex_);
  const auto key =
      std::tuple(quantised.weight.parts[0], quantised.weight.block, columns_in(module_, quantised));
  const auto known = columns_.find(key);
  if (known != columns_.end()) return known->second;
  return columns_.emplace(key, made_columns(quantised)).first->second;
}

WeightSources::Columns WeightSources::made_columns(const graph::Value& quantised) const {
  const graph::ValueId source = quantised.weight.parts[0];
  const std::int64_t all = element_count(weight_shape(module_.value(source))),
                     length = quantised.weight.block;
  const std::int64_t count = columns_in(module_, quantised);
  const auto column = [&](std::int64_t i) {
    return static_cast<std::size_t>(length > 0 ? i / length : i % count);
  };
  Columns columns{std::vector<float>(static_cast<std::size_t>(count)),
                  std::vector<std::int32_t>(static_cast<std::size_t>(count))};
  std::vector<float> some(static_cast<std::size_t>(stretch));
  const auto for_each = [&](const auto& visit) {
    for (std::int64_t first = 0; first < all; first += stretch) {
      const std::int64_t size = std::min(stretch, all - first);
      fill_part(source, DType::f32, first, size, reinterpret_cast<std::byte*>(some.data()));
      for (std::int64_t i = 0; i < size; ++i)
        visit(column(first + i), some[static_cast<std::size_t>(i)]);
    }
  };
  for_each([&](std::size_t n, float element) {
    if (!std::isfinite(element))
      model_error(
          fmt::format("column {} of weight '{}' holds {}, which has no place in i8; use "
                      "precision bf16 or f32",
                      n, module_.value(source).name, element));
    columns.scales[n] = std::max(columns.scales[n], std::fabs(element));
  });
  for (float& scale : columns.scales) scale /= most_code;
  for_each([&](std::size_t n, float element) {
    columns.sums[n] += middle_code * static_cast<std::int32_t>(code_of(element, columns.scales[n]));
  });
  return columns;
}

void WeightSources::fill_quantised(const graph::Value& weight, std::int64_t first,
                                   std::int64_t count, void* out) const {
  const Columns& columns = columns_of(weight);
  const auto place = static_cast<std::size_t>(first), size = static_cast<std::size_t>(count);
  if (weight.weight.kind == Kind::Scales) {
    std::memcpy(out, columns.scales.data() + place, size * sizeof(float));
  } else if (weight.weight.kind == Kind::Sums) {
    std::memcpy(out, columns.sums.data() + place, size * sizeof(std::int32_t));
  } else {
    const std::int64_t length = weight.weight.block,
                       all = static_cast<std::int64_t>(columns.scales.size());
    std::vector<float> some(size);
    fill_part(weight.weight.parts[0], DType::f32, first, count,
              reinterpret_cast<std::byte*>(some.data()));
    auto* codes = static_cast<std::int8_t*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t n = length > 0 ? (first + i) / length : (first + i) % all;
      codes[i] = static_cast<std::int8_t>(
          code_of(some[static_cast<std::size_t>(i)], columns.scales[static_cast<std::size_t>(n)]));
    }
  }
}

/// Row after row, as graph::OpId::UnpackBlocks says.
void WeightSources::fill_from_blocks(const graph::Value& weight, std::int64_t first,
                                     std::int64_t count, float* out) const {
  const std::vector<graph::ValueId>& parts = weight.weight.parts;
  const auto last_dim = [&](graph::ValueId id) {
    return *module_.value(id).type.dims.back().constant();
  };
  const std::int64_t size = *weight.type.dims.back().constant(), block = weight.weight.block,
                     blocks = last_dim(parts[1]);
  const int bits = weight.weight.bits;
  const std::int64_t row_bytes = blocks * block * bits / 8;
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(row_bytes)),
      zeros(static_cast<std::size_t>(blocks), static_cast<std::uint8_t>(1 << (bits - 1)));
  std::vector<float> scales(static_cast<std::size_t>(blocks));
  const std::int64_t last = first + count;
  for (std::int64_t row = first / size; row * size < last; ++row) {
    fill(parts[0], row * row_bytes, row_bytes, codes.data());
    fill_part(parts[1], DType::f32, row * blocks, blocks,
              reinterpret_cast<std::byte*>(scales.data()));
    if (parts.size() > 2) fill(parts[2], row * blocks, blocks, zeros.data());
    const std::int64_t end = std::min(size, last - row * size);
    for (std::int64_t k = std::max<std::int64_t>(0, first - row * size); k < end; ++k) {
      const std::int64_t bit = k * bits;
      const auto at = static_cast<std::size_t>(k / block);
      const int code = codes[static_cast<std::size_t>(bit / 8)] >> (bit % 8) & ((1 << bits) - 1);
      *out++ = static_cast<float>(code - int{zeros[at]}) * scales[at];
    }
  }
}

/// Row after row: a stretch of each part.
void WeightSources::fill_from_parts(const graph::Value& weight, std::int64_t first,
                                    std::int64_t count, std::byte* out) const {
  const std::int64_t columns = *weight.type.dims.back().constant();
  const auto element_bytes = static_cast<std::int64_t>(size_of(weight.type.dtype));
  const std::int64_t last = first + count;
  for (std::int64_t row = first / columns; row * columns < last; ++row) {
    std::int64_t start = row * columns;
    for (const graph::ValueId part : weight.weight.parts) {
      const std::int64_t width = *module_.value(part).type.dims.back().constant();
      const std::int64_t from = std::max(first, start), to = std::min(last, start + width);
      if (from < to)
        fill_part(part, weight.type.dtype, row * width + (from - start), to - from,
                  out + (from - first) * element_bytes);
      start += width;
    }
  }
}

/// Row after row of the last axis: what the part has there, then zeros, of which all bytes are 0.
void WeightSources::fill_padded(const graph::Value& weight, std::int64_t first, std::int64_t count,
                                std::byte* out) const {
  const graph::ValueId part = weight.weight.parts[0];
  const Shape shape = weight_shape(weight), inner = weight_shape(module_.value(part));
  const auto element_bytes = static_cast<std::int64_t>(size_of(weight.type.dtype));
  const std::int64_t columns = shape.back(), width = inner.back(), last = first + count;
  std::memset(out, 0, static_cast<std::size_t>(count * element_bytes));
  for (std::int64_t row = first / columns; row * columns < last; ++row) {
    std::int64_t rest = row, place = 0, stride = 1;  // the row's among those of the part
    for (std::size_t axis = shape.size() - 1; axis-- > 0 && place >= 0;) {
      const std::int64_t index = rest % shape[axis];
      rest /= shape[axis];
      place = index < inner[axis] ? place + index * stride : -1;
      stride *= inner[axis];
    }
    const std::int64_t from = std::max(first, row * columns),
                       to = std::min(last, row * columns + width);
    if (place >= 0 && from < to)
      fill(part, place * width + (from - row * columns), to - from,
           out + (from - first) * element_bytes);
  }
}

void WeightSources::fill(graph::ValueId weight, std::int64_t first, std::int64_t count,
                         void* out) const {
  if (count == 0) return;
  const Entry& entry = entries_.at(weight);
  const DType dtype = module_.value(weight).type.dtype;
  const std::size_t element_bytes = size_of(dtype);
  switch (entry.kind) {
    case Kind::File:
      std::memcpy(out, entry.bytes.data() + static_cast<std::size_t>(first) * element_bytes,
                  static_cast<std::size_t>(count) * element_bytes);
      break;
    case Kind::Splat: fill_splat(dtype, entry.splat, count, out); break;
    case Kind::Random: fill_random(dtype, entry.seed, entry.spread, first, count, out); break;
    case Kind::Blocks:
      fill_from_blocks(module_.value(weight), first, count, static_cast<float*>(out));
      break;
    case Kind::Padded:
      fill_padded(module_.value(weight), first, count, static_cast<std::byte*>(out));
      break;
    case Kind::Codes:
    case Kind::Scales:
    case Kind::Sums: fill_quantised(module_.value(weight), first, count, out); break;
    case Kind::Parts:
      fill_from_parts(module_.value(weight), first, count, static_cast<std::byte*>(out));
      break;
  }
}

}  // namespace dyn::runtime
