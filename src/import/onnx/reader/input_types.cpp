#include "src/import/onnx/reader/input_types.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "graph/ir/verify.hpp"
#include "graph/text/lexer.hpp"
#include "src/import/onnx/reader/tensor.hpp"

namespace dyn::onnx {
namespace {

constexpr const char* nameless = "_";

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorKind::user, message); }

bool is_letter(char letter) { return std::isalpha(static_cast<unsigned char>(letter)) != 0; }
bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

bool is_number(const std::string& word) {
  return !word.empty() && std::ranges::all_of(word, is_digit);
}

bool is_name(const std::string& word) {
  const auto fits = [](char letter) {
    return is_letter(letter) || is_digit(letter) || letter == '_';
  };
  return !word.empty() && is_letter(word.front()) && std::ranges::all_of(word, fits) &&
         graph::can_name_dim(word);
}

/// Some exporters write 0 or -1 for a size that is not known.
std::optional<std::int64_t> size_of(const TensorShapeProto::Dimension& dim) {
  return dim.has_dim_value() && dim.dim_value() > 0 ? std::optional(dim.dim_value()) : std::nullopt;
}

/// The name of a dim in the file; empty where it has none. "?" and its like tell no dim from
/// others.
std::string name_of(const TensorShapeProto::Dimension& dim) {
  const std::string& name = dim.dim_param();
  const auto tells = [](char letter) {
    return is_letter(letter) || is_digit(letter) || static_cast<unsigned char>(letter) >= 0x80;
  };
  return name != "-1" && std::ranges::any_of(name, tells) ? name : std::string();
}

std::string text_of(const TensorShapeProto::Dimension& dim) {
  return size_of(dim)           ? std::to_string(*size_of(dim))
         : name_of(dim).empty() ? "without a name"
                                : "called " + name_of(dim);
}

const TensorShapeProto& shape_of(const ValueInfoProto& input) {
  return input.type().tensor_type().shape();
}

bool has_shape(const ValueInfoProto& input) { return input.type().tensor_type().has_shape(); }

/// Each dim of an input for which the file has no shape.
const TensorShapeProto::Dimension& unknown_dim() {
  return TensorShapeProto::Dimension::default_instance();
}

const TensorShapeProto::Dimension& dim_at(const ValueInfoProto& input, int axis) {
  return has_shape(input) ? shape_of(input).dim(axis) : unknown_dim();
}

std::int64_t number_of(const std::string& word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc()) fail(fmt::format("cannot be {}", word));
  return number;
}

}  // namespace

InputTypes::InputTypes(graph::Builder& builder, FileSizes& sizes,
                       const std::vector<const ValueInfoProto*>& inputs,
                       const ImportOptions& options)
    : builder_(builder),
      sizes_(sizes),
      free_dims_(options.free_dims),
      ones_(options.ones),
      ranks_(options.ranks),
      splits_(numbers_of(options.splits)) {
  for (const auto& [name, words] : free_dims_) {
    const auto found = std::ranges::find_if(
        inputs, [&](const ValueInfoProto* input) { return input->name() == name; });
    if (found == inputs.end()) {
      std::vector<std::string> names;
      for (const ValueInfoProto* input : inputs) names.push_back(input->name());
      fail(fmt::format(
          "dims of \"{}\" are to be freed, but the model has no such input; its inputs are: {}",
          name, fmt::join(names, ", ")));
    }
    read_words(**found, words);
  }
  for (const auto& [word, size] : words_) taken_.take(word);
  UnrankedInputs unranked;
  for (const ValueInfoProto* input : inputs)
    if (input->type().has_tensor_type() && rank_of(*input) < 0)
      unranked.names.push_back(input->name());
  if (!unranked.names.empty()) throw unranked;
}

void InputTypes::read_words(const ValueInfoProto& input, const std::vector<std::string>& words) {
  const int rank = rank_of(input);
  if (static_cast<int>(words.size()) != rank)
    fail(fmt::format("the input {} has {} dims, but {} are given: {}", input.name(), rank,
                     words.size(), fmt::join(words, ",")));
  for (int i = 0; i < rank; ++i) {
    try {
      read_word(dim_at(input, i), words[static_cast<std::size_t>(i)]);
    } catch (const Error& error) {
      fail(fmt::format("dim {} of the input {} {}", i, input.name(), error.message()));
    }
  }
}

/// -1 where nobody knows.
int InputTypes::rank_of(const ValueInfoProto& input) const {
  if (has_shape(input)) return shape_of(input).dim_size();
  if (const auto words = free_dims_.find(input.name()); words != free_dims_.end())
    return static_cast<int>(words->second.size());
  const auto rank = ranks_.find(input.name());
  return rank == ranks_.end() ? -1 : rank->second;
}

void InputTypes::read_word(const Dimension& dim, const std::string& word) {
  if (is_number(word)) {
    if (&dim == &unknown_dim()) {
      number_of(word);
      return;
    }
    if (size_of(dim) && std::to_string(*size_of(dim)) == word) return;
    fail(fmt::format("is {} in the file, not {}; a name, or _, frees it", text_of(dim), word));
  }
  if (word == nameless) {
    if (!name_of(dim).empty())
      fail(fmt::format("is {} in the file, and free by that; give this or another name",
                       text_of(dim)));
    return;
  }
  if (!is_name(word))
    fail(fmt::format(
        "cannot be called \"{}\"; a name is letters, digits and _, and begins with a letter",
        word));
  std::optional<std::int64_t>& size = words_[word];
  if (size && size_of(dim) && *size != *size_of(dim))
    fail(fmt::format("is {} in the file and cannot be {}, which is {} there in another place",
                     *size_of(dim), word, *size));
  if (size_of(dim)) size = size_of(dim);
  if (!name_of(dim).empty()) renamed_[name_of(dim)].insert(word);
}

graph::TensorType InputTypes::type_of(const ValueInfoProto& input) {
  if (!input.type().has_tensor_type())
    throw Error(ErrorKind::unsupported,
                "it is no tensor; sequences, maps and optional values are not supported");
  const TypeProto::Tensor& tensor = input.type().tensor_type();
  const bool are_texts = tensor.elem_type() == TensorProto::STRING;
  graph::TensorType type{are_texts ? DType::i64 : dtype_of(tensor.elem_type()), {}};
  const auto words = free_dims_.find(input.name());
  const std::size_t number = inputs_++;
  const int rank = rank_of(input);
  for (int i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const Dimension& dim = dim_at(input, i);
    type.dims.push_back(
        words != free_dims_.end()
            ? given_dim(dim, words->second[axis], fmt::format("dim {} of {}", i, input.name()))
            : file_dim(dim, {number, axis}));
  }
  if (!graph::is_countable(type))
    throw Error(ErrorKind::model, "its dims have a product beyond 63 bits");
  if (words != free_dims_.end()) sizes_.add({input.name(), words->second, type.dims});
  return type;
}

SharedNames InputTypes::shared_names() const {
  SharedNames names = names_;
  names.keep_shared();
  return names;
}

graph::Dim InputTypes::given_dim(const Dimension& dim, const std::string& word,
                                 const std::string& place) {
  if (is_number(word)) return builder_.dims().constant(number_of(word));
  if (word != nameless) return symbol(word);
  const graph::Dim free = builder_.dims().symbol({});
  if (size_of(dim)) sizes_.free({free, *size_of(dim), place});
  return free;
}

graph::Dim InputTypes::file_dim(const Dimension& dim, DimPlace place) {
  if (dim.dim_value() < -1)
    throw Error(ErrorKind::model, fmt::format("a dim is {}", dim.dim_value()));
  if (const std::optional<std::int64_t> size = size_of(dim)) return builder_.dims().constant(*size);
  const std::string name = name_of(dim);
  return name.empty() ? nameless_symbol() : dim_called(name, place);
}

graph::Dim InputTypes::dim_called(const std::string& name, DimPlace place) {
  names_.add(name, place);
  const auto renamed = renamed_.find(name);
  if (renamed != renamed_.end() && renamed->second.size() > 1)
    fail(
        fmt::format("its dim {} is called {} in the file, which cannot be both {}; say what this "
                    "input's dims are too",
                    place.axis, name, fmt::join(renamed->second, " and ")));
  const std::string& known = renamed == renamed_.end() ? name : *renamed->second.begin();
  const auto split = splits_.find(place);
  if (split == splits_.end()) return symbol(known);
  return split->second == 0 ? builder_.dims().constant(1)
                            : symbol(fmt::format("{}\n{}", known, split->second + 1));
}

/// Made in any case, so that those after it are called the same in every import.
graph::Dim InputTypes::nameless_symbol() {
  const graph::Dim free = builder_.dims().symbol({});
  return ones_.contains(graph::to_string(free)) ? builder_.dims().constant(1) : free;
}

graph::Dim InputTypes::symbol(const std::string& name) {
  const auto known = symbols_.find(name);
  if (known != symbols_.end()) return known->second;
  const auto word = words_.find(name);
  graph::SymbolInfo info;
  info.name = word == words_.end() ? text_name(name) : name;
  if (word != words_.end()) info.hint = word->second;
  const bool is_one = word == words_.end() && ones_.contains(info.name);
  const graph::Dim made = is_one ? builder_.dims().constant(1) : builder_.symbol(info);
  if (info.hint) sizes_.free({made, *info.hint, name});
  return symbols_.emplace(name, made).first->second;
}

/// Dims have these names in the text: letters, digits and `_`, beginning with a letter, so that no
/// name is that of an unnamed symbol, or a word of the text.
std::string InputTypes::text_name(const std::string& name) {
  std::string plain;
  for (const char letter : name) plain += is_letter(letter) || is_digit(letter) ? letter : '_';
  if (plain.empty() || !is_letter(plain.front()) || !graph::can_name_dim(plain))
    plain = "d_" + plain;
  return taken_.unique(plain);
}

}  // namespace dyn::onnx
