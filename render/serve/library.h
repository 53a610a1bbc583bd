/* library.h -- answers queries: finds the files, runs the tool, and caches its output by the content of the
 * files, the arguments and the version. A file that changes while it is read is read again. Safe in several
 * threads.
 *
 *     struct gp_library lib = {.catalog = catalog, .crew = crew, .cache = cache};
 *     struct gp_query_call call = {.query = gp_query_named("flame"), .request = &request};
 *     int status = gp_query_run(&lib, &call, &err);      // 0: call.blob, of type call.form->type
 *     gp_blob_drop(call.blob);
 */
#ifndef GP_RENDER_SERVE_LIBRARY_H
#define GP_RENDER_SERVE_LIBRARY_H

#include "formats/base/declare.h"
#include "render/serve/cache.h"
#include "render/catalog/catalog.h"
#include "render/serve/child.h"
#include "render/serve/queries.h"
#include "render/serve/request.h"

struct gp_library {
    struct gp_catalog *catalog;
    struct gp_crew *crew;
    struct gp_cache *cache;
    struct gp_contents contents; /* zeroed, then gp_contents_init() */
};

struct gp_query_call {
    const struct gp_query *query;
    const struct gp_request *request; /* its arguments and its Accept header */
    const char *id;                   /* of the trace, instead of an argument; NULL: none */
    const char *format;               /* the form, instead of an argument; NULL: none */
    /* filled */
    const struct gp_form *form;
    struct gp_blob *blob; /* the caller's */
    char name[256];       /* of the first file, as far as it fits, without folders */
};

/* 0, or an HTTP status with ERR filled. */
GP_MUST_CHECK int gp_query_run(struct gp_library *lib, struct gp_query_call *call, struct gp_err *err);

#endif
