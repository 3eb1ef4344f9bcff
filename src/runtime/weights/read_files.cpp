#include "src/runtime/weights/read_files.hpp"

#include <algorithm>
#include <utility>

#include "dyn/error.hpp"
#include "src/runtime/weights/safetensors.hpp"

namespace dyn::runtime {

ReadFile::ReadFile(Reader& reader, std::string name)
    : file_(reader, std::move(name)), identity_(file_.identity()) {
  if (file_.in_place()) {
    bytes_ = *file_.in_place();
    known_ = bytes_.size();
    return;
  }
  block_ = MemoryBlock(file_.size(), "a weights file");
  const std::span<std::byte> memory(block_.data(), file_.size());
  bytes_ = memory;
  const auto read_to = [&](std::size_t end) {
    file_.read(known_, memory.subspan(known_, end - known_));
    known_ = end;
  };
  read_to(std::min(memory.size(), Safetensors::length_bytes));
  read_to(known_ + Safetensors::header_bytes(bytes_));
}

bool ReadFile::is_unchanged() const noexcept {
  try {
    return file_.identity() == identity_;
  } catch (const Error&) { return false; }
}

void ReadFile::read_data() {
  if (known_ == bytes_.size()) return;
  file_.read(known_, {block_.data() + known_, bytes_.size() - known_});
  known_ = bytes_.size();
}

std::shared_ptr<ReadFile> ReadFiles::open(const std::string& name) {
  std::shared_ptr<ReadFile>& file = files_[name];
  if (!file) file = std::make_shared<ReadFile>(reader_, name_beside(model_, name));
  return file;
}

}  // namespace dyn::runtime
