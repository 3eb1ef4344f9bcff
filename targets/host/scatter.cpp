// Updates of elements at given places.

#include <algorithm>
#include <cstring>

#include "targets/host/call.hpp"

namespace dyn::host {
namespace {

/// The index counted from the front; -1 where it is outside.
std::int64_t place_of(std::int64_t index, std::int64_t extent) {
  const std::int64_t place = index < 0 ? index + extent : index;
  return place >= 0 && place < extent ? place : -1;
}

// How an element changes by an update.
struct Replace {
  template <class T>
  T operator()(T, T by) const {
    return by;
  }
};
struct Add {
  template <class T>
  T operator()(T element, T by) const {
    return static_cast<T>(element + by);
  }
};
struct Multiply {
  template <class T>
  T operator()(T element, T by) const {
    return static_cast<T>(element * by);
  }
};
struct Maximum {
  template <class T>
  T operator()(T element, T by) const {
    return std::max(element, by);
  }
};
struct Minimum {
  template <class T>
  T operator()(T element, T by) const {
    return std::min(element, by);
  }
};

void copy_data(const Call& call) {
  const Array &from = call.inputs[0], &to = call.outputs[0];
  const std::size_t bytes = static_cast<std::size_t>(from.size()) * size_of(from.dtype);
  if (bytes > 0) std::memcpy(to.data, from.data, bytes);
}

/// Calls body(indices as their integers).
template <class Body>
Outcome visit_indices(const Array& indices, const Body& body) {
  return indices.dtype == DType::i32 ? body(static_cast<const std::int32_t*>(indices.data))
                                     : body(static_cast<const std::int64_t*>(indices.data));
}

/// The innermost rows of a ScatterElements, one after the other.
template <class T, class Index, class Update>
class ElementRows {
 public:
  ElementRows(const Call& call, const Index* indices)
      : result_(call.outputs[0]),
        counts_(call.inputs[1].dims),
        axis_(call.axis("axis")),
        last_(counts_.size() - 1),
        strides_(counts_.size(), 1),
        indices_(indices),
        updates_(static_cast<const T*>(call.inputs[2].data)) {
    for (std::size_t d = last_; d > 0; --d) strides_[d - 1] = strides_[d] * result_.dims[d];
  }

  Outcome run() {
    const std::int64_t length = counts_[last_],
                       rows = element_count(counts_) / std::max<std::int64_t>(1, length);
    Shape at(counts_.size(), 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < last_; ++d) offset += d == axis_ ? 0 : at[d] * strides_[d];
      if (!update_row(static_cast<T*>(result_.data) + offset, length))
        return Outcome::IndexOutOfRange;
      indices_ += length;
      updates_ += length;
      for (std::size_t d = last_; d-- > 0 && ++at[d] == counts_[d];) at[d] = 0;
    }
    return Outcome::Ok;
  }

 private:
  bool update_row(T* elements, std::int64_t length) const {
    if (axis_ != last_ && is_one_index(length)) return update_run(elements, length);
    const std::int64_t step = axis_ == last_ ? 0 : 1;  // where the index does not say
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t place = place_of(indices_[i], result_.dims[axis_]);
      if (place < 0) return false;
      T& element = elements[place * strides_[axis_] + step * i];
      element = Update()(element, updates_[i]);
    }
    return true;
  }

  /// Indices of whole rows are often one index, repeated.
  bool is_one_index(std::int64_t length) const {
    return std::memcmp(indices_, indices_ + 1,
                       static_cast<std::size_t>(length - 1) * sizeof(Index)) == 0;
  }

  bool update_run(T* elements, std::int64_t length) const {
    const std::int64_t place = place_of(*indices_, result_.dims[axis_]);
    if (place < 0) return false;
    elements += place * strides_[axis_];
    for (std::int64_t i = 0; i < length; ++i) elements[i] = Update()(elements[i], updates_[i]);
    return true;
  }

  const Array& result_;
  const Shape& counts_;  ///< of indices and updates
  const std::size_t axis_, last_;
  Shape strides_;  ///< of the result
  const Index* indices_;
  const T* updates_;
};

template <class T, class Update>
Outcome scatter_elements(const Call& call) {
  if (call.inputs[1].size() == 0) return Outcome::Ok;
  return visit_indices(call.inputs[1], [&]<class Index>(const Index* indices) {
    return ElementRows<T, Index, Update>(call, indices).run();
  });
}

template <class T, class Update>
Outcome scatter_nd(const Call& call) {
  const Array &indices = call.inputs[1], &result = call.outputs[0];
  const std::int64_t depth = indices.dims.back();
  std::int64_t slice = 1, rows = 1;
  for (std::size_t d = static_cast<std::size_t>(depth); d < result.dims.size(); ++d)
    slice *= result.dims[d];
  for (std::size_t d = 0; d + 1 < indices.dims.size(); ++d) rows *= indices.dims[d];
  const auto* updates = static_cast<const T*>(call.inputs[2].data);
  return visit_indices(indices, [&](const auto* index) {
    for (std::int64_t row = 0; row < rows; ++row, updates += slice) {
      std::int64_t offset = 0;
      for (std::int64_t d = 0; d < depth; ++d, ++index) {
        const std::int64_t extent = result.dims[static_cast<std::size_t>(d)],
                           place = place_of(*index, extent);
        if (place < 0) return Outcome::IndexOutOfRange;
        offset = offset * extent + place;
      }
      T* elements = static_cast<T*>(result.data) + offset * slice;
      for (std::int64_t i = 0; i < slice; ++i) elements[i] = Update()(elements[i], updates[i]);
    }
    return Outcome::Ok;
  });
}

template <Outcome (*of_bits)(DType, const Call&)>
Outcome run(const Call& call) {
  copy_data(call);
  return of_bits(call.inputs[0].dtype, call);
}

/// Calls body(a zero of the dtype, the reduction). Elements that are only moved need no arithmetic,
/// so every dtype will do.
template <class Body>
Outcome visit_updates(DType dtype, const Call& call, const Body& body) {
  const std::string reduction = graph::attr_word(call.node, "reduction");
  Outcome outcome = Outcome::Ok;
  if (reduction == "none") {
    visit_bits(dtype, [&](auto zero) { outcome = body(zero, Replace()); });
    return outcome;
  }
  visit_numbers(dtype, [&](auto zero) {
    outcome = reduction == "add"   ? body(zero, Add())
              : reduction == "mul" ? body(zero, Multiply())
              : reduction == "max" ? body(zero, Maximum())
                                   : body(zero, Minimum());
  });
  return outcome;
}

Outcome scatter_elements_of(DType dtype, const Call& call) {
  return visit_updates(dtype, call, [&](auto zero, auto reduction) {
    return scatter_elements<decltype(zero), decltype(reduction)>(call);
  });
}

Outcome scatter_nd_of(DType dtype, const Call& call) {
  return visit_updates(dtype, call, [&](auto zero, auto reduction) {
    return scatter_nd<decltype(zero), decltype(reduction)>(call);
  });
}

constexpr Operator scatter_family[] = {{graph::OpId::ScatterElements, run<scatter_elements_of>},
                                       {graph::OpId::ScatterNd, run<scatter_nd_of>}};

}  // namespace

std::span<const Operator> scatter_operators() { return scatter_family; }

}  // namespace dyn::host
