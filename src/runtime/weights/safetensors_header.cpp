#include "src/runtime/weights/safetensors_header.hpp"

#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/runtime/system/errors.hpp"

namespace dyn::runtime {
namespace {

using Json = nlohmann::json;

/// Receives the tokens of the header. Depth 1 is the object of keys, 2 one entry, 3 a list of an
/// entry.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  std::vector<RawEntry> take() { return std::move(entries_); }

  bool start_object(std::size_t) override {
    ++depth_;
    if (depth_ > 2) model_error(fmt::format("{} has an object where none may be", place()));
    if (depth_ == 2 && !metadata_)
      entries_.push_back({.key = key_, .dtype = {}, .shape = {}, .offsets = {}});
    seen_.clear();
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !metadata_) {
      for (const char* name : {"dtype", "shape", "data_offsets"}) {
        if (!seen_.contains(name)) model_error(fmt::format("{} has no '{}'", place(), name));
      }
    }
    --depth_;
    field_ = Field::None;
    return true;
  }

  bool key(std::string& name) override {
    if (depth_ == 1) {
      if (!keys_.insert(name).second)
        model_error(fmt::format("the header has key '{}' twice", name));
      key_ = name;
      metadata_ = name == "__metadata__";
      return true;
    }
    if (!seen_.insert(name).second) model_error(fmt::format("{} has '{}' twice", place(), name));
    if (metadata_) return true;
    if (name == "dtype") {
      field_ = Field::DType;
    } else if (name == "shape") {
      field_ = Field::Shape;
    } else if (name == "data_offsets") {
      field_ = Field::Offsets;
    } else {
      model_error(fmt::format("{} has an unknown field '{}'", place(), name));
    }
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || list() == nullptr || in_list_)
      model_error(fmt::format("{} has a list where none may be", place()));
    in_list_ = true;
    return true;
  }

  bool end_array() override {
    in_list_ = false;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) unexpected("a number");
    list()->push_back(value);
    return true;
  }

  bool string(std::string& value) override {
    if (depth_ == 2 && metadata_) return true;
    if (depth_ != 2 || field_ != Field::DType) unexpected("a string");
    entries_.back().dtype = value;
    return true;
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const std::string&) override {
    unexpected("a number that is no integer");
  }
  bool binary(binary_t&) override { unexpected("binary data"); }

  bool parse_error(std::size_t position, const std::string&, const Json::exception&) override {
    model_error(fmt::format("the header is not valid JSON at byte {}", position));
  }

 private:
  enum class Field { None, DType, Shape, Offsets };

  std::string place() const {
    return depth_ >= 2 || !key_.empty() ? fmt::format("the header's entry '{}'", key_)
                                        : std::string("the header");
  }

  [[noreturn]] void unexpected(const char* what) const {
    model_error(fmt::format("{} has {} where none may be", place(), what));
  }

  std::vector<std::uint64_t>* list() {
    if (metadata_ || entries_.empty()) return nullptr;
    if (field_ == Field::Shape) return &entries_.back().shape;
    if (field_ == Field::Offsets) return &entries_.back().offsets;
    return nullptr;
  }

  std::vector<RawEntry> entries_;
  std::unordered_set<std::string> keys_;
  std::unordered_set<std::string> seen_;  ///< fields of the entry that is being read
  std::string key_;
  Field field_ = Field::None;
  int depth_ = 0;
  bool metadata_ = false;
  bool in_list_ = false;
};

}  // namespace

std::vector<RawEntry> parse_safetensors_header(std::string_view json) {
  HeaderReader reader;
  Json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

}  // namespace dyn::runtime
