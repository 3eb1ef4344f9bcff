#include "src/cli/dump_ptx.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/table.hpp"

namespace dyn::cli {
namespace {

struct Dumped {
  rkernel::CodeListing listing;
  std::vector<std::string> groups;
};

std::vector<Dumped> distinct_listings(const runtime::Model& model, std::span<const std::size_t> groups) {
  std::vector<Dumped> all;
  std::set<std::string> names;
  for (const std::size_t group : groups) {
    for (rkernel::CodeListing& listing : model.kernel(group).listings()) {
      const auto same = [&](const Dumped& other) { return other.listing.hash == listing.hash && other.listing.text == listing.text; };
      auto found = std::find_if(all.begin(), all.end(), same);
      if (found == all.end()) {
        const std::string wanted = listing.name;
        for (int copy = 2; !names.insert(listing.name).second; ++copy) listing.name = fmt::format("{}_{}", wanted, copy);
        found = all.insert(found, {std::move(listing), {}});
      }
      const std::string& name = model.problems()[group].name;
      if (std::find(found->groups.begin(), found->groups.end(), name) == found->groups.end()) found->groups.push_back(name);
    }
  }
  return all;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(ErrorKind::device, fmt::format("--dump-ptx: {} cannot be written: {}", path.string(), std::strerror(errno)));
}

}  // namespace

std::string dump_ptx(const runtime::Model& model, std::span<const std::size_t> groups, const std::string& directory) {
  const std::vector<Dumped> all = distinct_listings(model, groups);
  if (all.empty()) {
    throw Error(ErrorKind::user, fmt::format("--dump-ptx: no group on {} has PTX; take --device cuda, with --gpu NAME where there is no GPU", model.device_name()));
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error(ErrorKind::device, fmt::format("--dump-ptx {}: {}", directory, error.message()));
  std::vector<Row> rows;
  for (const Dumped& dumped : all) {
    const std::string file = dumped.listing.name + ".ptx";
    write_text(std::filesystem::path(directory) / file, dumped.listing.text);
    rows.push_back({{"file", file}, {"ir_hash", dumped.listing.hash}, {"groups", fmt::format("{}", fmt::join(dumped.groups, " "))}});
  }
  return fmt::format("{} files of PTX in {}:\n\n{}", rows.size(), directory, to_text(rows, Format::md));
}

}  // namespace dyn::cli
