/* queries.h -- queries about traces, as a table: the tool that answers, its forms, and the arguments of an
 * address that become options; and their answers: it finds the files, runs the tool, and caches its output by
 * the content of the files, the arguments and the version. A file that changes while it is read is read
 * again. Safe in several threads.
 *
 *     struct gp_library lib = {.catalog = catalog, .crew = crew, .cache = cache};
 *     struct gp_query_call call = {.query = gp_query_named("flame"), .request = &request};
 *     int status = gp_query_run(&lib, &call, &err);      // 0: call.blob, of type call.form->type
 *     gp_blob_drop(call.blob);
 */
#ifndef GP_RENDER_SERVE_QUERIES_H
#define GP_RENDER_SERVE_QUERIES_H

#include <stdbool.h>
#include <stddef.h>
#include "formats/base/declare.h"
#include "render/serve/cache.h"
#include "render/serve/catalog.h"
#include "render/serve/child.h"
#include "render/serve/request.h"

/* ---- the table ---- */

enum { GP_QUERY_FORMS = 8, GP_QUERY_ARGS = 8 };

struct gp_form {
    const char *name;       /* of ?format= */
    const char *type;       /* of the answer */
    const char *options[3]; /* of the tool; NULL: no more */
};

struct gp_query {
    const char *name;  /* "flame" */
    const char *page;  /* as a page of a trace is called, NULL: it has none */
    const char *title; /* of a link to that page */
    const char *tool;
    int kinds;                            /* of files that it takes, enum gp_catalog_kind */
    struct gp_form forms[GP_QUERY_FORMS]; /* the first is the default; ends with {0} */
    /* Options of the tool that an address may have, such as "range"; those without value have a ! first.
     * NULL: no more. */
    const char *args[GP_QUERY_ARGS];
    const char *options[3]; /* that it always has */
    const char *needs;      /* "trace" or "two", for the description of the API */
};

/* Ends with {0}. */
extern const struct gp_query gp_queries[];

/* NULL if there is none. */
const struct gp_query *gp_query_named(const char *name);
const struct gp_query *gp_query_of_page(const char *page);
/* The form called NAME, or, where that is NULL, the one that ACCEPT, the header, wants most. NULL if there is
 * none. */
const struct gp_form *gp_query_form(const struct gp_query *q, const char *name, const char *accept);

/* ---- answers ---- */

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
