/* btfloom: puts BTF (BPF Type Format) made from DWARF into what a build produces.
 *
 *   #include <btfloom.h>
 *   #include <stdio.h>
 *
 *   static void say(void *user, const struct btfloom_diagnostic *d) {
 *     fprintf(stderr, "%s\n", d->message);
 *   }
 *
 *   int main(int argc, char **argv) {
 *     struct btfloom_options options = BTFLOOM_OPTIONS_INIT;
 *     struct btfloom_result result = BTFLOOM_RESULT_INIT;
 *     options.inputs = (const char *const *)(argv + 1);
 *     options.input_count = (size_t)(argc - 1);
 *     options.output = "out.btf";
 *     options.on_diagnostic = say;
 *     return btfloom_encode(&options, &result);
 *   }
 *
 * The library keeps no state between calls and may be called from several threads at once. It never
 * prints, never ends the process, and never touches signal handlers unless BTFLOOM_HANDLE_SIGNALS
 * asks for it. Exit status 0 (BTFLOOM_OK) means that the output is complete and in place; after any
 * other status but BTFLOOM_INCOMPLETE the old output, if any, is untouched.
 *
 * Structs begin with their size. Fields are only ever added at the end, so a program built against
 * an older header works with a newer library. What is zero means "not asked for".
 */
#ifndef BTFLOOM_H
#define BTFLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names as C has them */

#if defined(__GNUC__)
#define BTFLOOM_API __attribute__((visibility("default")))
#else
#define BTFLOOM_API
#endif

enum btfloom_status {
  BTFLOOM_OK = 0,          /* the output is complete and in place */
  BTFLOOM_ERROR_INPUT = 1, /* an input is missing, unreadable, damaged, or not what it should be */
  BTFLOOM_ERROR_NO_DEBUG = 2,  /* no input has any DWARF */
  BTFLOOM_ERROR_OUTPUT = 3,    /* the output could not be written */
  BTFLOOM_ERROR_ARGUMENT = 4,  /* the options contradict themselves or are too old */
  BTFLOOM_ERROR_CANCELLED = 5, /* options.cancel was set */
  BTFLOOM_ERROR_RESOURCE = 6,  /* out of memory or threads */
  BTFLOOM_INCOMPLETE = 7 /* written on request (BTFLOOM_KEEP_GOING) although units were broken */
};

/* Features, by the names that pahole's --btf_features gives them: btfloom_parse_features() knows
 * those. */
#define BTFLOOM_FEATURE_ENCODE_FORCE (UINT64_C(1) << 0)
#define BTFLOOM_FEATURE_VAR (UINT64_C(1) << 1)
#define BTFLOOM_FEATURE_FLOAT (UINT64_C(1) << 2)
#define BTFLOOM_FEATURE_DECL_TAG (UINT64_C(1) << 3)
#define BTFLOOM_FEATURE_TYPE_TAG (UINT64_C(1) << 4)
#define BTFLOOM_FEATURE_ENUM64 (UINT64_C(1) << 5)
#define BTFLOOM_FEATURE_OPTIMIZED_FUNC (UINT64_C(1) << 6)
#define BTFLOOM_FEATURE_CONSISTENT_FUNC (UINT64_C(1) << 7)
#define BTFLOOM_FEATURE_DECL_TAG_KFUNCS (UINT64_C(1) << 8)
#define BTFLOOM_FEATURE_REPRODUCIBLE_BUILD (UINT64_C(1) << 9)
#define BTFLOOM_FEATURE_DISTILLED_BASE (UINT64_C(1) << 10)
#define BTFLOOM_FEATURE_GLOBAL_VAR (UINT64_C(1) << 11)
#define BTFLOOM_FEATURE_ATTRIBUTES (UINT64_C(1) << 12)
#define BTFLOOM_FEATURE_TRUE_SIGNATURE (UINT64_C(1) << 13)
#define BTFLOOM_FEATURE_LAYOUT (UINT64_C(1) << 14)
/* What `default` stands for, and what an options struct starts with. */
#define BTFLOOM_FEATURES_DEFAULT UINT64_C(0x1ff)

/* Bits of btfloom_options.flags. */
#define BTFLOOM_IN_PLACE \
  (UINT64_C(1) << 0) /* a .BTF section in the first input; `output` is not used */
#define BTFLOOM_KEEP_GOING (UINT64_C(1) << 1) /* write although units are broken */
#define BTFLOOM_USE_JOBSERVER \
  (UINT64_C(1) << 2) /* take slots from the job server that MAKEFLAGS names */
#define BTFLOOM_EACH                                                                       \
  (UINT64_C(1) << 4) /* every input becomes a BTF of its own, on one base: in place, or in \
                        the folder `output`, as NAME.btf */
#define BTFLOOM_HANDLE_SIGNALS                                                         \
  (UINT64_C(1) << 3) /* on SIGINT, SIGTERM, SIGHUP, SIGQUIT: tokens back, temporary    \
                        files gone, then the signal's own effect. For programs that do \
                        nothing else meanwhile. */

enum btfloom_severity { BTFLOOM_NOTE = 0, BTFLOOM_WARNING = 1, BTFLOOM_ERROR = 2 };

/* What users should hear. Valid during the callback only. Strings are never NULL. */
struct btfloom_diagnostic {
  size_t size;
  enum btfloom_severity severity;
  const char* message; /* the whole line: file: unit: DIE 0x12: text */
  const char* file;    /* input or output, "" if none */
  const char* unit;    /* DW_AT_name of the compilation unit, "" if none */
  uint64_t die_offset; /* in .debug_info; UINT64_MAX if none */
  const char* text;    /* what is wrong and what was or should be done */
};

struct btfloom_options {
  size_t size; /* sizeof(struct btfloom_options) */
  uint64_t flags;

  const char* const* inputs; /* paths of ELF files, in link order */
  size_t input_count;
  const char* output; /* path of the detached BTF */
  const char* base;   /* base of a split BTF: raw BTF, or an ELF file with .BTF; NULL: none */

  uint64_t features; /* BTFLOOM_FEATURE_*; BTFLOOM_OPTIONS_INIT sets the default ones */

  const uint16_t* exclude_languages; /* DW_LANG_* of compilation units to leave out */
  size_t exclude_language_count;

  /* Threads. With `try_acquire` and `release` set, extra threads run only on slots lent by them;
   * else on the job server's (BTFLOOM_USE_JOBSERVER); else `jobs` of them. In every case `jobs` is
   * a cap, and 0 means the processors that this process may use. The calling thread always counts
   * as one and needs no slot. `try_acquire` returns a number >= 0 for a slot lent, which `release`
   * gets back, or a negative number if none is free now; it must not block. `acquire` may block; it
   * is there for later versions. They are called one at a time, from different threads. */
  unsigned jobs;
  int (*acquire)(void* user);
  int (*try_acquire)(void* user);
  void (*release)(void* user, int slot);

  /* One call at a time, from different threads; `user` is handed to every callback. */
  void (*on_diagnostic)(void* user, const struct btfloom_diagnostic* diagnostic);
  void (*on_progress)(void* user, size_t units_done, size_t units);
  void* user;

  /* Another thread may set it to 1 at any time; the call then ends soon, with
   * BTFLOOM_ERROR_CANCELLED. */
  const volatile int* cancel;

  /* A folder that keeps what was found out about a base, so that the next call with the same base
   * need not read all of it: files made of the base's content, safe to delete at any time. It is
   * made if it is missing. NULL: nothing is kept. */
  const char* base_cache;

  /* With BTFLOOM_FEATURE_DISTILLED_BASE and a detached output: path of the distilled base, what the
   * section .BTF.base would hold. NULL: the output is split from `base` as it is. */
  const char* output_base;
};

/* In the order of the fields, so that C++ takes it too. */
#define BTFLOOM_OPTIONS_INIT                                                                      \
  {                                                                                               \
    sizeof(struct btfloom_options), 0, NULL, 0, NULL, NULL, BTFLOOM_FEATURES_DEFAULT, NULL, 0, 0, \
        NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL                                      \
  }

/* Filled as far as the run came, also on error. */
struct btfloom_result {
  size_t size;           /* sizeof(struct btfloom_result) */
  int status;            /* enum btfloom_status, as returned */
  int written;           /* 1: the output is in place */
  uint64_t units;        /* compilation units read */
  uint64_t broken_units; /* left out because their structure is broken */
  uint64_t dies;         /* DIEs read */
  uint64_t types_read;   /* types met in DWARF */
  uint64_t types;        /* types written, void not counted */
  uint64_t functions;    /* FUNCs among them */
  uint64_t variables;    /* VARs among them */
  uint64_t degraded;     /* odd types replaced by the nearest honest thing */
  uint64_t bytes;        /* size of the BTF */
  unsigned peak_threads; /* most threads at one time */
  double seconds_open;   /* wall time: mapping, symbols, unit headers */
  double seconds_load;   /* reading, folding and merging units */
  double seconds_write;  /* choosing functions, making the bytes */
  double seconds_commit; /* writing the output file */
};

#define BTFLOOM_RESULT_INIT \
  { sizeof(struct btfloom_result), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0.0, 0.0 }

/* Encodes the inputs, in order, into one BTF. `result` may be NULL. Returns an enum btfloom_status;
 * the reason of any but BTFLOOM_OK was handed to on_diagnostic. Thread-safe and re-entrant. Format:
 * Documentation/bpf/btf.rst. */
BTFLOOM_API int btfloom_encode(const struct btfloom_options* options,
                               struct btfloom_result* result);

/* Adds the features of `text` to `*features`: names as in pahole's --btf_features, separated by
 * commas; `default`, `all`, and a leading `+` for "default and". Returns NULL, or the first name
 * that is unknown or not in this version, as a pointer into `text`; the others are added all the
 * same. Thread-safe. */
BTFLOOM_API const char* btfloom_parse_features(const char* text, uint64_t* features);

/* Name of feature number `index` (0, 1, ...), in pahole's order, NULL behind the last one.
 * Thread-safe. */
BTFLOOM_API const char* btfloom_feature_name(unsigned index);

/* DW_LANG_* code of a language name as pahole's --lang_exclude knows it, in any case; 0 if unknown.
 * `length` bytes of `name` count. Thread-safe. */
BTFLOOM_API uint16_t btfloom_language_code(const char* name, size_t length);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
