#include "src/import/onnx/reader/model_files.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "dyn/error.hpp"
#include "src/base/foreign_file.hpp"

namespace dyn::onnx {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_file(const std::string& message) {
  throw Error(ErrorKind::model, message);
}

/// "." where the path has none.
std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return fs::weakly_canonical(folder.empty() ? "." : folder).string();
}

/// Why the file is no model, where its first bytes tell.
void refuse_foreign(const std::string& path, std::uint64_t size, const ReadBytes& read) {
  std::string head(std::min<std::uint64_t>(size, foreign_file_bytes), '\0');
  read(0, head);
  const std::string_view what = foreign_file(head);
  if (!what.empty()) refuse_file(fmt::format("{}: not an ONNX model. It is {}", path, what));
}

void check_unchanged(const ReadableFile& file) {
  if (!file.is_unchanged())
    refuse_file(
        fmt::format("{} has changed since the model was loaded; load it again", file.path()));
}

}  // namespace

ModelProto parsed_model(const std::string& path, std::uint64_t size, const ReadBytes& read) {
  if (size == 0) refuse_file(fmt::format("{}: not an ONNX model. It is empty", path));
  ModelProto model;
  try {
    model = read_model(size, read);
  } catch (const NotAModel& error) {
    refuse_foreign(path, size, read);
    refuse_file(
        fmt::format("{}: not a whole ONNX model: reading it as protobuf failed at byte {}; is the "
                    "file cut, of another format, or nested deeper than 100 messages?",
                    path, error.offset()));
  }
  if (!model.has_graph()) {
    refuse_foreign(path, size, read);
    refuse_file(fmt::format("{}: not an ONNX model: it has no graph", path));
  }
  return model;
}

DiskModelFiles::DiskModelFiles(const std::string& path) : model_(path), folder_(folder_of(path)) {}

ModelProto DiskModelFiles::read() const {
  check_unchanged(model_);
  return parsed_model(path(), model_.size(), [&](std::uint64_t offset, std::span<char> into) {
    model_.read(offset, into);
  });
}

std::unique_ptr<ReadableFile> DiskModelFiles::opened(const std::string& location) const {
  const auto outside = [&] {
    refuse_file(fmt::format("its data is in \"{}\", which is not below the model's folder",
                            location.c_str()));
  };
  const fs::path relative(location);
  if (location.empty() || relative.is_absolute() || location.find('\0') != std::string::npos)
    outside();
  for (const fs::path& part : relative) {
    if (part == "..") outside();
  }
  std::error_code error;
  const fs::path real = fs::weakly_canonical(fs::path(folder_) / relative, error);
  const fs::path within = real.lexically_relative(folder_);
  if (error || within.empty() || *within.begin() == "..") outside();
  try {
    return std::make_unique<ReadableFile>(real.string());
  } catch (const Error& failed) {
    refuse_file(
        fmt::format("its data is in \"{}\", which cannot be read: {}", location, failed.message()));
  }
}

std::string DiskModelFiles::bytes_of(const std::string& location, std::uint64_t offset,
                                     std::uint64_t bytes) const {
  const auto held = external_.find(location);
  const std::unique_ptr<ReadableFile> own = held == external_.end() ? opened(location) : nullptr;
  const ReadableFile& file = own ? *own : *held->second;
  check_unchanged(file);
  if (offset > file.size() || file.size() - offset < bytes)
    refuse_file(fmt::format("its data is in {} at byte {}, and needs {} bytes; the file has {}",
                            file.path(), offset, bytes, file.size()));
  return file.contents(offset, bytes);
}

void DiskModelFiles::hold(const std::set<std::string>& locations) {
  for (const std::string& location : locations) {
    if (external_.contains(location)) continue;
    try {
      external_.emplace(location, opened(location));
    } catch (const Error&) {  // not needed yet
      continue;
    }
  }
}

namespace {

using Locations = std::set<std::string>;

void collect(const GraphProto& graph, Locations& locations);

void collect(const TensorProto& tensor, Locations& locations) {
  for (const StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") locations.insert(entry.value());
  }
}

void collect(const NodeProto& node, Locations& locations) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) collect(attribute.t(), locations);
    if (attribute.has_g()) collect(attribute.g(), locations);
    for (const TensorProto& tensor : attribute.tensors()) collect(tensor, locations);
    for (const GraphProto& graph : attribute.graphs()) collect(graph, locations);
  }
}

void collect(const GraphProto& graph, Locations& locations) {
  for (const TensorProto& tensor : graph.initializer()) collect(tensor, locations);
  for (const NodeProto& node : graph.node()) collect(node, locations);
}

}  // namespace

std::set<std::string> external_locations(const ModelProto& model) {
  Locations locations;
  collect(model.graph(), locations);
  for (const FunctionProto& function : model.functions()) {
    for (const NodeProto& node : function.node()) collect(node, locations);
  }
  return locations;
}

}  // namespace dyn::onnx
