#pragma once
// The recursive descent parser of the text IR; docs/ir.md has the grammar. Used by graph::parse
// only.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dyn/error.hpp"
#include "graph/ir/module.hpp"
#include "graph/ir/op.hpp"
#include "graph/text/lexer.hpp"
#include "graph/text/text.hpp"

namespace dyn::graph {

/// Deeper nesting is an error, so that no input overflows the stack.
inline constexpr int max_nesting = 256;
/// Loops in loops: who runs one runs all below it, each from the one above.
inline constexpr int max_loop_depth = 32;
/// Operators in one dim expression; canonical sums and products cost time quadratic in this.
inline constexpr int max_dim_operators = 256;

/// Reads a whole file into a module whose results have no types yet.
class Parser {
 public:
  explicit Parser(Module& module, std::shared_ptr<const CustomOps> operators = nullptr);
  void run();
  /// Reads an expression over scalars alone.
  void run_scalar(const std::vector<ScalarName>& names);
  /// Reads a list of dims alone.
  std::vector<Dim> run_dims(bool may_add);

  /// Characters that the lexer looked at.
  std::size_t steps() const noexcept { return lexer_.steps(); }

 private:
  /// Counts the nesting for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  struct Name {
    std::string text;
    SourceLocation location;
  };

  // Tokens (parser_tokens.cpp).
  Token take();
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol, std::string_view after);
  void expect_line_end(std::string_view after);
  void skip_newlines();
  Name take_name(std::string_view what);
  std::string_view take_word(std::string_view what);
  std::int64_t take_integer(std::string_view what);
  std::int64_t to_integer(const Token& token, bool negative) const;
  double to_float(const Token& token, bool negative) const;
  double take_number(std::string_view what);
  [[noreturn]] void fail(SourceLocation location, const std::string& message) const;
  [[noreturn]] void fail_unsupported(SourceLocation location, const std::string& message) const;
  [[noreturn]] void fail_operator_name(const Token& token) const;
  [[noreturn]] void fail_expected(std::string_view what) const;

  // The header and the graph (parser.cpp).
  void parse_version();
  void parse_header();
  void parse_dim_line();
  void parse_weights_line();
  void parse_weight_line();
  void parse_state_line();
  void parse_body();
  void parse_graph();
  void parse_inputs();
  void parse_outputs();
  void parse_texts(const Name& port, const TensorType& type, std::vector<Texts>& of_ports);
  void parse_statement();
  void parse_targets();
  void parse_return(SourceLocation location);

  // Types and dims (parser_dim.cpp).
  enum class DimsOf { Input, Output, Weight, State };
  TensorType parse_type(DimsOf owner);
  Dim parse_declared_dim(DimsOf owner);
  DType parse_dtype_name();
  Dim parse_dim();
  Dim parse_dim_sum();
  Dim parse_dim_term();
  Dim parse_dim_factor();
  Dim parse_dim_name();
  void count_dim_operator(SourceLocation location);

  // Expressions (parser_expression.cpp).
  ValueId parse_expression();
  ValueId parse_term();
  ValueId parse_factor();
  ValueId parse_primary();
  bool at_literal() const;
  ValueId parse_literal(bool negative);
  std::vector<ValueId> parse_call(const Token& name, std::size_t results);
  ValueId parse_reference(const Name& name);
  ValueId add_infix(std::string_view op, std::vector<ValueId> inputs, SourceLocation location);
  std::vector<ValueId> append_node(Node node, std::size_t results);

  // Attributes (parser_attribute.cpp).
  void parse_attributes(Node& node);
  AttrValue parse_attribute_value(const AttrDef& def);

  // Names and values (parser_names.cpp).
  ValueId add_value(Value value);
  void check_undefined(const Name& name) const;
  void define(const Name& name, ValueId value);
  ValueId declare_weight(const Name& name, TensorType type, WeightSource source);
  [[noreturn]] void fail_unknown_name(const Name& name);
  std::optional<int> find_later_definition(const std::string& name);
  void name_anonymous_values();
  void finish_module();
  void count_loops();

  Module& module_;
  const std::shared_ptr<const CustomOps> operators_;  ///< the program's; nullptr: none
  Lexer lexer_;
  Token token_;  ///< the next one, not yet taken
  int depth_ = 0;
  int dim_operators_ = 0;
  std::unordered_map<std::string, ValueId> names_;
  std::vector<Name> targets_;                               ///< of the statement that is being read
  std::vector<std::pair<ValueId, std::string>> anonymous_;  ///< its name is made from this
  std::vector<ValueId> open_literals_;
  std::vector<std::string_view> dim_names_;
  std::vector<std::shared_ptr<const Module>> bodies_;  ///< read so far
  std::unordered_map<std::string, int> loop_depth_;    ///< of them: how deep loops in loops are
};

}  // namespace dyn::graph
