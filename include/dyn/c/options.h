#ifndef DYN_C_OPTIONS_H
#define DYN_C_OPTIONS_H
/* How models are loaded, and what the host lends to loads and runs. Part of dyn/dyn.h. */

#include "dyn/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dyn_plugin; /* a table of operators: dyn/plugin.h */

typedef int32_t dyn_log_level;
enum { DYN_LOG_DEBUG = 0, DYN_LOG_INFO = 1, DYN_LOG_WARNING = 2 };

/* The host's threads: dyn::Executor by functions, which get `context` and are called from any
 * thread. */
typedef struct dyn_executor {
  size_t struct_size;
  void* context;
  /* How many tasks run at the same time, beside the threads that call dyn. */
  int (*concurrency)(void* context);
  /* Takes a task, which any thread then gives to dyn_task_run or, unrun, to dyn_task_release, once.
   * False: it does not take it. */
  bool (*submit)(void* context, dyn_task* task);
  /* May be NULL. Called once, from any thread, when nothing of dyn calls the others any more. */
  void (*release)(void* context);
} dyn_executor;

/* The host's memory: dyn::Allocator by functions, which get `context` and are called from any
 * thread. */
typedef struct dyn_allocator {
  size_t struct_size;
  void* context;
  /* At least `bytes` at a multiple of `alignment`, a power of 2; NULL: there is no memory. */
  void* (*allocate)(void* context, size_t bytes, size_t alignment);
  void (*deallocate)(void* context, void* memory, size_t bytes, size_t alignment);
  /* May be NULL. Called once, from any thread, when nothing of dyn calls the others any more. */
  void (*release)(void* context);
} dyn_allocator;

/* Every default of dyn::Options (dyn/options.hpp), which says what each option means. */
DYN_C_API dyn_status* dyn_options_create(dyn_options** options) DYN_NOEXCEPT;
/* An option by the name of its member there. DYN_ERROR_USER: no option has that name, or it takes
 * another kind of value. What the value means is checked by the load. */
DYN_C_API dyn_status* dyn_options_set_text(dyn_options* options, const char* name,
                                           const char* value) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_options_set_integer(dyn_options* options, const char* name,
                                              int64_t value) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_options_set_flag(dyn_options* options, const char* name,
                                           bool value) DYN_NOEXCEPT;
/* An entry of Options::known_inputs. The elements are copied by the load. */
DYN_C_API dyn_status* dyn_options_add_known_input(dyn_options* options, const char* input,
                                                  const dyn_tensor* value) DYN_NOEXCEPT;
/* An entry of Options::free_dims: `words`, one for each of `count` dims of the input. */
DYN_C_API dyn_status* dyn_options_add_free_dims(dyn_options* options, const char* input,
                                                size_t count,
                                                const char* const* words) DYN_NOEXCEPT;
/* Options::log. `log` may be called from any thread, and until nothing that was loaded with these
 * options is left; it may not jump out. NULL: no log. */
typedef void (*dyn_log_function)(void* context, dyn_log_level level, const char* text,
                                 size_t length);
DYN_C_API dyn_status* dyn_options_set_log(dyn_options* options, dyn_log_function log,
                                          void* context) DYN_NOEXCEPT;
/* Options::progress. `stage` is "parse", "compile" (in kernels) or "weights" (in bytes). False ends
 * the load with DYN_ERROR_CANCELLED. NULL: nobody hears of it. */
typedef bool (*dyn_progress_function)(void* context, const char* stage, int64_t done,
                                      int64_t total);
DYN_C_API dyn_status* dyn_options_set_progress(dyn_options* options, dyn_progress_function progress,
                                               void* context) DYN_NOEXCEPT;
/* Options::executor and Options::allocator. The structure is copied; NULL: dyn's own again. Where
 * the function fails, `release` is not called. */
DYN_C_API dyn_status* dyn_options_set_executor(dyn_options* options,
                                               const dyn_executor* executor) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_options_set_allocator(dyn_options* options,
                                                const dyn_allocator* allocator) DYN_NOEXCEPT;
/* An entry of Options::plugins: the path of a shared object. */
DYN_C_API dyn_status* dyn_options_add_plugin(dyn_options* options, const char* path) DYN_NOEXCEPT;
/* The program's own operators, beside those given before (Options::operators). The table, what it
 * points to and its functions stay until dyn calls `release`, once, from any thread; `release` may
 * be NULL: they stay for the process. Where the function fails, it is not called. */
DYN_C_API dyn_status* dyn_options_add_operators(dyn_options* options,
                                                const struct dyn_plugin* table,
                                                void (*release)(void* context),
                                                void* context) DYN_NOEXCEPT;
DYN_C_API void dyn_options_release(dyn_options* options) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
