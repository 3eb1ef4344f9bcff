#include "graph/ir/source_text.hpp"

#include <utility>

namespace dyn::graph {

SourceText::SourceText(std::string text) : text_(std::move(text)), starts_{0} {
  for (std::size_t end = text_.find('\n'); end != std::string::npos;
       end = text_.find('\n', end + 1))
    starts_.push_back(end + 1);
}

std::string_view SourceText::line(int line) const {
  if (line < 1 || static_cast<std::size_t>(line) > starts_.size()) return {};
  std::string_view rest(text_);
  rest.remove_prefix(starts_[static_cast<std::size_t>(line) - 1]);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

}  // namespace dyn::graph
