/* What plugin/btfloom.h promises to C programs, one check after the other. Called by c_abi.sh with an input that has DWARF and
 * one that has none. */
#include <btfloom.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(report, "line %d: not so: %s\n", __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

static FILE *report;
static int failures;
static const char *good[1];
static const char *bare[1];

static struct btfloom_options ask(const char *const *inputs, const char *output) {
  struct btfloom_options options = BTFLOOM_OPTIONS_INIT;
  options.inputs = inputs;
  options.input_count = 1;
  options.output = output;
  return options;
}

static int same_files(const char *a, const char *b) {
  FILE *fa = fopen(a, "rb");
  FILE *fb = fopen(b, "rb");
  int ca = -1;
  int cb = -1;
  if (fa && fb) {
    do {
      ca = getc(fa);
      cb = getc(fb);
    } while (ca == cb && ca != EOF);
  }
  if (fa) {
    fclose(fa);
  }
  if (fb) {
    fclose(fb);
  }
  return fa && fb && ca == cb;
}

static int exists(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file) {
    fclose(file);
  }
  return file != NULL;
}

/* Sizes: what a struct lacks is zero, what it has too much is left alone, nonsense is refused. */
static void check_sizes(void) {
  struct btfloom_options options = ask(good, "sizes.btf");
  struct btfloom_result result = BTFLOOM_RESULT_INIT;
  const size_t old_size = offsetof(struct btfloom_options, exclude_languages);
  struct btfloom_options *old = malloc(old_size); /* exactly as large as it says */
  struct {
    struct btfloom_options options;
    unsigned char more[64];
  } newer;
  unsigned char small[sizeof result];
  size_t small_size = offsetof(struct btfloom_result, units);

  CHECK(btfloom_encode(NULL, &result) == BTFLOOM_ERROR_ARGUMENT);
  CHECK(result.status == BTFLOOM_ERROR_ARGUMENT && !result.written);
  options.size = 0;
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_ARGUMENT);

  options.size = old_size;
  memcpy(old, &options, old_size);
  CHECK(btfloom_encode(old, NULL) == BTFLOOM_OK);
  CHECK(same_files("sizes.btf", "want.btf"));
  free(old);

  memset(&newer, 0xff, sizeof newer);
  newer.options = ask(good, "sizes.btf");
  newer.options.size = sizeof newer;
  CHECK(btfloom_encode(&newer.options, NULL) == BTFLOOM_OK);

  memset(small, 0xab, sizeof small);
  memcpy(small, &small_size, sizeof small_size);
  options = ask(good, "sizes.btf");
  CHECK(btfloom_encode(&options, (struct btfloom_result *)(void *)small) == BTFLOOM_OK);
  for (size_t i = small_size; i < sizeof small; ++i) {
    CHECK(small[i] == 0xab);
  }
}

struct seen {
  int diagnostics;
  int lent;
  int most_lent;
  int calls;
};

static void on_diagnostic(void *user, const struct btfloom_diagnostic *diagnostic) {
  struct seen *seen = user;
  seen->diagnostics++;
  CHECK(diagnostic->size >= sizeof *diagnostic);
  CHECK(diagnostic->severity == BTFLOOM_ERROR);
  CHECK(strcmp(diagnostic->file, bare[0]) == 0);
  CHECK(diagnostic->unit[0] == '\0' && diagnostic->die_offset == UINT64_MAX);
  CHECK(strncmp(diagnostic->message, bare[0], strlen(bare[0])) == 0);
  CHECK(strstr(diagnostic->message, diagnostic->text) != NULL);
}

/* Failures: a status, one diagnostic, no output and no word on stdout or stderr (c_abi.sh looks). */
static void check_failures(void) {
  struct btfloom_options options = ask(bare, "failed.btf");
  struct btfloom_result result = BTFLOOM_RESULT_INIT;
  struct seen seen = {0, 0, 0, 0};
  int cancel = 1;

  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_NO_DEBUG);
  options.on_diagnostic = on_diagnostic;
  options.user = &seen;
  CHECK(btfloom_encode(&options, &result) == BTFLOOM_ERROR_NO_DEBUG);
  CHECK(seen.diagnostics == 1 && result.status == BTFLOOM_ERROR_NO_DEBUG && !result.written);

  options = ask(good, NULL);
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_ARGUMENT);
  options = ask(NULL, "failed.btf");
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_ARGUMENT);
  options = ask(good, "failed.btf");
  options.base = "no-such-base.btf";
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_INPUT);
  options = ask(good, "no/such/folder.btf");
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_OUTPUT);
  options = ask(good, "failed.btf");
  options.cancel = &cancel;
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_CANCELLED);
  CHECK(!exists("failed.btf"));
}

static int try_acquire(void *user) {
  struct seen *seen = user;
  seen->calls++;
  if (seen->lent == 3) {
    return -1;
  }
  seen->lent++;
  if (seen->lent > seen->most_lent) {
    seen->most_lent = seen->lent;
  }
  return 100 + seen->lent;
}

static void release(void *user, int slot) {
  struct seen *seen = user;
  CHECK(slot > 100 && slot <= 103);
  seen->lent--;
}

static void check_slots(void) {
  struct seen seen = {0, 0, 0, 0};
  struct btfloom_options options = ask(good, "slots.btf");
  struct btfloom_result result = BTFLOOM_RESULT_INIT;
  options.try_acquire = try_acquire;
  options.release = release;
  options.user = &seen;
  CHECK(btfloom_encode(&options, &result) == BTFLOOM_OK);
  CHECK(seen.calls > 0 && seen.most_lent > 0 && seen.lent == 0);
  CHECK(result.peak_threads <= 1U + (unsigned)seen.most_lent);
  CHECK(result.written && result.types > 0 && result.units > 0);
  CHECK(same_files("slots.btf", "want.btf"));
  options.inputs = bare;
  CHECK(btfloom_encode(&options, NULL) == BTFLOOM_ERROR_NO_DEBUG);
  CHECK(seen.lent == 0);
}

struct call {
  pthread_t thread;
  char output[32];
  int status;
};

static void *encode_often(void *argument) {
  struct call *call = argument;
  call->status = 0;
  for (int i = 0; i < 20 && call->status == 0; ++i) {
    struct btfloom_options options = ask(good, call->output);
    options.jobs = 2;
    call->status = btfloom_encode(&options, NULL);
  }
  return NULL;
}

/* Several calls at once do not know of each other. */
static void check_reentrancy(void) {
  struct call calls[4];
  for (int i = 0; i < 4; ++i) {
    snprintf(calls[i].output, sizeof calls[i].output, "thread%d.btf", i);
    CHECK(pthread_create(&calls[i].thread, NULL, encode_often, &calls[i]) == 0);
  }
  for (int i = 0; i < 4; ++i) {
    pthread_join(calls[i].thread, NULL);
    CHECK(calls[i].status == BTFLOOM_OK);
    CHECK(same_files(calls[i].output, "want.btf"));
  }
}

static void check_names(void) {
  const char *list = "var,nosuch,float";
  uint64_t features = 0;
  CHECK(btfloom_parse_features(list, &features) == list + 4);
  CHECK(features == (BTFLOOM_FEATURE_VAR | BTFLOOM_FEATURE_FLOAT));
  features = 0;
  CHECK(btfloom_parse_features("default", &features) == NULL);
  CHECK(features == BTFLOOM_FEATURES_DEFAULT);
  features = 0;
  CHECK(btfloom_parse_features("+global_var", &features) == NULL);
  CHECK(features == (BTFLOOM_FEATURES_DEFAULT | BTFLOOM_FEATURE_GLOBAL_VAR));
  CHECK(strcmp(btfloom_feature_name(0), "encode_force") == 0);
  CHECK(btfloom_feature_name(1000) == NULL);
  CHECK(btfloom_language_code("Rust,c", 4) == 0x1c); /* DWARF 5 table 7.17 */
  CHECK(btfloom_language_code("c", 1) == 0x02);
  CHECK(btfloom_language_code("klingon", 7) == 0);
}

int main(int argc, char **argv) {
  if (argc != 4 || !(report = fopen(argv[3], "w"))) {
    return 64;
  }
  good[0] = argv[1];
  bare[0] = argv[2];
  check_sizes();
  check_failures();
  check_slots();
  check_reentrancy();
  check_names();
  fclose(report);
  return failures ? 1 : 0;
}
