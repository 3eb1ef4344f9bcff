#pragma once
// Models of one source that were used last.

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace dyn::runtime {

class Model;

/// Not thread-safe.
class KeptModels {
 public:
  /// `kept`: how many models, at least 1.
  explicit KeptModels(int kept) : kept_(kept > 1 ? static_cast<std::size_t>(kept) : 1) {}

  /// nullptr: there is none.
  std::shared_ptr<const Model> find(const std::string& key);
  /// Drops the one that was used least recently where there are too many.
  void keep(std::string key, std::shared_ptr<const Model> model);
  /// Those that were kept, for the caller to drop; none are afterwards.
  std::vector<std::shared_ptr<const Model>> take_all();

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Model> model;
  };
  std::size_t kept_;
  std::list<Entry> entries_;  ///< the last used first
};

}  // namespace dyn::runtime
