// Models that the host reads by functions of C.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "src/c/lent.hpp"
#include "src/c/objects.hpp"

namespace dyn::c {
namespace {

class FunctionReader final : public Reader {
 public:
  explicit FunctionReader(const dyn_reader& functions) : lent(functions) {
    check_function(functions.size, "reader->size");
    check_function(functions.read, "reader->read");
  }

  std::uint64_t size(const std::string& name) override {
    std::uint64_t bytes = 0;
    check_host(lent->size(lent->context, name.c_str(), &bytes), "reader->size");
    return bytes;
  }

  std::size_t read(const std::string& name, std::uint64_t offset,
                   std::span<std::byte> into) override {
    std::size_t count = 0;
    check_host(lent->read(lent->context, name.c_str(), offset, into.data(), into.size(), &count),
               "reader->read");
    return count;
  }

  std::optional<std::span<const std::byte>> in_place(const std::string& name) override {
    if (lent->in_place == nullptr) return std::nullopt;
    const void* data = nullptr;
    std::size_t bytes = 0;
    check_host(lent->in_place(lent->context, name.c_str(), &data, &bytes), "reader->in_place");
    if (data == nullptr) return std::nullopt;
    return std::span(static_cast<const std::byte*>(data), bytes);
  }

  std::string identity(const std::string& name) override {
    if (lent->identity == nullptr) return {};
    const char* text = nullptr;
    check_host(lent->identity(lent->context, name.c_str(), &text), "reader->identity");
    return text == nullptr ? std::string() : std::string(text);
  }

  Lent<dyn_reader> lent;
};

}  // namespace
}  // namespace dyn::c

using dyn::c::GraphHandle;

extern "C" {

dyn_status* dyn_graph_from_reader(const char* name, const dyn_reader* reader,
                                  const dyn_options* options, dyn_graph** graph) noexcept {
  return dyn::c::guarded([&] {
    dyn_graph*& place = dyn::c::given(graph, "graph");
    const std::string_view named = dyn::c::required_text(name, "name");
    const auto functions =
        std::make_shared<dyn::c::FunctionReader>(dyn::c::struct_of(reader, "reader"));
    dyn::c::make_handle<GraphHandle>(
        place, dyn::Graph::from_reader(std::string(named), functions, dyn::c::options_of(options)));
    functions->lent.take();
  });
}

}  // extern "C"
