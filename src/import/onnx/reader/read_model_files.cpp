#include "src/import/onnx/reader/read_model_files.hpp"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::onnx {
ReadModelFiles::ReadModelFiles(std::shared_ptr<Reader> reader, const std::string& name)
    : reader_(std::move(reader)), name_(name), size_(HostFile(*reader_, name).size()) {}

ModelProto ReadModelFiles::read() const {
  const HostFile model(*reader_, name_);
  if (model.size() != size_)
    throw Error(ErrorKind::model,
                fmt::format("{} has changed since the model was loaded; load it again", name_));
  return parsed_model(path(), size_, [&](std::uint64_t offset, std::span<char> into) {
    model.read(offset, std::as_writable_bytes(into));
  });
}

std::string ReadModelFiles::bytes_of(const std::string& location, std::uint64_t offset,
                                     std::uint64_t bytes) const {
  const HostFile file(*reader_, name_beside(path(), location));
  if (offset > file.size() || file.size() - offset < bytes)
    throw Error(ErrorKind::model,
                fmt::format("its data is in {} at byte {}, and needs {} bytes; the file has {}",
                            file.name(), offset, bytes, file.size()));
  return file.contents(offset, bytes);
}

}  // namespace dyn::onnx
