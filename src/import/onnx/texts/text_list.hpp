#pragma once
// Tensors of texts, of which dyn has none: their elements are the places of the texts in a list.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dyn::onnx {

using TextVector = std::vector<std::string>;

/// Texts, each once.
class TextList {
 public:
  /// Equal texts of `texts` become one. `open`: the tensor may hold other texts too, which are
  /// places that the list does not have.
  explicit TextList(const TextVector& texts, bool is_open = false);
  TextList(const TextList&) = delete;
  TextList& operator=(const TextList&) = delete;
  ~TextList() = default;

  const std::shared_ptr<const TextVector>& texts() const { return texts_; }
  std::int64_t size() const { return static_cast<std::int64_t>(texts_->size()); }
  bool is_open() const { return is_open_; }
  std::optional<std::int64_t> find(const std::string& text) const;
  /// The place of each of these texts. All of them are in the list.
  std::vector<std::int64_t> places_of(const TextVector& texts) const;

 private:
  std::shared_ptr<const TextVector> texts_;
  std::unordered_map<std::string_view, std::int64_t> places_;
  bool is_open_;
};

using TextListPtr = std::shared_ptr<const TextList>;

/// "0 is \"cat\", 1 is \"dog\"": for messages, the first of them where there are many.
std::string listed(const TextVector& texts);

}  // namespace dyn::onnx
