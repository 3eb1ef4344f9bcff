#include "dyn/texts.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "src/runtime/system/errors.hpp"

namespace dyn {
namespace {

using TextList = std::shared_ptr<const std::vector<std::string>>;
/// The views are of a list that stays.
using Places = std::unordered_map<std::string_view, std::int64_t>;

Places places_of(const std::vector<std::string>& texts) {
  Places places;
  places.reserve(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i)
    places.emplace(texts[i], static_cast<std::int64_t>(i));
  return places;
}

TextList texts_of(const std::vector<PortInfo>& ports, std::string_view name, const char* what) {
  for (const PortInfo& port : ports) {
    if (port.name != name) continue;
    if (port.texts == nullptr)
      runtime::user_error(fmt::format("{} '{}' has no texts: it is {}{}", what, name,
                                      name_of(port.dtype), port.shape));
    return port.texts;
  }
  runtime::user_error(fmt::format("the model has no {} '{}'", what, name));
}

}  // namespace

struct TextCoder::State {
  std::vector<PortInfo> inputs, outputs;
  std::unordered_map<const std::vector<std::string>*, Places> places;  ///< of lists used so far
  std::unordered_map<std::string, std::int64_t> strangers;             ///< in no list: from -1 down
  std::vector<const std::string*> strangers_in_order;                  ///< keys of `strangers`

  std::int64_t place_of(const Places& known, const std::string& text) {
    if (const auto found = known.find(text); found != known.end()) return found->second;
    const auto next = -1 - static_cast<std::int64_t>(strangers.size());
    const auto [found, is_new] = strangers.emplace(text, next);
    if (is_new) strangers_in_order.push_back(&found->first);
    return found->second;
  }
};

TextCoder::TextCoder(const Graph& graph) : TextCoder(graph.inputs(), graph.outputs()) {}
TextCoder::TextCoder(const std::vector<PortInfo>& inputs, const std::vector<PortInfo>& outputs)
    : state_(std::make_unique<State>(State{inputs, outputs, {}, {}, {}})) {}
TextCoder::~TextCoder() = default;
TextCoder::TextCoder(TextCoder&&) noexcept = default;
TextCoder& TextCoder::operator=(TextCoder&&) noexcept = default;

TextCoder::State& TextCoder::state() const {
  if (!state_) runtime::user_error("this TextCoder has no ports: it was moved from");
  return *state_;
}

Tensor TextCoder::encode(std::string_view input, std::span<const std::string> texts, Shape shape) {
  State& own = state();
  const TextList list = texts_of(own.inputs, input, "input");
  if (element_count(shape) != static_cast<std::int64_t>(texts.size()))
    runtime::user_error(fmt::format("input '{}' is given {} texts for the shape {}", input,
                                    texts.size(), to_string(shape)));
  auto known = own.places.find(list.get());
  if (known == own.places.end()) known = own.places.emplace(list.get(), places_of(*list)).first;
  Tensor tensor(DType::i64, std::move(shape));
  const std::span<std::int64_t> elements = tensor.mutable_data<std::int64_t>();
  for (std::size_t i = 0; i < texts.size(); ++i)
    elements[i] = own.place_of(known->second, texts[i]);
  return tensor;
}

std::vector<std::string> TextCoder::decode(std::string_view output, const Tensor& tensor) const {
  const State& own = state();
  const TextList list = texts_of(own.outputs, output, "output");
  const auto known = static_cast<std::int64_t>(list->size()),
             strangers = static_cast<std::int64_t>(own.strangers_in_order.size());
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(tensor.size()));
  for (const std::int64_t place : tensor.data<std::int64_t>()) {
    if (place >= known || place < -strangers)
      runtime::user_error(
          fmt::format("output '{}' has the element {}, which is no place among its {} texts, nor "
                      "that of a text that was encoded",
                      output, place, known));
    texts.push_back(place >= 0 ? (*list)[static_cast<std::size_t>(place)]
                               : *own.strangers_in_order[static_cast<std::size_t>(-1 - place)]);
  }
  return texts;
}

void TextCoder::forget() {
  state().strangers_in_order.clear();
  state().strangers.clear();
}

}  // namespace dyn
