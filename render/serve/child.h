/* child.h -- runs a tool of the suite on open files and captures its output. The child has limits of time,
 * memory, output and number of files, cannot gain privileges, does not outlive us, and has none of our
 * descriptors but those files. Safe in several threads; GP_CHILD_WAITING at most wait while others run.
 *
 *     struct gp_crew *crew = gp_crew_new(&opts, &err);
 *     struct gp_job job = {.tool = "trace-hta", .options = options, .noptions = 2, .files = &f, .nfiles = 1};
 *     int status = gp_crew_run(crew, &job, &err);         // 0: job.answer; otherwise an HTTP status
 */
#ifndef GP_RENDER_SERVE_CHILD_H
#define GP_RENDER_SERVE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"
#include "render/serve/cache.h"

enum { GP_CHILD_FILES = 64, GP_CHILD_WAITING = 64, GP_CHILD_WORDS = 160 };

struct gp_crew_opts {
    unsigned at_once;       /* children */
    uint64_t memory_bytes;  /* of each; 0: no limit */
    uint64_t output_bytes;  /* of each */
    int64_t time_ns;        /* of each, on the clock; as much of the processor */
    const char *tools;      /* the folder of the programs */
    const char *scratch;    /* a folder for temporary ones */
    const char *const *env; /* of the children, NULL at the end */
};

struct gp_child_file {
    int fd;
    const char *name;   /* as it is named in the answer: parts between slashes */
    const char *before; /* an option that goes before it, such as "--current"; NULL: none */
};

struct gp_job {
    const char *tool;
    const char *const *options;
    size_t noptions;
    const struct gp_child_file *files;
    size_t nfiles;
    /* filled */
    struct gp_blob *answer; /* the caller's */
    int exit_status;        /* of the tool; -1: it was ended, and another try may do better */
    bool no_descriptors;    /* it failed because too many are open */
};

struct gp_crew;

/* OPTS' strings are borrowed. NULL with ERR filled. */
struct gp_crew *gp_crew_new(const struct gp_crew_opts *opts, struct gp_err *err) GP_MUST_CHECK;
/* 0, or an HTTP status with ERR filled: 422 if the tool refused the files, with its message; 502 if it was
 * ended by a signal, 504 by its time; 503 if too many wait already, or the system has no room. */
GP_MUST_CHECK int gp_crew_run(struct gp_crew *c, struct gp_job *job, struct gp_err *err);
/* Is TOOL there? */
bool gp_crew_has(const struct gp_crew *c, const char *tool);
/* End all children; their callers get 503, and so do all later ones. */
void gp_crew_stop(struct gp_crew *c);
void gp_crew_free(struct gp_crew *c);

#endif
