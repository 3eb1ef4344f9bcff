// The interfaces that a host implements. A destructor here keeps the virtual table of each in
// libdyn alone.

#include "dyn/allocator.hpp"
#include "dyn/executor.hpp"
#include "dyn/reader.hpp"

namespace dyn {

Allocator::~Allocator() = default;
Executor::~Executor() = default;
Reader::~Reader() = default;

std::optional<std::span<const std::byte>> Reader::in_place(const std::string&) {
  return std::nullopt;
}

std::string Reader::identity(const std::string&) { return {}; }

}  // namespace dyn
