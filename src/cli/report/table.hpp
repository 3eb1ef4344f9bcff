#pragma once
// Rows of named cells, printed as Markdown, CSV or JSON (an array of flat objects).

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dyn::cli {

/// std::monostate: not known; an empty cell, null in JSON.
using Cell = std::variant<std::monostate, std::int64_t, double, std::string>;
using Row = std::vector<std::pair<std::string, Cell>>;

enum class Format { md, csv, json };

/// The columns are those of all rows, in order of first appearance; a row may lack some. Ends with
/// a newline.
std::string to_text(const std::vector<Row>& rows, Format format);

/// "# name=cell ...", a line for the end of a CSV file; cells that are not known are left out.
std::string csv_comment(const Row& row);

}  // namespace dyn::cli
