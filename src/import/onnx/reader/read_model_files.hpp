#pragma once
// The files of an ONNX model that the host reads.

#include <memory>
#include <string>

#include "src/base/host_file.hpp"
#include "src/import/onnx/reader/model_files.hpp"

namespace dyn::onnx {

/// Keeps the reader. Nothing is read but through it.
class ReadModelFiles final : public ModelFiles {
 public:
  /// Throws what HostFile does.
  ReadModelFiles(std::shared_ptr<Reader> reader, const std::string& name);

  const std::string& path() const noexcept override { return name_; }
  ModelProto read() const override;
  std::string bytes_of(const std::string& location, std::uint64_t offset,
                       std::uint64_t bytes) const override;
  /// The reader has them all.
  void hold(const std::set<std::string>&) override {}

 private:
  const std::shared_ptr<Reader> reader_;
  const std::string name_;
  const std::uint64_t size_;
};

}  // namespace dyn::onnx
