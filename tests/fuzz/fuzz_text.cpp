// Fuzzes the text format: parsing, names, verification and shapes. Accepted text prints as text
// that reads as the same.

#include "graph/text/text.hpp"
#include "tests/fuzz/reader.hpp"

using namespace dyn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string printed;
  if (!fuzz::accepts([&] { printed = graph::print(graph::parse(fuzz::text_of(data, size))); }))
    return 0;
  std::string again;
  try {
    again = graph::print(graph::parse(printed));
  } catch (const Error& error) {
    fuzz::fail("what is printed is refused:\n" + printed + error.what());
  }
  if (again != printed)
    fuzz::fail("printing what was printed gives another text:\n" + printed + again);
  return 0;
}
