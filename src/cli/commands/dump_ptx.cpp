#include "src/cli/commands/dump_ptx.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/report/table.hpp"

namespace dyn::cli {
namespace {

struct Dumped {
  rkernel::CodeListing listing;
  std::vector<std::string> groups;
};

/// Listings with the same text share one file. Layers of a model repeat: kernels known to be alike
/// are not generated again.
class Dump {
 public:
  void add(const std::string& group, const rkernel::Kernel& kernel) {
    const std::string key = kernel.listings_key();
    const auto known = key.empty() ? by_key_.end() : by_key_.find(key);
    std::set<std::size_t> files =
        known != by_key_.end() ? known->second : add_all(kernel.listings());
    for (const std::size_t file : files) files_[file].groups.push_back(group);
    if (known == by_key_.end() && !key.empty()) by_key_.emplace(key, std::move(files));
  }

  const std::vector<Dumped>& files() const { return files_; }

 private:
  std::set<std::size_t> add_all(std::vector<rkernel::CodeListing> listings) {
    std::set<std::size_t> files;
    for (rkernel::CodeListing& listing : listings) files.insert(add_one(std::move(listing)));
    return files;
  }

  std::size_t add_one(rkernel::CodeListing listing) {
    const auto same = [&](const Dumped& other) {
      return other.listing.hash == listing.hash && other.listing.text == listing.text;
    };
    const auto found = std::find_if(files_.begin(), files_.end(), same);
    if (found != files_.end()) return static_cast<std::size_t>(found - files_.begin());
    const std::string wanted = listing.name;
    for (int copy = 2; !names_.insert(listing.name).second; ++copy)
      listing.name = fmt::format("{}_{}", wanted, copy);
    files_.push_back({std::move(listing), {}});
    return files_.size() - 1;
  }

  std::vector<Dumped> files_;
  std::set<std::string> names_;
  std::map<std::string, std::set<std::size_t>> by_key_;  ///< for each kernel: indices into files_
};

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorKind::device, fmt::format("--dump-ptx: {} cannot be written: {}",
                                               path.string(), std::strerror(errno)));
}

}  // namespace

std::string dump_ptx(const runtime::Model& model, std::span<const std::size_t> groups,
                     const std::string& directory) {
  Dump dump;
  for (const std::size_t group : groups)
    dump.add(model.problems()[group].name, model.kernel(group));
  if (dump.files().empty()) {
    throw Error(ErrorKind::user, fmt::format("--dump-ptx: no group on {} has PTX; take --device "
                                             "cuda, with --gpu NAME where there is no GPU",
                                             model.device_name()));
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw Error(ErrorKind::device, fmt::format("--dump-ptx {}: {}", directory, error.message()));
  std::vector<Row> rows;
  for (const Dumped& dumped : dump.files()) {
    const std::string file = dumped.listing.name + ".ptx";
    write_text(std::filesystem::path(directory) / file, dumped.listing.text);
    rows.push_back({{"file", file},
                    {"ir_hash", dumped.listing.hash},
                    {"groups", fmt::format("{}", fmt::join(dumped.groups, " "))}});
  }
  return fmt::format("{} files of PTX in {}:\n\n{}", rows.size(), directory,
                     to_text(rows, Format::md));
}

}  // namespace dyn::cli
