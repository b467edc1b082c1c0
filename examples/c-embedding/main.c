/* Encodes the ELF files after the first argument into the file that it names, on threads lent by a small pool of our own, and
 * prints what came out. */
#include <btfloom.h>
#include <stdio.h>

struct pool {
  int free_slots;
};

/* Calls come one at a time, so the pool needs no lock. */
static int try_acquire(void *user) {
  struct pool *pool = user;
  if (pool->free_slots == 0) {
    return -1;
  }
  return --pool->free_slots;
}

static void release(void *user, int slot) {
  struct pool *pool = user;
  (void)slot;
  pool->free_slots++;
}

static void say(void *user, const struct btfloom_diagnostic *diagnostic) {
  (void)user;
  fprintf(stderr, "%s\n", diagnostic->message);
}

int main(int argc, char **argv) {
  struct pool pool = {3};
  struct btfloom_options options = BTFLOOM_OPTIONS_INIT;
  struct btfloom_result result = BTFLOOM_RESULT_INIT;
  int status;
  if (argc < 3) {
    fprintf(stderr, "usage: embed OUTPUT FILE...\n");
    return 64;
  }
  options.output = argv[1];
  options.inputs = (const char *const *)(argv + 2);
  options.input_count = (size_t)(argc - 2);
  options.try_acquire = try_acquire;
  options.release = release;
  options.on_diagnostic = say;
  options.user = &pool;
  status = btfloom_encode(&options, &result);
  if (status == BTFLOOM_OK) {
    printf("%llu types, %llu functions, %llu bytes\n", (unsigned long long)result.types,
           (unsigned long long)result.functions, (unsigned long long)result.bytes);
  }
  if (pool.free_slots != 3) {
    fprintf(stderr, "a slot did not come back\n");
    return 70;
  }
  return status;
}
