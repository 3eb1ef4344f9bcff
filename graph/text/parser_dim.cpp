// Types and dim expressions.

#include <fmt/format.h>

#include "graph/dims/checked.hpp"
#include "graph/text/parser.hpp"
#include "graph/text/suggest.hpp"

namespace dyn::graph {

namespace {

/// Bytes of a weight, the greatest integer where they are more.
std::int64_t byte_count(const TensorType& type) {
  auto bytes = static_cast<std::int64_t>(size_of(type.dtype));
  for (const Dim dim : type.dims) bytes = saturating_multiply(bytes, *dim.constant());
  return bytes;
}

}  // namespace

TensorType Parser::parse_type(DimsOf owner) {
  const SourceLocation location = token_.location;
  TensorType type;
  type.dtype = parse_dtype_name();
  expect("[", "the dtype");
  if (!token_.is("]")) {
    do { type.dims.push_back(parse_declared_dim(owner)); } while (accept(","));
  }
  expect("]", "a dim");
  if (owner == DimsOf::Weight && byte_count(type) == int64_max) {
    fail(location, "the size of this weight in bytes does not fit into 64 bits");
  }
  return type;
}

Dim Parser::parse_declared_dim(DimsOf owner) {
  const SourceLocation location = token_.location;
  if ((owner == DimsOf::Input || owner == DimsOf::Output) && token_.is_word("_")) {
    take();
    return owner == DimsOf::Input ? module_.dims->symbol({}) : Dim();
  }
  const Dim dim = parse_dim();
  if (owner == DimsOf::Weight && !dim.constant())
    fail(location, "the dims of a weight are constants");
  if (owner == DimsOf::State && bounds(dim).high == int64_max) {
    fail(location,
         fmt::format(
             "the dim {} of a state has no upper bound; declare one: `dim NAME in LOW..HIGH`",
             to_string(dim)));
  }
  if (dim.constant().value_or(0) < 0)
    fail(location, fmt::format("the dim {} is negative", *dim.constant()));
  return dim;
}

DType Parser::parse_dtype_name() {
  const SourceLocation location = token_.location;
  const std::string_view name = take_word("a dtype, such as f32");
  if (const std::optional<DType> dtype = parse_dtype(name)) return *dtype;
  std::vector<std::string_view> known;
  for (const DType dtype : all_dtypes()) known.push_back(name_of(dtype));
  fail(location, fmt::format("unknown dtype `{}`{}; the dtypes are {}", name,
                             did_you_mean(name, known), list_of_names(known)));
}

std::vector<Dim> Parser::run_dims(bool may_add) {
  std::vector<std::string> names;
  for (int i = 0; i < module_.dims->symbol_count(); ++i)
    names.push_back(module_.dims->info(i).name);
  dim_names_.assign(names.begin(), names.end());
  std::vector<Dim> dims;
  if (!accept("[")) fail_expected("a list of dims, such as `[N, 24]`");
  if (!token_.is("]")) {
    do {
      const bool is_new = may_add && token_.is_word("_");
      if (is_new) take();
      dims.push_back(is_new ? module_.dims->symbol({}) : parse_dim());
    } while (accept(","));
  }
  expect("]", "a dim");
  skip_newlines();
  if (token_.kind != TokenKind::End) fail_expected("the end of the list of dims");
  return dims;
}

std::vector<Dim> parse_dims(std::string_view text, const std::shared_ptr<DimTable>& table,
                            bool may_add) {
  Module module;
  module.dims = table;
  module.source_name = "dims";
  module.source_text = std::make_shared<const SourceText>(std::string(text));
  return Parser(module).run_dims(may_add);
}

void Parser::count_dim_operator(SourceLocation location) {
  if (++dim_operators_ > max_dim_operators) {
    fail(location,
         fmt::format("this dim expression has more than {} operators", max_dim_operators));
  }
}

Dim Parser::parse_dim() {
  dim_operators_ = 0;
  return parse_dim_sum();
}

Dim Parser::parse_dim_sum() {
  const Nesting nesting(*this);
  Dim left = parse_dim_term();
  while (token_.is("+") || token_.is("-")) {
    const Token op = take();
    count_dim_operator(op.location);
    const Dim right = parse_dim_term();
    left = op.is("+") ? left + right : left - right;
  }
  return left;
}

Dim Parser::parse_dim_term() {
  Dim left = parse_dim_factor();
  while (token_.is("*") || token_.is("/")) {
    const Token op = take();
    if (op.is("/")) fail(op.location, "dims have no `/`; write `floordiv(a, b)`");
    count_dim_operator(op.location);
    left = left * parse_dim_factor();
  }
  return left;
}

Dim Parser::parse_dim_factor() {
  const Nesting nesting(*this);
  if (token_.kind == TokenKind::Integer) return module_.dims->constant(to_integer(take(), false));
  if (token_.kind == TokenKind::Name) return parse_dim_name();
  if (accept("-")) {
    if (token_.kind == TokenKind::Integer) return module_.dims->constant(to_integer(take(), true));
    count_dim_operator(token_.location);
    return parse_dim_factor() * -1;
  }
  if (accept("(")) {
    const Dim dim = parse_dim_sum();
    expect(")", "the dim");
    return dim;
  }
  fail_expected("a dim: an integer, a name or an expression");
}

Dim Parser::parse_dim_name() {
  struct Function {
    std::string_view name;
    Dim (DimTable::*build)(Dim, Dim);
  };
  static constexpr Function functions[] = {{"floordiv", &DimTable::floordiv},
                                           {"mod", &DimTable::mod},
                                           {"min", &DimTable::minimum},
                                           {"max", &DimTable::maximum}};
  const Token name = take();
  for (const Function& function : functions) {
    if (name.text != function.name) continue;
    count_dim_operator(name.location);
    expect("(", describe(name));
    const Dim left = parse_dim_sum();
    expect(",", "the first operand");
    const SourceLocation location = token_.location;
    const Dim right = parse_dim_sum();
    expect(")", "the second operand");
    const bool divides = function.name == "floordiv" || function.name == "mod";
    if (divides && right.constant().value_or(1) <= 0) fail(location, "the divisor is not positive");
    return (module_.dims.get()->*function.build)(left, right);
  }
  if (const std::optional<Dim> dim = module_.dims->find_symbol(name.text)) return *dim;
  if (name.text == "_")
    fail(name.location, "`_` stands for a whole dim of an input or an output only");
  fail(name.location,
       fmt::format("unknown dim {}{}; dims are declared above the graph, `dim {}`", describe(name),
                   did_you_mean(name.text, dim_names_), name.text.substr(0, 40)));
}

}  // namespace dyn::graph
