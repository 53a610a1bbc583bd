/* app.h -- the front door of the tools that read traces: the options they share, their inputs, the files of
 * --classes and the like, progress, and reports about the inputs on standard error. Only mains
 * include it.
 *
 *     struct opts { struct gp_app_opts app; bool mine; };
 *     struct gp_app f;
 *     if (gp_cli_parse(&tool, argc, argv, &o)) return tool.status;
 *     int failed = gp_app_open(&f, &tool, &o.app, &err) ||
 *                  gp_app_trace(&f, 0, GP_NEED(GP_GPU), &trace, &err);
 *     gp_app_close(&f);
 *
 * README.md beside this file shows a whole tool.
 */
#ifndef GP_ANALYZE_APP_H
#define GP_ANALYZE_APP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/names/classify.h"
#include "analyze/view/quality.h"
#include "formats/base/answer.h"
#include "formats/base/cli.h"
#include "formats/reader.h"
#include "formats/base/declare.h"
#include "formats/folded_read.h"

enum { GP_MOST_WORKERS = 8, GP_MOST_THREADS = 64 };

/* The threads of a tool, shared among its inputs: as many inputs at once as there are threads, and the
 * remaining threads inside each: of 8, 3 inputs at once with 2 threads each. */
struct gp_threads {
    size_t workers; /* inputs that are read at once, 1 to GP_MOST_WORKERS */
    int each;       /* threads of each, at least 1 */
};

/* ASKED is the value of --threads: 0 means one per processor, at most GP_MOST_WORKERS; more than
 * GP_MOST_THREADS means as many as that. INPUTS may be 0, which counts as 1. */
struct gp_threads gp_threads_share(uint64_t asked, size_t inputs);

/* Many parts read by several workers and merged in their order, so that the result, and the failure reported,
 * are the same for any number of workers. */
struct gp_read_all {
    size_t n, workers;
    /* Read part I. Several workers are in here at once, each with another I. */
    int (*read)(void *ctx, size_t i, struct gp_err *err);
    /* Part I was read: called by the caller's thread, in the order of parts, soon enough that at most two
     * parts per worker wait for it. May be NULL. */
    void (*merge)(void *ctx, size_t i);
    /* Part I was read, successfully or not, and will not be merged, because an earlier part or this one
     * failed. May be NULL. */
    void (*drop)(void *ctx, size_t i);
    /* Part I could not be read, for this reason: called like merge. True: it is left out, and the others
     * count. NULL: no part may fail. */
    bool (*skip)(void *ctx, size_t i, const struct gp_err *err);
    void *ctx;
};

/* Read and merge all parts. -1 with the error of the first part, in their order, that could not be read and
 * was not skipped; the parts before it are merged, and no later part is begun once a failure is known. */
GP_MUST_CHECK int gp_read_all(const struct gp_read_all *job, struct gp_err *err);

/* The options of tools that read traces; the first member of a tool's options struct. A tool offers those of
 * which it has the rows below. */
struct gp_app_opts {
    struct gp_common_opts common;
    const char *classes, *step_marker; /* NULL: not given */
    uint64_t top;                      /* GP_ROWS_UNSET: not given */
    uint64_t width;                    /* columns of text; 0: not given */
    bool allow_empty;
    bool whole; /* about everything, not only the steps */
};

// clang-format off
#define GP_OPTION_STEP_MARKER                                                                                \
    {0, "step-marker", "REGEX", "ranges to treat as steps (default: auto-detect)", GP_OPT_STRING,            \
        offsetof(struct gp_app_opts, step_marker)}
#define GP_OPTION_CLASSES                                                                                    \
    {0, "classes", "FILE", "file with lines of REGEX CLASS, which give kernels their classes",           \
        GP_OPT_STRING, offsetof(struct gp_app_opts, classes)}
#define GP_OPTION_TOP(help)                                                                                  \
    {'n', "top", "N", help, GP_OPT_UINT, offsetof(struct gp_app_opts, top)}
#define GP_OPTION_WIDTH                                                                                      \
    {0, "width", "N|full", "columns of text; full cuts nothing (default: the terminal's, or 80)",            \
        GP_OPT_COLUMNS, offsetof(struct gp_app_opts, width)}
#define GP_OPTION_ALLOW_EMPTY                                                                                \
    {0, "allow-empty", NULL, "do not fail if there are no GPU events", GP_OPT_FLAG,                          \
        offsetof(struct gp_app_opts, allow_empty)}
#define GP_OPTION_WHOLE                                                                                      \
    {0, "whole", NULL, "cover the whole trace, not only its steps", GP_OPT_FLAG,                             \
        offsetof(struct gp_app_opts, whole)}
/* What nearly every analysis needs. */
#define GP_OPTIONS_ANALYSIS GP_OPTION_STEP_MARKER, GP_OPTION_CLASSES
// clang-format on

#define GP_APP_DEFAULTS .top = GP_ROWS_UNSET

enum {
    GP_SMALL_FILE_BYTES = 1 << 20
}; /* the limit of files that a person writes: classes, ceilings, predictions */

struct gp_app {
    const struct gp_tool *tool;
    const struct gp_app_opts *opts;
    const char *const *paths; /* the inputs in their order; "-": standard input */
    size_t n;
    const bool *commands; /* by input: its path is a command to read from (operands.h); NULL: none is */
    struct gp_threads threads;
    const struct gp_classes *classes; /* NULL without --classes */
    /* How gp_app_join() reads input I; NULL: gp_app_trace(). For tools that make traces of other things,
     * too. */
    int (*read)(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t, struct gp_err *err);
    /* private */
    struct gp_classes own_classes;
    pthread_mutex_t lock;
    uint64_t bytes;
    struct gp_progress progress;
};

/* Open input I, a file or a command; gp_app_finish() closes it and fails if its command did. */
GP_MUST_CHECK struct gp_input *gp_app_input(struct gp_app *f, size_t i, int *child, struct gp_err *err);
GP_MUST_CHECK int gp_app_finish(struct gp_app *f, size_t i, struct gp_input *in, int child, int failed,
                                struct gp_err *err);

/* Make F ready, whatever this returns: its inputs are TOOL's operands, or standard input when there are none.
 * Reads the file of --classes. TOOL and OPTS are borrowed until close. */
GP_MUST_CHECK int gp_app_open(struct gp_app *f, const struct gp_tool *tool, const struct gp_app_opts *opts,
                              struct gp_err *err);
/* The inputs are these N paths instead, which are borrowed. */
void gp_app_inputs(struct gp_app *f, const char *const *paths, size_t n);
/* Accepts a zeroed F. */
void gp_app_close(struct gp_app *f);

/* Read input I, or IN, which was opened from it, as --strict, --threads and --progress say. The caller
 * releases T; on failure it is released already, and ERR names the input. Safe in several threads. */
GP_MUST_CHECK int gp_app_trace(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t,
                               struct gp_err *err);
GP_MUST_CHECK int gp_app_trace_input(struct gp_app *f, struct gp_input *in, uint32_t need, struct gp_trace *t,
                                     struct gp_err *err);
/* The same of input I, which may also hold something else: where IS_OTHER says so of its first bytes, all of
 * it goes to OTHER instead, at most MOST bytes, and T is not touched. */
GP_MUST_CHECK int gp_app_trace_or(struct gp_app *f, size_t i, uint32_t need, struct gp_trace *t,
                                  bool (*is_other)(const void *head, size_t n), size_t most,
                                  struct gp_buf *other, struct gp_err *err);
/* Read all inputs as JOB says, whose `n` and `workers` are filled in here, and wipe the progress line. A
 * tool that cannot read several at once sets JOB's `workers` to 1 and has all threads for each; others
 * leave it 0. */
GP_MUST_CHECK int gp_app_read_all(struct gp_app *f, struct gp_read_all *job, struct gp_err *err);

/* How many bytes one reading has reported; for readers that are called without gp_app_trace(). */
struct gp_app_meter {
    struct gp_app *app;
    uint64_t last;
};
/* A callback of progress; CTX is a struct gp_app_meter *. */
void gp_app_bytes(void *ctx, uint64_t bytes);

/* Read PATH, which may have MOST bytes, and hand all of it to PARSE. ERR names PATH. */
GP_MUST_CHECK int gp_app_file(const char *path, size_t most,
                              int (*parse)(void *ctx, const char *text, size_t n, struct gp_err *err),
                              void *ctx, struct gp_err *err);

/* An error if nothing in T can be used. */
GP_MUST_CHECK int gp_app_check_usable(const struct gp_trace *t, struct gp_err *err);
/* An error unless the inputs have GPU events, GPU_EVENTS in all, or --allow-empty is given. CUT: one of them
 * ends early, which explains it, as profilers write GPU events last. */
GP_MUST_CHECK int gp_app_check_empty(const struct gp_app *f, uint64_t gpu_events, bool cut,
                                     struct gp_err *err);
/* The same of N inputs as they were judged. */
GP_MUST_CHECK int gp_app_check_inputs(const struct gp_app *f, const struct gp_input_quality *in, size_t n,
                                      struct gp_err *err);
/* Are the pages there that the answer is to link to, by --flame and --timeline? They are given as paths from
 * the answer; NULL: none is wanted. An address is taken as it is: one with "://", or an absolute one without
 * an extension, such as those of trace-serve. */
GP_MUST_CHECK int gp_app_check_pages(const struct gp_app_opts *o, const char *flame, const char *timeline,
                                     struct gp_err *err);
/* On standard error, unless --quiet: that --step-marker was given, but there are no STEPS. */
void gp_app_warn_marker(const struct gp_app *f, size_t steps);
/* The reason why a picture of T is empty, on standard error unless --quiet, where T has no GPU events; with
 * ELSE_DO, which may be NULL, where it has events of the host. */
void gp_app_warn_empty(const struct gp_app *f, const struct gp_trace *t, const char *else_do);

/* Show on the progress line what is done after reading, such as "analysing"; NULL wipes it, as is due before
 * any message. */
void gp_app_phase(struct gp_app *f, const char *phase);
/* gp_answer_write() to --output, with the phase "writing" where that is a file. */
GP_MUST_CHECK int gp_app_answer(struct gp_app *f, const struct gp_answer_format *format, void *answer,
                                struct gp_err *err);

/* Is the answer text for a person at a terminal? It then shows the faults of the inputs itself. */
bool gp_app_is_terminal(const struct gp_app *f);
/* Report faults of the inputs on standard error, one line per input, unless --quiet: of a trace as
 * it was read. True if anything is. */
bool gp_app_warn_issues(const struct gp_app *f, const struct gp_trace *t);
/* The same of N inputs as they were judged, whose sids are of S; not where the answer shows it itself. */
void gp_app_warn_inputs(const struct gp_app *f, const struct gp_strings *s, const struct gp_input_quality *in,
                        size_t n);
/* With --verbose, describe N inputs on standard error. Where N_BASE is not 0, the first N_BASE are the
 * baseline, and the others are compared with it. */
void gp_app_describe(const struct gp_app *f, const struct gp_strings *s, const struct gp_input_quality *in,
                     size_t n, size_t n_base);

/* Should text on the output be coloured? */
bool gp_app_color(const struct gp_app *f);
/* How many columns text on the output has. */
size_t gp_app_width(const struct gp_app *f);

/* Hand every stack of IN to SINK. *DAMAGED becomes true if some of it could not be read, which is an error
 * with --strict and otherwise reported on standard error, unless --quiet. ERR names the input. */
GP_MUST_CHECK int gp_app_folded(struct gp_app *f, struct gp_input *in, gp_folded_sink *sink, void *ctx,
                                bool *damaged, struct gp_err *err);

#endif
