// The functions that dyn offers to plug-ins. No exception leaves them: it is kept in the node.

#include <utility>

#include "dyn/error.hpp"
#include "src/c/guard.hpp"
#include "src/c/plugin_node.hpp"

namespace dyn::c {
namespace {

using Node = dyn_plugin_node;
using Size = dyn_plugin_dim;

/// What `work` gives, or `otherwise` where it throws.
template <class Result, class Work>
Result shielded_for(Node* node, Result otherwise, const Work& work) {
  try {
    return work();
  } catch (...) {
    if (!node->error) node->error = std::current_exception();
    return otherwise;
  }
}

[[noreturn]] void wrong_argument(const char* what) {
  user_error(std::string("a function of the host got ") + what);
}

void fail(Node* node, const char* message) {
  if (node == nullptr || !node->message.empty()) return;
  shielded_for(node, 0, [&] {
    node->message = message == nullptr || *message == '\0' ? "it gave no reason" : message;
    return 0;
  });
}

/// 1 and the value that `get` gives for the name; 0 where it throws: a plug-in may ask for what is
/// not there. `has_place` is false where the plug-in gave none for the value.
template <class Get>
int attribute_of(Node* node, const char* name, bool has_place, const Get& get) {
  if (node == nullptr || name == nullptr || !has_place) return 0;
  try {
    get(*node->attributes);
    return 1;
  } catch (const std::exception&) { return 0; }
}

int get_boolean(Node* node, const char* name, int* value) {
  return attribute_of(node, name, value != nullptr,
                      [&](const NodeAttributes& all) { *value = all.boolean(name) ? 1 : 0; });
}
int get_number(Node* node, const char* name, double* value) {
  return attribute_of(node, name, value != nullptr,
                      [&](const NodeAttributes& all) { *value = all.number(name); });
}
int get_integer(Node* node, const char* name, std::int64_t* value) {
  return attribute_of(node, name, value != nullptr,
                      [&](const NodeAttributes& all) { *value = all.integer(name); });
}
int get_word(Node* node, const char* name, const char** value) {
  return attribute_of(node, name, value != nullptr, [&](const NodeAttributes& all) {
    *value = node->words.emplace_back(all.word(name)).c_str();
  });
}
int get_integers(Node* node, const char* name, std::size_t* count, const std::int64_t** values) {
  const bool has_places = count != nullptr && values != nullptr;
  return attribute_of(node, name, has_places, [&](const NodeAttributes& all) {
    const std::vector<std::int64_t>& list = node->lists.emplace_back(all.integers(name));
    *count = list.size();
    *values = list.data();
  });
}

const Size* constant(Node* node, std::int64_t value) {
  if (node == nullptr) return nullptr;
  return shielded_for<const Size*>(node, nullptr, [&] { return node->keep(Dim(value)); });
}

template <Dim (*combine)(const Dim&, const Dim&)>
const Size* combined_size(Node* node, const Size* a, const Size* b) {
  if (node == nullptr) return nullptr;
  return shielded_for<const Size*>(node, nullptr, [&] {
    if (a == nullptr || b == nullptr) wrong_argument("no size (NULL)");
    return node->keep(combine(a->dim, b->dim));
  });
}

int constant_value(Node* node, const Size* size, std::int64_t* value) {
  if (node == nullptr || size == nullptr || value == nullptr) return 0;
  const std::optional<std::int64_t> known = size->dim.constant();
  if (known) *value = *known;
  return known ? 1 : 0;
}

void require_equal(Node* node, const Size* a, const Size* b, const char* what) {
  if (node == nullptr) return;
  shielded_for(node, 0, [&] {
    if (a == nullptr || b == nullptr) wrong_argument("no size (NULL)");
    if (node->shape == nullptr) wrong_argument("a condition on sizes outside a shape function");
    node->shape->require_equal(a->dim, b->dim, what == nullptr ? "two sizes" : what);
    return 0;
  });
}

}  // namespace

const dyn_plugin_host& plugin_host() {
  static const dyn_plugin_host host{sizeof(dyn_plugin_host),
                                    DYN_PLUGIN_VERSION,
                                    fail,
                                    get_boolean,
                                    get_number,
                                    get_integer,
                                    get_word,
                                    get_integers,
                                    constant,
                                    combined_size<(operator+)>,
                                    combined_size<(operator-)>,
                                    combined_size<(operator*)>,
                                    combined_size<floordiv>,
                                    combined_size<mod>,
                                    combined_size<min>,
                                    combined_size<max>,
                                    constant_value,
                                    require_equal};
  return host;
}

}  // namespace dyn::c
