#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/c/objects.hpp"
#include "src/c/option_table.hpp"

using dyn::c::guarded;
using dyn::c::make_handle;
using dyn::c::OptionsHandle;
using dyn::c::required_text;
using dyn::c::Used;

extern "C" {

dyn_status* dyn_options_create(dyn_options** options) noexcept {
  return guarded([&] { make_handle<OptionsHandle>(dyn::c::given(options, "options")); });
}

dyn_status* dyn_options_set_text(dyn_options* options, const char* name,
                                 const char* value) noexcept {
  return guarded([&] {
    dyn::c::set_option(*Used<OptionsHandle>(options), required_text(name, "name"),
                       required_text(value, "value"));
  });
}

dyn_status* dyn_options_set_integer(dyn_options* options, const char* name,
                                    int64_t value) noexcept {
  return guarded([&] {
    dyn::c::set_option(*Used<OptionsHandle>(options), required_text(name, "name"),
                       std::int64_t{value});
  });
}

dyn_status* dyn_options_set_flag(dyn_options* options, const char* name, bool value) noexcept {
  return guarded([&] {
    dyn::c::set_option(*Used<OptionsHandle>(options), required_text(name, "name"), value);
  });
}

dyn_status* dyn_options_add_known_input(dyn_options* options, const char* input,
                                        const dyn_tensor* value) noexcept {
  return guarded([&] {
    const Used<OptionsHandle> used(options);
    used->known_inputs.insert_or_assign(std::string(required_text(input, "input")),
                                        *Used<dyn::c::TensorHandle>(value));
  });
}

dyn_status* dyn_options_add_free_dims(dyn_options* options, const char* input, size_t count,
                                      const char* const* words) noexcept {
  return guarded([&] {
    const Used<OptionsHandle> used(options);
    std::vector<std::string> copies;
    for (const char* word : dyn::c::required_array(words, count, "words"))
      copies.emplace_back(required_text(word, "words"));
    used->free_dims.insert_or_assign(std::string(required_text(input, "input")), std::move(copies));
  });
}

dyn_status* dyn_options_set_log(dyn_options* options, dyn_log_function log,
                                void* context) noexcept {
  return guarded([&] {
    const Used<OptionsHandle> used(options);
    used->log = nullptr;
    if (log == nullptr) return;
    used->log = [log, context](dyn::LogLevel level, std::string_view text) {
      // C wants a 0 byte behind it.
      const std::string copy(text);
      log(context, static_cast<dyn_log_level>(level), copy.c_str(), copy.size());
    };
  });
}

void dyn_options_release(dyn_options* options) noexcept {
  dyn::c::release_handle(OptionsHandle::kind, options);
}

}  // extern "C"
