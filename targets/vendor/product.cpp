#include "targets/vendor/product.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace dyn::vendor {

struct Product::Executor::Objects {
  Handle stream, a, b, c, scratchpad;
  std::array<DnnlArgument, 4> arguments;
};

Product::Product(const OneDnn& library, const ProductForm& form) : library_(library) {
  const Dnnl& api = library.api();
  const OneDnn::OneThread one_thread(
      library);  // blocks are cut for as many threads as there are when the primitive is made
  a_ = api.strided({form.m, form.k}, {form.a_row, form.a_k});
  b_ = form.b_tag != 0 ? api.tagged({form.k, form.n}, form.b_tag)
                       : api.strided({form.k, form.n}, {form.b_k, form.b_n});
  c_ = api.strided({form.m, form.n}, {form.c_row, 1});
  const Handle attributes = api.own_scratchpad();
  desc_ = api.matmul_desc(a_, b_, c_, attributes.get());
  if (std::strncmp(api.implementation(desc_), "ref", 3) == 0)
    throw Unsupported(library.version() + " has only reference code for these strides");
  primitive_ = api.primitive(desc_);
  scratchpad_ = api.chosen(desc_, dnnl_query_scratchpad_md);
  scratch_bytes_ = api.bytes(scratchpad_);
}

Product::~Product() = default;

Product::Executor::Executor(const Product& product, void* scratch) : product_(product) {
  {
    const std::lock_guard lock(product.mutex_);
    if (!product.idle_.empty()) {
      objects_ = std::move(product.idle_.back());
      product.idle_.pop_back();
    }
  }
  const Dnnl& api = product.library_.api();
  if (!objects_) {
    objects_ = std::make_unique<Objects>();
    objects_->stream = api.stream();
    objects_->a = api.memory(product.a_, nullptr);
    objects_->b = api.memory(product.b_, nullptr);
    objects_->c = api.memory(product.c_, nullptr);
    objects_->scratchpad = api.memory(product.scratchpad_, nullptr);
    objects_->arguments = {{{dnnl_arg_src, objects_->a.get()},
                            {dnnl_arg_weights, objects_->b.get()},
                            {dnnl_arg_dst, objects_->c.get()},
                            {dnnl_arg_scratchpad, objects_->scratchpad.get()}}};
  }
  if (product.scratch_bytes_ > 0) api.set_data(objects_->scratchpad, scratch);
}

Product::Executor::~Executor() {
  const std::lock_guard lock(product_.mutex_);
  product_.idle_.push_back(std::move(objects_));
}

void Product::Executor::run(const float* a, const float* b, float* c) {
  const Dnnl& api = product_.library_.api();
  // Sources are only read, whatever the type says.
  api.set_data(objects_->a, const_cast<float*>(a));
  api.set_data(objects_->b, const_cast<float*>(b));
  api.set_data(objects_->c, c);
  api.execute(product_.primitive_, objects_->arguments, objects_->stream);
}

}  // namespace dyn::vendor
