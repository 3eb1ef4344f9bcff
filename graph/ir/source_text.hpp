#pragma once
// The text that a module was read from, by lines.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::graph {

/// Immutable.
class SourceText {
 public:
  explicit SourceText(std::string text);

  const std::string& text() const noexcept { return text_; }
  /// Line number `line` (from 1), without its line end; empty where there is none. Takes the same
  /// time for each.
  std::string_view line(int line) const;

 private:
  std::string text_;
  std::vector<std::size_t> starts_;  ///< of the lines
};

}  // namespace dyn::graph
