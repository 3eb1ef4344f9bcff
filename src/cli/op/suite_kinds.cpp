#include "src/cli/op/suite_kinds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {
namespace {

using Words = std::vector<std::string>;

OpCase case_of(const SuiteRow& row, OpProblem problem, const Words& names) {
  OpCase test{std::move(problem), {}, {}, names, row};
  for (const std::string& name : names) {
    if (const auto size = row.sizes.find(name); size != row.sizes.end())
      test.values[name] = size->second;
  }
  return test;
}

std::string text_of(const SuiteRow& row, const char* column) {
  return fmt::format("{}", row.sizes.at(column));
}

/// K and N are numbers, as a program that packs the weight at load needs them.
OpCase constant_matmul(const SuiteRow& row) {
  const std::string n = text_of(row, "N"), k = text_of(row, "K");
  return case_of(row, {"matmul", {}, {{false, DType::f32, {"M", k}}, {true, DType::f32, {k, n}}}},
                 {"M", "N", "K"});
}

/// Both operands arrive with the call, with a batch where the row has one.
OpCase fresh_matmul(const SuiteRow& row) {
  OpProblem problem{"matmul", {}, {}};
  Words names;
  if (row.sizes.contains("B")) names.emplace_back("B");
  const Words batch = names;
  const auto add = [&](const char* rows, const char* columns, const char* word,
                       const char* attribute) {
    const bool transposed = row.words.at(word) == "T";
    OpOperand operand{false, DType::f32, batch};
    operand.dims.emplace_back(transposed ? columns : rows);
    operand.dims.emplace_back(transposed ? rows : columns);
    problem.operands.push_back(std::move(operand));
    if (transposed) problem.attributes.emplace_back(attribute, "true");
  };
  add("M", "K", "TA", "transpose_a");
  add("K", "N", "TB", "transpose_b");
  for (const char* name : {"M", "N", "K"}) names.emplace_back(name);
  return case_of(row, std::move(problem), names);
}

/// Batch and resolution are names, as in a program that runs at any size; filters are constant.
OpCase convolution(const SuiteRow& row) {
  const std::int64_t groups = row.sizes.at("G"), channels = row.sizes.at("IC");
  if (groups < 1 || channels % groups != 0)
    throw Error(ErrorKind::user, fmt::format("G is {}, which does not divide IC", groups));
  const auto pair = [&](const char* first, const char* second) {
    return fmt::format("[{},{}]", row.sizes.at(first), row.sizes.at(second));
  };
  return case_of(row,
                 {"conv",
                  {{"strides", pair("SH", "SW")},
                   {"before", pair("PT", "PL")},
                   {"after", pair("PB", "PR")},
                   {"groups", text_of(row, "G")}},
                  {{false, DType::f32, {"N", "IH", "IW", text_of(row, "IC")}},
                   {true,
                    DType::f32,
                    {text_of(row, "KH"), text_of(row, "KW"), fmt::format("{}", channels / groups),
                     text_of(row, "OC")}}}},
                 {"N", "IH", "IW", "IC", "OC", "KH", "KW"});
}

/// The depths are numbers, as models have them; all else is known at the call.
OpCase attention(const SuiteRow& row) {
  const bool causal = row.words.at("MASK") == "causal";
  if (causal && row.sizes.at("Q") > row.sizes.at("S"))
    throw Error(ErrorKind::user, "under a causal mask Q may be at most S");
  OpProblem problem{"attention",
                    {},
                    {{false, DType::f32, {"B", "H", "Q", text_of(row, "D")}},
                     {false, DType::f32, {"B", "H", "S", text_of(row, "D")}},
                     {false, DType::f32, {"B", "H", "S", text_of(row, "DV")}}}};
  if (causal) problem.attributes.emplace_back("causal", "true");
  return case_of(row, std::move(problem), {"B", "H", "Q", "S", "D", "DV"});
}

void fit_nothing(SuiteRow&) {}

void fit_convolution(SuiteRow& row) {
  DimMap& sizes = row.sizes;
  const std::int64_t groups = sizes.at("G");
  for (const char* column : {"IC", "OC"})
    sizes[column] = std::max<std::int64_t>(1, sizes[column] / groups) * groups;
  sizes["IH"] = std::max(sizes["IH"], sizes["KH"] - sizes["PT"] - sizes["PB"]);
  sizes["IW"] = std::max(sizes["IW"], sizes["KW"] - sizes["PL"] - sizes["PR"]);
}

void fit_attention(SuiteRow& row) {
  if (row.words.at("MASK") == "causal") row.sizes["S"] = std::max(row.sizes["S"], row.sizes["Q"]);
}

}  // namespace

std::span<const SuiteKind> suite_kinds() {
  static const std::map<std::string, Words> orders{{"TA", {"N", "T"}}, {"TB", {"N", "T"}}};
  static const Words drawn_of_conv{"N", "IH", "IW", "IC", "OC"};
  static const SuiteKind kinds[] = {
      {"matmuls with a constant weight",
       {"M", "N", "K"},
       {},
       {"M", "N", "K"},
       constant_matmul,
       fit_nothing},
      {"matmuls of two inputs",
       {"M", "N", "K", "TA", "TB"},
       orders,
       {"M", "N", "K"},
       fresh_matmul,
       fit_nothing},
      {"batches of matmuls",
       {"B", "M", "N", "K", "TA", "TB"},
       orders,
       {"B", "M", "N", "K"},
       fresh_matmul,
       fit_nothing},
      {"attention",
       {"B", "H", "Q", "S", "D", "DV", "MASK"},
       {{"MASK", {"none", "causal"}}},
       {"B", "H", "Q", "S"},
       attention,
       fit_attention},
      {"convolutions with constant filters, at any batch",
       {"IC", "IH", "IW", "OC", "KH", "KW", "SH", "SW", "PT", "PL", "PB", "PR", "G"},
       {},
       drawn_of_conv,
       convolution,
       fit_convolution},
      {"convolutions with constant filters",
       {"N", "IC", "IH", "IW", "OC", "KH", "KW", "SH", "SW", "PT", "PL", "PB", "PR", "G"},
       {},
       drawn_of_conv,
       convolution,
       fit_convolution},
  };
  return kinds;
}

const SuiteKind* suite_kind(const std::vector<std::string>& columns) {
  const auto kinds = suite_kinds();
  const auto found = std::ranges::find(kinds, columns, &SuiteKind::columns);
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace dyn::cli
