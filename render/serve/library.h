/* library.h -- answers questions about traces: finds the files, runs the tool that answers, and keeps what it
 * wrote by the content of the files, the arguments and the version. A file that changes while it is read is
 * read again. Safe in several threads.
 *
 *     struct gp_library lib = {.shelf = shelf, .crew = crew, .keep = keep};
 *     struct gp_ask ask = {.question = gp_question_named("flame"), .request = &request};
 *     int status = gp_library_ask(&lib, &ask, &err);     // 0: ask.blob, of type ask.form->type
 *     gp_blob_drop(ask.blob);
 */
#ifndef GP_RENDER_SERVE_LIBRARY_H
#define GP_RENDER_SERVE_LIBRARY_H

#include <stdbool.h>
#include "formats/base/declare.h"
#include "render/serve/blob.h"
#include "render/serve/child.h"
#include "render/serve/contents.h"
#include "render/serve/keep.h"
#include "render/serve/questions.h"
#include "render/serve/request.h"
#include "render/serve/shelf.h"

struct gp_library {
    struct gp_shelf *shelf;
    struct gp_crew *crew;
    struct gp_keep *keep;
    struct gp_contents contents; /* zeroed, then gp_contents_init() */
};

struct gp_ask {
    const struct gp_question *question;
    const struct gp_request *request; /* its arguments, and what it accepts */
    const char *id;                   /* of the trace, instead of an argument; NULL: none */
    const char *format;               /* the form, instead of an argument; NULL: none */
    /* filled */
    const struct gp_form *form;
    struct gp_blob *blob; /* the caller's */
    char name[256];       /* of the first file, as far as it fits, without folders */
};

/* 0, or an HTTP status with ERR filled. */
GP_MUST_CHECK int gp_library_ask(struct gp_library *lib, struct gp_ask *ask, struct gp_err *err);

#endif
