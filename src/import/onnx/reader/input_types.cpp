#include "src/import/onnx/reader/input_types.hpp"

#include <algorithm>
#include <cctype>

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

}  // namespace

InputTypes::InputTypes(graph::Builder& builder, FileSizes& sizes,
                       const std::vector<const ValueInfoProto*>& inputs, const FreeDims& free_dims,
                       const Ones& ones)
    : builder_(builder), sizes_(sizes), free_dims_(free_dims), ones_(ones) {
  for (const auto& [name, words] : free_dims) {
    const auto found = std::ranges::find_if(
        inputs, [&](const ValueInfoProto* input) { return input->name() == name; });
    if (found == inputs.end()) {
      std::vector<std::string> names;
      for (const ValueInfoProto* input : inputs) names.push_back(input->name());
      fail(fmt::format(
          "dims of \"{}\" are to be freed, but the model has no such input; its inputs are: {}",
          name, fmt::join(names, ", ")));
    }
    const TensorShapeProto& shape = shape_of(**found);
    if (static_cast<int>(words.size()) != shape.dim_size())
      fail(fmt::format("the input {} has {} dims, but {} are given: {}", name, shape.dim_size(),
                       words.size(), fmt::join(words, ",")));
    for (int i = 0; i < shape.dim_size(); ++i) {
      try {
        read_word(shape.dim(i), words[static_cast<std::size_t>(i)]);
      } catch (const Error& error) {
        fail(fmt::format("dim {} of the input {} {}", i, name, error.message()));
      }
    }
  }
  for (const auto& [word, size] : words_) taken_.take(word);
}

void InputTypes::read_word(const Dimension& dim, const std::string& word) {
  if (is_number(word)) {
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
  if (name_of(dim).empty()) return;
  const auto [known, is_new] = renamed_.emplace(name_of(dim), word);
  if (!is_new && known->second != word)
    fail(fmt::format("is {} in the file, which cannot be both {} and {}", text_of(dim),
                     known->second, word));
}

graph::TensorType InputTypes::type_of(const ValueInfoProto& input) {
  if (!input.type().has_tensor_type())
    throw Error(ErrorKind::unsupported,
                "it is no tensor; sequences, maps and optional values are not supported");
  const TypeProto::Tensor& tensor = input.type().tensor_type();
  const bool are_texts = tensor.elem_type() == TensorProto::STRING;
  graph::TensorType type{are_texts ? DType::i64 : dtype_of(tensor.elem_type()), {}};
  if (!tensor.has_shape()) throw Error(ErrorKind::unsupported, "its rank is not known");
  const auto words = free_dims_.find(input.name());
  for (int i = 0; i < tensor.shape().dim_size(); ++i)
    type.dims.push_back(
        dim_of(tensor.shape().dim(i),
               words == free_dims_.end() ? nullptr : &words->second[static_cast<std::size_t>(i)],
               fmt::format("dim {} of {}", i, input.name())));
  if (!graph::is_countable(type))
    throw Error(ErrorKind::model, "its dims have a product beyond 63 bits");
  if (words != free_dims_.end()) sizes_.add({input.name(), words->second, type.dims});
  return type;
}

graph::Dim InputTypes::dim_of(const Dimension& dim, const std::string* word,
                              const std::string& place) {
  if (word != nullptr && *word == nameless) {
    const graph::Dim free = builder_.dims().symbol({});
    if (size_of(dim)) sizes_.free({free, *size_of(dim), place});
    return free;
  }
  if (word != nullptr && !is_number(*word)) return symbol(*word);
  if (dim.dim_value() < -1)
    throw Error(ErrorKind::model, fmt::format("a dim is {}", dim.dim_value()));
  if (const std::optional<std::int64_t> size = size_of(dim)) return builder_.dims().constant(*size);
  const std::string name = name_of(dim);
  if (name.empty()) return nameless_symbol();
  const auto renamed = renamed_.find(name);
  return symbol(renamed == renamed_.end() ? name : renamed->second);
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
