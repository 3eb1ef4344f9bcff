#include "tests/unit/ptx/emulator/planted_bugs.hpp"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Regex.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace dyn::test {

namespace {

constexpr const char* folder = DYN_SOURCE_DIR "/tests/mutants/gpu";
constexpr const char* suffix = ".mutant";

using Lines = std::vector<std::string>;

std::optional<ptx::Fault> fault_named(const std::string& name) {
  if (name == "wrong result") return std::nullopt;
  for (int i = 0; i <= static_cast<int>(ptx::Fault::BadLaunch); ++i) {
    if (name == name_of(static_cast<ptx::Fault>(i))) return static_cast<ptx::Fault>(i);
  }
  throw std::runtime_error("no fault is named \"" + name + "\"");
}

/// Reads one file, line by line.
class BugReader {
 public:
  explicit BugReader(std::string name) { bug_.name = std::move(name); }

  void line(const std::string& text) {
    if (text.empty() || text.front() == '#') return;
    const std::size_t colon = text.find(": ");
    if (colon == std::string::npos) throw std::runtime_error("not \"key: value\": " + text);
    take(text.substr(0, colon), text.substr(colon + 2));
  }

  PlantedBug finish() {
    if (bug_.kernel.empty() || bug_.breaks.empty() || !has_report_)
      throw std::runtime_error("kernel, breaks or report is missing");
    if (bug_.edits.empty() || !edit_.find.empty())
      throw std::runtime_error("an edit ends with replace or delete");
    return bug_;
  }

 private:
  void take(const std::string& key, const std::string& value) {
    if (key == "kernel") {
      bug_.kernel = value;
    } else if (key == "breaks") {
      bug_.breaks = value;
    } else if (key == "report") {
      bug_.fault = fault_named(value);
      has_report_ = true;
    } else {
      take_of_edit(key, value);
    }
  }

  void take_of_edit(const std::string& key, const std::string& value) {
    if (key == "after")
      edit_.after.push_back(value);
    else if (key == "before")
      edit_.before = value;
    else if (key == "occurrence")
      edit_.occurrence = value == "all" ? 0 : std::stoi(value);
    else if (key == "replace")
      edit_.replacement = value;
    else if (key == "find" || key == "delete")
      edit_.find = value;
    else
      throw std::runtime_error("unknown key \"" + key + "\"");
    if (key == "replace" || key == "delete") end_edit();
  }

  void end_edit() {
    if (edit_.find.empty()) throw std::runtime_error("an edit without find");
    bug_.edits.push_back(std::move(edit_));
    edit_ = {};
  }

  PlantedBug bug_;
  PlantedEdit edit_;
  bool has_report_ = false;
};

PlantedBug read(const std::filesystem::path& path) {
  BugReader reader(path.stem().string());
  std::ifstream file(path);
  std::string text;
  int number = 0;
  try {
    while (std::getline(file, text)) {
      ++number;
      reader.line(text);
    }
    return reader.finish();
  } catch (const std::exception& error) {
    throw std::runtime_error(
        fmt::format("{}, line {}: {}", path.filename().string(), number, error.what()));
  }
}

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

llvm::Regex regex_of(const std::string& pattern) {
  llvm::Regex regex(pattern);
  std::string error;
  if (!regex.isValid(error)) throw std::runtime_error("\"" + pattern + "\": " + error);
  return regex;
}

/// Index of the next line from `begin` on that matches.
std::size_t next_match(const Lines& lines, std::size_t begin, const std::string& pattern) {
  const llvm::Regex regex = regex_of(pattern);
  for (std::size_t i = begin; i < lines.size(); ++i) {
    if (regex.match(lines[i])) return i;
  }
  throw std::runtime_error("no line below line " + std::to_string(begin) + " matches \"" + pattern +
                           "\"");
}

/// The lines that the edit changes.
std::vector<std::size_t> places_of(const PlantedEdit& edit, const Lines& lines) {
  std::size_t begin = 0, end = lines.size();
  for (const std::string& pattern : edit.after) begin = next_match(lines, begin, pattern) + 1;
  if (!edit.before.empty()) end = next_match(lines, begin, edit.before);
  const llvm::Regex regex = regex_of(edit.find);
  std::vector<std::size_t> places;
  for (std::size_t i = begin; i < end; ++i) {
    if (regex.match(lines[i])) places.push_back(i);
  }
  if (!edit.before.empty()) std::ranges::reverse(places);
  if (places.empty() || static_cast<int>(places.size()) < edit.occurrence) {
    throw std::runtime_error(fmt::format("{} lines match \"{}\" where occurrence {} is to change",
                                         places.size(), edit.find, edit.occurrence));
  }
  if (edit.occurrence == 0) return places;
  return {places[static_cast<std::size_t>(edit.occurrence - 1)]};
}

void apply(const PlantedEdit& edit, Lines& lines) {
  const llvm::Regex regex = regex_of(edit.find);
  for (const std::size_t place : places_of(edit, lines)) {
    std::string error;
    lines[place] =
        edit.replacement ? regex.sub(*edit.replacement, lines[place], &error) : std::string();
    if (!error.empty()) throw std::runtime_error("\"" + *edit.replacement + "\": " + error);
  }
}

}  // namespace

std::vector<PlantedBug> planted_bugs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == suffix) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<PlantedBug> bugs;
  for (const std::filesystem::path& path : paths) bugs.push_back(read(path));
  return bugs;
}

std::string plant(const PlantedBug& bug, const std::string& module_text) {
  Lines lines = lines_of(module_text);
  for (std::size_t i = 0; i < bug.edits.size(); ++i) {
    try {
      apply(bug.edits[i], lines);
      lines = lines_of(
          fmt::format("{}\n", fmt::join(lines, "\n")));  // a replacement may be several lines
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(fmt::format(
          "{}.mutant, edit {}: the kernel \"{}\" is no longer what the edit was written for: {}",
          bug.name, i + 1, bug.kernel, error.what()));
    }
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace dyn::test
