// Texts at inputs and outputs.

#include <cstdint>
#include <string>
#include <vector>

#include "src/c/objects.hpp"

using dyn::c::CoderHandle;
using dyn::c::given;
using dyn::c::gives;
using dyn::c::guarded;
using dyn::c::makes;
using dyn::c::required_text;
using dyn::c::TensorHandle;
using dyn::c::TextsHandle;
using dyn::c::Used;

namespace {

std::vector<std::string> copied_texts(size_t count, const char* const* texts,
                                      const size_t* lengths) {
  const auto pointers = dyn::c::required_array(texts, count, "texts");
  if (lengths != nullptr) dyn::c::check_pointer(lengths, alignof(size_t), "lengths");
  std::vector<std::string> copies;
  copies.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (lengths == nullptr) {
      copies.emplace_back(required_text(pointers[i], "texts[]"));
    } else {
      if (lengths[i] > 0) dyn::c::check_pointer(pointers[i], 1, "texts[]");
      copies.emplace_back(pointers[i], lengths[i]);
    }
  }
  return copies;
}

}  // namespace

extern "C" {

dyn_status* dyn_coder_create(const dyn_graph* graph, dyn_coder** coder) noexcept {
  return makes<CoderHandle>(coder, "coder",
                            [&] { return dyn::TextCoder(*Used<dyn::c::GraphHandle>(graph)); });
}

dyn_status* dyn_coder_encode(dyn_coder* coder, const char* input, size_t count,
                             const char* const* texts, const size_t* lengths, size_t rank,
                             const int64_t* sizes, dyn_tensor** tensor) noexcept {
  return makes<TensorHandle>(tensor, "tensor", [&] {
    const Used<CoderHandle> used(coder);
    return used->encode(required_text(input, "input"), copied_texts(count, texts, lengths),
                        dyn::c::shape_of(rank, sizes));
  });
}

dyn_status* dyn_coder_decode(const dyn_coder* coder, const char* output, const dyn_tensor* tensor,
                             dyn_texts** texts) noexcept {
  return makes<TextsHandle>(texts, "texts", [&] {
    const Used<CoderHandle> used(coder);
    return used->decode(required_text(output, "output"), *Used<TensorHandle>(tensor));
  });
}

dyn_status* dyn_coder_forget(dyn_coder* coder) noexcept {
  return guarded([&] { Used<CoderHandle>(coder)->forget(); });
}

void dyn_coder_release(dyn_coder* coder) noexcept {
  dyn::c::release_handle(CoderHandle::kind, coder);
}

dyn_status* dyn_texts_count(const dyn_texts* texts, size_t* count) noexcept {
  return gives(count, "count", [&] { return Used<TextsHandle>(texts)->size(); });
}

dyn_status* dyn_texts_get(const dyn_texts* texts, size_t index, const char** text,
                          size_t* length) noexcept {
  return guarded([&] {
    const char*& place = given(text, "text");
    size_t& size = given(length, "length");
    const Used<TextsHandle> used(texts);
    const std::string& found = dyn::c::element_at(*used, index, "text");
    place = found.c_str();
    size = found.size();
  });
}

void dyn_texts_release(dyn_texts* texts) noexcept {
  dyn::c::release_handle(TextsHandle::kind, texts);
}

}  // extern "C"
