#include "src/c/building.hpp"

#include <utility>

#include <fmt/format.h>

#include "dyn/error.hpp"

namespace dyn::c {

Building::~Building() {
  for (const dyn_value* value : values_) release_handle(ValueHandle::kind, value);
}

dyn_value* Building::add(Value value) {
  dyn_value*& place = values_.emplace_back();
  make_handle<ValueHandle>(place, BuiltValue{std::move(value), this});
  return place;
}

Value Building::value(const dyn_value* handle, const char* argument) const {
  try {
    const Used<ValueHandle> used(handle);
    if (used->owner != this) user_error("it is a value of another builder");
    return used->value;
  } catch (const Error& error) { throw error.within(fmt::format("the argument '{}'", argument)); }
}

Values Building::values(std::span<dyn_value* const> handles, const char* argument) const {
  Values values;
  for (std::size_t i = 0; i < handles.size(); ++i)
    values.push_back(value(handles[i], fmt::format("{}[{}]", argument, i).c_str()));
  return values;
}

Definition::Definition(const Builder& builder, const Values& inputs) {
  make_handle<BuilderHandle>(builder_, builder);
  const Used<BuilderHandle> used(builder_);
  for (const Value& input : inputs) inputs_.push_back(used->add(input));
}

Definition::~Definition() { release_handle(BuilderHandle::kind, builder_); }

Values Definition::results(const std::vector<dyn_value*>& outputs) const {
  const Used<BuilderHandle> used(builder_);
  used->check();
  return used->values(outputs, "outputs");
}

}  // namespace dyn::c
