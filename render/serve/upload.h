/* upload.h -- takes files from clients into one folder: written aside, checked, and given a name only when
 * they are whole and hold something for us. Bounded in size, number, expansion and free space. Safe in
 * several threads.
 *
 *     struct gp_upload *u = gp_upload_new("incoming", &limits, &err);
 *     int status = gp_upload_begin(u, "run.json.gz", n, &job, &err);          // 0, or 4xx or 5xx
 *     while (!status && more(&data, &n)) status = gp_upload_put(job, data, n, &err);
 *     if (!status) status = gp_upload_end(job, name, &err);
 *     else gp_upload_abort(job);
 */
#ifndef GP_RENDER_SERVE_UPLOAD_H
#define GP_RENDER_SERVE_UPLOAD_H

#include <stddef.h>
#include <stdint.h>
#include "formats/base/declare.h"

enum { GP_UPLOAD_NAME = 128 };

struct gp_upload_limits {
    uint64_t bytes; /* of a file */
    uint64_t files; /* in the folder */
    unsigned at_once;
    uint64_t expansion; /* how many times larger a packed file may become, beyond 64 MiB */
};

struct gp_upload;
struct gp_upload_job;

/* DIR is made if it is not there. NULL with ERR filled. */
struct gp_upload *gp_upload_new(const char *dir, const struct gp_upload_limits *limits,
                                struct gp_err *err) GP_MUST_CHECK;
/* The folder: a new descriptor; -1 with errno. */
int gp_upload_folder(const struct gp_upload *u);
/* A file of SIZE bytes comes (UINT64_MAX: unknown), which its sender calls NAME (may be NULL). 0 and *JOB, or
 * a status. */
GP_MUST_CHECK int gp_upload_begin(struct gp_upload *u, const char *name, uint64_t size,
                                  struct gp_upload_job **job, struct gp_err *err);
GP_MUST_CHECK int gp_upload_put(struct gp_upload_job *job, const void *data, size_t n, struct gp_err *err);
/* It is complete: NAME gets its name in the folder. Frees JOB in any case. */
GP_MUST_CHECK int gp_upload_end(struct gp_upload_job *job, char name[GP_UPLOAD_NAME], struct gp_err *err);
/* It is not; accepts NULL. */
void gp_upload_abort(struct gp_upload_job *job);
void gp_upload_free(struct gp_upload *u);

#endif
