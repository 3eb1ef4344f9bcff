#include "src/cli/select/policy_list.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::cli {

std::vector<rkernel::Policy> parse_policies(std::string_view text) {
  std::vector<rkernel::Policy> policies;
  if (text.empty()) {
    for (const rkernel::PolicyInfo& info : rkernel::all_policies()) policies.push_back(info.policy);
    return policies;
  }
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string_view name = text.substr(start, comma - start);
    const std::optional<rkernel::Policy> policy = rkernel::policy_named(name);
    if (!policy)
      throw Error(ErrorKind::user,
                  fmt::format("--policies {}: there is no policy \"{}\"; there are {}", text, name,
                              rkernel::policy_names()));
    if (std::find(policies.begin(), policies.end(), *policy) != policies.end()) {
      throw Error(ErrorKind::user, fmt::format("--policies {}: {} is listed twice", text, name));
    }
    policies.push_back(*policy);
    start = comma + 1;
  }
  return policies;
}

}  // namespace dyn::cli
