#pragma once
// Names that are given once.

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace dyn::graph {

/// The time of n calls grows as n, also where all ask for the same name.
class UniqueNames {
 public:
  bool has(const std::string& name) const { return given_.contains(name); }
  /// False where the name has been given.
  bool take(const std::string& name) { return given_.insert(name).second; }

  /// `hint` where it is not empty, or the first of hint_2, hint_3, ... that has not been given.
  std::string unique(const std::string& hint) {
    if (!hint.empty() && take(hint)) return hint;
    int& number = last_number_.try_emplace(hint, 1).first->second;
    std::string name;
    do name = hint + "_" + std::to_string(++number);
    while (!take(name));
    return name;
  }

 private:
  std::unordered_set<std::string> given_;
  std::unordered_map<std::string, int> last_number_;  ///< by hint
};

}  // namespace dyn::graph
