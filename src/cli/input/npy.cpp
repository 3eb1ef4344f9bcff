#include "src/cli/input/npy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "graph/ir/codes.hpp"
#include "src/cli/input/ranges.hpp"
#include "src/cli/input/unicode.hpp"

namespace dyn::cli {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t alignment = 64;          // alignment of the data, as the format asks for
constexpr std::size_t longest_header = 65536;  // far beyond what 64 dims need

struct NpyType {
  std::string_view code;
  DType dtype;
};
constexpr std::array<NpyType, 12> npy_types{{{"<f4", DType::f32},
                                             {"<f2", DType::f16},
                                             {"<f8", DType::f64},
                                             {"|i1", DType::i8},
                                             {"<i2", DType::i16},
                                             {"<i4", DType::i32},
                                             {"<i8", DType::i64},
                                             {"|u1", DType::u8},
                                             {"<u2", DType::u16},
                                             {"<u4", DType::u32},
                                             {"<u8", DType::u64},
                                             {"|b1", DType::boolean}}};

[[noreturn]] void npy_error(const std::string& path, std::string_view problem) {
  throw Error(ErrorKind::user, fmt::format("{}: {}", path, problem));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

/// The text after `'key':` in the header's dictionary, up to the dictionary's end.
std::string_view value_of(const std::string& path, std::string_view header, std::string_view key) {
  const std::size_t start = header.find(fmt::format("'{}'", key));
  if (start == std::string_view::npos) npy_error(path, fmt::format("the header has no '{}'", key));
  std::string_view rest = trim(header.substr(start + key.size() + 2));
  if (rest.empty() || rest.front() != ':')
    npy_error(path, fmt::format("the header's '{}' has no value", key));
  return trim(rest.substr(1));
}

/// The code of the elements, without its quotes.
std::string_view parse_descr(const std::string& path, std::string_view text) {
  const std::size_t end = text.find('\'', 1);
  if (text.empty() || text.front() != '\'' || end == std::string_view::npos) {
    npy_error(path, "structured or malformed element types are not supported");
  }
  return text.substr(1, end - 1);
}

DType dtype_of(const std::string& path, std::string_view code) {
  const auto* found = std::find_if(npy_types.begin(), npy_types.end(),
                                   [&](const NpyType& type) { return type.code == code; });
  if (found == npy_types.end()) {
    npy_error(path, fmt::format("element type {} is not supported; use float16, float32, float64, "
                                "bool, integers of 8 to 64 bits, or texts, little-endian",
                                code));
  }
  return found->dtype;
}

Shape parse_tuple(const std::string& path, std::string_view text) {
  const std::size_t end = text.find(')');
  if (text.empty() || text.front() != '(' || end == std::string_view::npos)
    npy_error(path, "the header's 'shape' is no tuple");
  const std::string_view whole = text.substr(0, end + 1);
  std::string_view rest = trim(text.substr(1, end - 1));
  Shape shape;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    shape.push_back(parse_integer(trim(rest.substr(0, comma)), whole));
    rest = comma == std::string_view::npos ? std::string_view() : trim(rest.substr(comma + 1));
  }
  return shape;
}

std::string read_header(const std::string& path, std::ifstream& file) {
  std::array<char, 8> start{};
  if (!file.read(start.data(), start.size()) ||
      std::string_view(start.data(), magic.size()) != magic) {
    npy_error(path, "not a .npy file");
  }
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3)
    npy_error(path, fmt::format("version {} of the .npy format is not known", version));
  std::array<unsigned char, 4> size{};
  if (!file.read(reinterpret_cast<char*>(size.data()), version == 1 ? 2 : 4))
    npy_error(path, "the file ends within its header");
  const std::size_t bytes =
      size[0] | size[1] << 8 | std::size_t{size[2]} << 16 | std::size_t{size[3]} << 24;
  if (bytes > longest_header)
    npy_error(path, fmt::format("a header of {} bytes is not plausible", bytes));
  std::string header(bytes, ' ');
  if (!file.read(header.data(), static_cast<std::streamsize>(bytes)))
    npy_error(path, "the file ends within its header");
  return header;
}

/// A header, and the file where the elements begin.
struct NpyFile {
  std::ifstream file;
  std::string code;
  Shape shape;
  std::uint64_t left = 0;  ///< bytes that follow
};

NpyFile open_npy(const std::string& path) {
  NpyFile npy;
  npy.file.open(path, std::ios::binary);
  if (!npy.file)
    throw Error(ErrorKind::device,
                fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  const std::string header = read_header(path, npy.file);
  if (!value_of(path, header, "fortran_order").starts_with("False")) {
    npy_error(path, "column-major data is not supported; save numpy.ascontiguousarray(a)");
  }
  npy.code = parse_descr(path, value_of(path, header, "descr"));
  npy.shape = parse_tuple(path, value_of(path, header, "shape"));
  npy.left = std::filesystem::file_size(path) - static_cast<std::uint64_t>(npy.file.tellg());
  return npy;
}

/// The size is compared before memory is taken: a header may claim anything.
void check_size(const std::string& path, const NpyFile& npy, std::uint64_t bytes_of_element,
                std::string_view name) {
  const std::int64_t count = element_count(npy.shape);
  if (bytes_of_element > 0 && static_cast<std::uint64_t>(count) > npy.left / bytes_of_element) {
    npy_error(path, fmt::format("the header says {} elements of {}, but {} bytes follow", count,
                                name, npy.left));
  }
}

void read_bytes(const std::string& path, NpyFile& npy, char* to, std::size_t bytes) {
  if (!npy.file.read(to, static_cast<std::streamsize>(bytes)))
    throw Error(ErrorKind::device, fmt::format("{}: reading failed", path));
}

Tensor read_numbers(const std::string& path, NpyFile& npy) {
  const DType dtype = dtype_of(path, npy.code);
  check_size(path, npy, size_of(dtype), name_of(dtype));
  Tensor tensor(dtype, npy.shape);
  read_bytes(path, npy, static_cast<char*>(tensor.raw()), tensor.bytes());
  return tensor;
}

bool is_text_code(std::string_view code) {
  return code.starts_with("<U") || code.starts_with("|S");
}

/// Texts have a fixed width, and NULs fill up the shorter ones.
TextArray read_texts(const std::string& path, NpyFile& npy) {
  constexpr std::int64_t widest = std::int64_t{1} << 30;
  constexpr std::size_t most_empty = 1 << 24;  // they take memory, but none of the file
  const bool is_unicode = npy.code.starts_with("<U");
  const std::int64_t width = parse_integer(std::string_view(npy.code).substr(2), npy.code);
  if (width < 0 || width > widest) npy_error(path, fmt::format("texts cannot be {}", npy.code));
  const std::size_t bytes = static_cast<std::size_t>(width) * (is_unicode ? 4 : 1);
  check_size(path, npy, bytes, npy.code);
  const auto count = static_cast<std::size_t>(element_count(npy.shape));
  if (bytes == 0 && count > most_empty)
    npy_error(path, fmt::format("{} texts without letters are not plausible", count));
  TextArray array{{}, npy.shape};
  std::string element(bytes, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    read_bytes(path, npy, element.data(), bytes);
    const std::optional<std::string> text =
        is_unicode ? text_of_code_points(element) : std::optional(without_nuls(element));
    if (!text) npy_error(path, fmt::format("text {} has a letter that Unicode lacks", i));
    array.texts.push_back(*text);
  }
  return array;
}

void write_file(const std::string& path, std::string_view code, const Shape& shape,
                std::string_view data) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", code, sizes);
  const std::size_t prefix = magic.size() + 4;
  header.append(alignment - (prefix + header.size() + 1) % alignment, ' ').push_back('\n');
  const auto bytes = static_cast<std::uint16_t>(header.size());
  std::ofstream file(path, std::ios::binary);
  file << magic << '\x01' << '\x00' << static_cast<char>(bytes & 0xff)
       << static_cast<char>(bytes >> 8) << header;
  file.write(data.data(), static_cast<std::streamsize>(data.size()));
  file.flush();
  if (!file)
    throw Error(ErrorKind::device,
                fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace

std::variant<Tensor, TextArray> read_any_npy(const std::string& path) {
  NpyFile npy = open_npy(path);
  if (is_text_code(npy.code)) return read_texts(path, npy);
  return read_numbers(path, npy);
}

Tensor read_npy(const std::string& path) {
  NpyFile npy = open_npy(path);
  if (is_text_code(npy.code)) npy_error(path, "it holds texts, not numbers");
  return read_numbers(path, npy);
}

void write_npy(const std::string& path, const TextArray& array) {
  std::vector<std::u32string> letters;
  std::size_t width = 0;
  for (const std::string& text : array.texts) {
    std::optional<std::u32string> decoded = code_points_of(text);
    if (!decoded)
      throw Error(ErrorKind::unsupported,
                  fmt::format("{}: a text is not UTF-8, which .npy files of texts need", path));
    width = std::max(width, decoded->size());
    letters.push_back(*std::move(decoded));
  }
  std::string data;
  for (std::u32string& text : letters) {
    text.resize(width);
    data.append(reinterpret_cast<const char*>(text.data()), text.size() * sizeof(char32_t));
  }
  write_file(path, fmt::format("<U{}", width), array.shape, data);
}

void write_npy(const std::string& path, const Tensor& tensor) {
  // NumPy has no such dtypes: codes are written as the bytes that they are.
  const DType bytes_of_codes = graph::is_signed_code(tensor.dtype()) ? DType::i8 : DType::u8,
              dtype = is_code(tensor.dtype()) ? bytes_of_codes : tensor.dtype();
  const auto* type = std::find_if(npy_types.begin(), npy_types.end(),
                                  [&](const NpyType& t) { return t.dtype == dtype; });
  if (type == npy_types.end()) {
    throw Error(ErrorKind::unsupported,
                fmt::format("{}: .npy files have no {}", path, name_of(tensor.dtype())));
  }
  write_file(path, type->code, tensor.shape(),
             {static_cast<const char*>(tensor.raw()), tensor.bytes()});
}

std::vector<std::string> file_names(std::span<const std::string> names) {
  constexpr std::size_t longest = 200;
  std::set<std::string> taken;
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::string file = name.substr(0, longest);
    for (char& c : file) {
      const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                        c == '.' || static_cast<unsigned char>(c) >= 0x80;
      if (!fits) c = '_';
    }
    if (file.empty() || file.front() == '.') file.insert(0, "_");
    std::string distinct = file;
    for (int number = 2; !taken.insert(distinct).second; ++number)
      distinct = fmt::format("{}_{}", file, number);
    files.push_back(std::move(distinct));
  }
  return files;
}

}  // namespace dyn::cli
