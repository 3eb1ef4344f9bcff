#include "src/cli/report/table.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dyn::cli {
namespace {

std::vector<std::string> columns_of(const std::vector<Row>& rows) {
  std::vector<std::string> columns;
  for (const Row& row : rows) {
    for (const auto& [name, cell] : row) {
      if (std::find(columns.begin(), columns.end(), name) == columns.end()) columns.push_back(name);
    }
  }
  return columns;
}

const Cell* find_cell(const Row& row, const std::string& column) {
  const auto found = std::find_if(row.begin(), row.end(),
                                  [&](const auto& entry) { return entry.first == column; });
  return found == row.end() ? nullptr : &found->second;
}

/// For people: four significant digits, no exponent for the usual sizes.
std::string readable(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 100) return fmt::format("{:.1f}", value);
  if (size >= 10) return fmt::format("{:.2f}", value);
  if (size >= 0.1) return fmt::format("{:.3f}", value);
  return fmt::format("{:.3g}", value);
}

std::string cell_text(const Cell* cell, bool exact) {
  if (!cell || std::holds_alternative<std::monostate>(*cell)) return "";
  if (const auto* integer = std::get_if<std::int64_t>(cell)) return fmt::format("{}", *integer);
  if (const auto* number = std::get_if<double>(cell))
    return exact ? fmt::format("{:.9g}", *number) : readable(*number);
  return std::get<std::string>(*cell);
}

std::string quote_csv(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string to_csv(const std::vector<Row>& rows, const std::vector<std::string>& columns) {
  std::string text;
  for (const std::string& column : columns)
    text += (&column == columns.data() ? "" : ",") + quote_csv(column);
  text += '\n';
  for (const Row& row : rows) {
    for (const std::string& column : columns) {
      text += (&column == columns.data() ? "" : ",") +
              quote_csv(cell_text(find_cell(row, column), true));
    }
    text += '\n';
  }
  return text;
}

std::string to_markdown(const std::vector<Row>& rows, const std::vector<std::string>& columns) {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (const std::string& column : columns) {
    std::size_t width = std::max<std::size_t>(column.size(), 3);
    bool numbers = true;
    for (const Row& row : rows) {
      const Cell* cell = find_cell(row, column);
      width = std::max(width, cell_text(cell, false).size());
      numbers = numbers && !(cell && std::holds_alternative<std::string>(*cell));
    }
    widths.push_back(width);
    right.push_back(numbers);
  }
  const auto line = [&](auto&& cell_at) {
    std::string text = "|";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text += right[i] ? fmt::format(" {:>{}} |", cell_at(i), widths[i])
                       : fmt::format(" {:<{}} |", cell_at(i), widths[i]);
    }
    return text + '\n';
  };
  std::string text = line([&](std::size_t i) { return columns[i]; });
  text += line([&](std::size_t i) {
    return std::string(widths[i] - (right[i] ? 1 : 0), '-') + (right[i] ? ":" : "");
  });
  for (const Row& row : rows)
    text += line([&](std::size_t i) { return cell_text(find_cell(row, columns[i]), false); });
  return text;
}

std::string to_json(const std::vector<Row>& rows) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (const auto& [name, cell] : row) {
      if (const auto* integer = std::get_if<std::int64_t>(&cell))
        object[name] = *integer;
      else if (const auto* number = std::get_if<double>(&cell))
        object[name] = *number;
      else if (const auto* word = std::get_if<std::string>(&cell))
        object[name] = *word;
      else
        object[name] = nullptr;
    }
    array.push_back(std::move(object));
  }
  return array.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace

std::string to_text(const std::vector<Row>& rows, Format format) {
  if (format == Format::json) return to_json(rows);
  const std::vector<std::string> columns = columns_of(rows);
  return format == Format::csv ? to_csv(rows, columns) : to_markdown(rows, columns);
}

std::string csv_comment(const Row& row) {
  std::string text = "#";
  for (const auto& [name, cell] : row) {
    if (const auto* word = std::get_if<std::string>(&cell))
      text += fmt::format(" {}={}", name, *word);
    else if (const auto* number = std::get_if<double>(&cell))
      text += fmt::format(" {}={:.4g}", name, *number);
    else if (const auto* integer = std::get_if<std::int64_t>(&cell))
      text += fmt::format(" {}={}", name, *integer);
  }
  return text + '\n';
}

}  // namespace dyn::cli
