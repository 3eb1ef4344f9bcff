#ifndef DYN_C_RUN_H
#define DYN_C_RUN_H
/* Runs of one caller: calls, sessions, runs that the host ends or carries out. Part of dyn/dyn.h.
 */

#include "dyn/c/base.h"
#include "dyn/c/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At a shape seen before a run allocates nothing. */
DYN_C_API dyn_status* dyn_call_create(const dyn_graph* graph, dyn_call** call) DYN_NOEXCEPT;
/* A call that runs in a session, and goes on with it. */
DYN_C_API dyn_status* dyn_call_create_in_session(const dyn_session* session,
                                                 dyn_call** call) DYN_NOEXCEPT;
/* Binds input or output number `index` in the model's order, until another is bound. The tensor's
 * handle may be released. An output that is not bound is allocated by the run, and kept while its
 * shape stays. */
DYN_C_API dyn_status* dyn_call_set_input(dyn_call* call, size_t index,
                                         const dyn_tensor* tensor) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_set_output(dyn_call* call, size_t index,
                                          dyn_tensor* tensor) DYN_NOEXCEPT;
/* The number of the input or output of this name. DYN_ERROR_USER: there is none. */
DYN_C_API dyn_status* dyn_call_input_index(const dyn_call* call, const char* name,
                                           size_t* index) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_output_index(const dyn_call* call, const char* name,
                                            size_t* index) DYN_NOEXCEPT;
/* The output is not bound: runs allocate it in the memory of the graph's device. */
DYN_C_API dyn_status* dyn_call_set_output_device(dyn_call* call, size_t index,
                                                 const dyn_device* device) DYN_NOEXCEPT;
/* Runs go to this stream of the graph's device (dyn::Call::set_stream). The stream has one user at
 * a time, its calls included. */
DYN_C_API dyn_status* dyn_call_set_stream(dyn_call* call, const dyn_stream* stream) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_run(dyn_call* call) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_call_run_with(dyn_call* call,
                                        const dyn_run_options* options) DYN_NOEXCEPT;
/* Waits for runs that have returned before their end. */
DYN_C_API dyn_status* dyn_call_wait(dyn_call* call) DYN_NOEXCEPT;
/* The output of the last run. A later run of the call may write to the same memory. */
DYN_C_API dyn_status* dyn_call_output(const dyn_call* call, size_t index,
                                      dyn_tensor** tensor) DYN_NOEXCEPT;
DYN_C_API void dyn_call_release(dyn_call* call) DYN_NOEXCEPT;

/* --- Sessions ------------------------------------------------------------------------------- */

/* `dims`: the sizes of the states by the names of their dims (dyn::Session). */
DYN_C_API dyn_status* dyn_session_create(const dyn_graph* graph, size_t dim_count,
                                         const dyn_named_size* dims,
                                         dyn_session** session) DYN_NOEXCEPT;
/* Runs once and appends; as dyn_graph_run. A run that fails leaves the session as it was. */
DYN_C_API dyn_status* dyn_session_run(dyn_session* session, size_t input_count,
                                      const dyn_named_tensor* inputs, size_t output_count,
                                      dyn_tensor** outputs) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_session_run_with(dyn_session* session, size_t input_count,
                                           const dyn_named_tensor* inputs, size_t output_count,
                                           dyn_tensor** outputs,
                                           const dyn_run_options* options) DYN_NOEXCEPT;
/* Positions appended so far. */
DYN_C_API dyn_status* dyn_session_length(const dyn_session* session, int64_t* length) DYN_NOEXCEPT;
/* Forgets all positions from `length` on. */
DYN_C_API dyn_status* dyn_session_truncate(dyn_session* session, int64_t length) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_session_reset(dyn_session* session) DYN_NOEXCEPT;
/* Bytes of memory behind the states. */
DYN_C_API dyn_status* dyn_session_bytes(const dyn_session* session, size_t* bytes) DYN_NOEXCEPT;
DYN_C_API void dyn_session_release(dyn_session* session) DYN_NOEXCEPT;

/* --- Runs that the host ends, or lends threads ------------------------------------------------ */

/* dyn::Cancellation: any number of threads may use one, and any number of runs have it. */
DYN_C_API dyn_status* dyn_cancellation_create(dyn_cancellation** cancellation) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_cancellation_cancel(const dyn_cancellation* cancellation) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_cancellation_is_cancelled(const dyn_cancellation* cancellation,
                                                    bool* is_cancelled) DYN_NOEXCEPT;
DYN_C_API void dyn_cancellation_release(dyn_cancellation* cancellation) DYN_NOEXCEPT;

/* dyn::AsyncRun. Any number of threads may use one. */
DYN_C_API dyn_status* dyn_async_run_is_over(const dyn_async_run* run, bool* is_over) DYN_NOEXCEPT;
/* Waits at most so long. */
DYN_C_API dyn_status* dyn_async_run_wait(const dyn_async_run* run, int64_t timeout_ns,
                                         bool* is_over) DYN_NOEXCEPT;
DYN_C_API dyn_status* dyn_async_run_cancel(const dyn_async_run* run) DYN_NOEXCEPT;
/* The outputs, as those of dyn_graph_run, or what the run has failed with; once. Waits for a run
 * that has begun, and carries out one that has not. */
DYN_C_API dyn_status* dyn_async_run_get(dyn_async_run* run, size_t output_count,
                                        dyn_tensor** outputs) DYN_NOEXCEPT;
DYN_C_API void dyn_async_run_release(dyn_async_run* run) DYN_NOEXCEPT;

/* For executors: runs a task, and releases its handle. */
DYN_C_API dyn_status* dyn_task_run(dyn_task* task) DYN_NOEXCEPT;
DYN_C_API void dyn_task_release(dyn_task* task) DYN_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif
