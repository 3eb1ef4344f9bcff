/* The host's threads do all of dyn's work: loading, running, running beside the caller. dyn starts
 * none, which the system's list of this process's threads shows. */

#include "common.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

enum { threads = 3, room = 4096, width = 512, rows = 4000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static dyn_task* queue[room];
static size_t first, end; /* of what waits, modulo `room` */
static bool closing;
static atomic_int tasks_run, most_threads, released;

static int threads_of_process(void) {
  DIR* const folder = opendir("/proc/self/task");
  int count = 0;
  must(folder != NULL, "/proc/self/task cannot be read");
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

static void look(void) {
  const int count = threads_of_process();
  int most = atomic_load(&most_threads);
  while (count > most && !atomic_compare_exchange_weak(&most_threads, &most, count)) {}
}

static void* work(void* argument) {
  (void)argument;
  pthread_mutex_lock(&mutex);
  for (;;) {
    while (first == end && !closing) pthread_cond_wait(&changed, &mutex);
    if (first == end) break;
    dyn_task* const task = queue[first++ % room];
    pthread_mutex_unlock(&mutex);
    look();
    succeeded(dyn_task_run(task));
    look();
    atomic_fetch_add(&tasks_run, 1);
    pthread_mutex_lock(&mutex);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static int concurrency(void* context) {
  (void)context;
  return threads;
}
static bool submit(void* context, dyn_task* task) {
  (void)context;
  pthread_mutex_lock(&mutex);
  const bool fits = end - first < room;
  if (fits) queue[end++ % room] = task;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  return fits;
}
static void let_go(void* context) {
  (void)context;
  atomic_fetch_add(&released, 1);
}

static void check(const float* x, const float* weight, const float* y) {
  for (size_t r = 0; r < rows; r += 499)
    for (size_t n = 0; n < width; ++n) {
      double expected = 0;
      for (size_t k = 0; k < width; ++k)
        expected += (double)x[r * width + k] * (double)weight[k * width + n];
      close_to((double)y[r * width + n], tanh(expected), "y");
    }
}

int main(void) {
  static const char text[] =
      "dyn 1\ndim N in 1..4096\nweights \"w\"\n"
      "graph layer(x: f32[N, 512]) -> (y: f32[N, 512]) {\n  return tanh(matmul(x, w: f32[512, "
      "512]))\n}\n";
  pthread_t pool[threads];
  for (int i = 0; i < threads; ++i)
    must(pthread_create(&pool[i], NULL, work, NULL) == 0, "no thread");
  float *const x = random_numbers(rows * width, 1, 1), *const weight =
                                                           random_numbers(width * width, 0.1f, 2);

  const dyn_executor executor = {sizeof executor, NULL, concurrency, submit, let_go};
  dyn_options* options = NULL;
  succeeded(dyn_options_create(&options));
  succeeded(
      dyn_options_set_text(options, "cache_dir", "none")); /* all is compiled and measured here */
  succeeded(dyn_options_set_executor(options, &executor));
  dyn_graph* const graph = load_with_weight(text, weight, width, width, options);
  const int tasks_of_load = atomic_load(&tasks_run);
  for (int i = 0; i < 20; ++i) {
    dyn_tensor* const y = run(graph, x, rows, width);
    check(x, weight, elements(y));
    dyn_tensor_release(y);
    look();
  }

  const int64_t sizes[] = {rows, width};
  dyn_tensor *input = NULL, *y = NULL;
  dyn_async_run* beside = NULL;
  succeeded(dyn_tensor_view_const(DYN_F32, x, 2, sizes, &input));
  const dyn_named_tensor inputs[] = {{"x", input}};
  succeeded(dyn_graph_run_async(graph, 1, inputs, NULL, &beside));
  bool is_over = false;
  succeeded(dyn_async_run_wait(beside, INT64_C(60000000000), &is_over));
  must(is_over, "no task carried out the run beside its caller");
  succeeded(dyn_async_run_get(beside, 1, &y));
  check(x, weight, elements(y));
  look();

  dyn_async_run_release(beside);
  dyn_tensor_release(y);
  dyn_tensor_release(input);
  dyn_graph_release(graph);
  dyn_options_release(options);
  pthread_mutex_lock(&mutex);
  closing = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  for (int i = 0; i < threads; ++i) pthread_join(pool[i], NULL);
  must(atomic_load(&released) == 1, "the executor was not let go once");
  must(tasks_of_load > 0, "the load gave the executor no task");
  printf(
      "note: the host's %d threads ran %d tasks of dyn, %d of them to load; the process never had "
      "more than %d threads\n",
      threads, atomic_load(&tasks_run), tasks_of_load, atomic_load(&most_threads));
  must(atomic_load(&most_threads) == threads + 1, "dyn has started threads");
  free(x);
  free(weight);
  return 0;
}
