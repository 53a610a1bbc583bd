#include "render/serve/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/base/utf8.h"
#include "formats/base/vec.h"
#include "render/serve/pages.h"

enum { TRIES = 3 };

/* One call while it is answered. */
struct work {
    struct gp_library *lib;
    struct gp_query_call *call;
    struct gp_catalog_list *list;
    struct gp_child_file files[GP_CHILD_FILES];
    const struct gp_catalog_file *found[GP_CHILD_FILES];
    struct gp_content_state states[GP_CHILD_FILES];
    size_t nfiles;
    bool no_descriptors; /* the cause of a failure */
    struct gp_buf words; /* options, each ends in NUL */
    GP_VEC(const char *) options;
    struct gp_buf key;
};

static void release(struct work *w)
{
    for (size_t i = 0; i < w->nfiles; i++)
        if (w->files[i].fd >= 0) close(w->files[i].fd);
    gp_catalog_drop(w->list);
    GP_VEC_FREE(&w->options);
    gp_buf_release(&w->words);
    gp_buf_release(&w->key);
}

/* ---- which files ---- */

static int add_file(struct work *w, const char *id, size_t n, const char *before, struct gp_err *err)
{
    char text[GP_CATALOG_ID + 1] = "";
    const struct gp_catalog_file *f = NULL;
    if (n == GP_CATALOG_ID) {
        memcpy(text, id, n);
        f = gp_catalog_find(w->list, text);
    }
    if (!f) {
        gp_fail(err, GP_E_USAGE, -1, "no such trace, or it is gone; /api/traces lists all traces");
        return 404;
    }
    if (!(f->kind & w->call->query->kinds)) {
        gp_fail(err, GP_E_USAGE, -1, "%s holds nothing that %s reads", f->name, w->call->query->tool);
        return 404;
    }
    if (w->nfiles == GP_CHILD_FILES) {
        gp_fail(err, GP_E_LIMIT, -1, "more than %d traces at once", GP_CHILD_FILES);
        return 400;
    }
    w->found[w->nfiles] = f;
    w->files[w->nfiles++] = (struct gp_child_file){-1, f->name, before};
    return 0;
}

/* The ids in TEXT, with commas between them. */
static int add_files(struct work *w, const char *text, const char *before, struct gp_err *err)
{
    for (;;) {
        size_t n = strcspn(text, ",");
        int status = add_file(w, text, n, before, err);
        if (status) return status;
        before = NULL;
        if (!text[n]) return 0;
        text += n + 1;
    }
}

/* All arguments called NAME. */
static int add_named(struct work *w, const char *name, const char *before, struct gp_err *err)
{
    const struct gp_request *r = w->call->request;
    bool any = false;
    for (size_t i = 0; i < r->nargs; i++) {
        if (strcmp(r->args[i].name, name) != 0) continue;
        int status = add_files(w, r->args[i].value, any ? NULL : before, err);
        if (status) return status;
        any = true;
    }
    if (any) return 0;
    gp_fail(err, GP_E_USAGE, -1, "the address has no %s=ID", name);
    return 400;
}

static int find_files(struct work *w, struct gp_err *err)
{
    w->list = gp_catalog_list(w->lib->catalog, false);
    if (w->call->id) return add_files(w, w->call->id, NULL, err);
    if (strcmp(w->call->query->name, "compare") != 0) return add_named(w, "trace", NULL, err);
    int status = add_named(w, "a", "--base", err);
    return status ? status : add_named(w, "b", "--current", err);
}

/* ---- which options ---- */

static void add_word(struct work *w, const char *text, const char *equals)
{
    gp_buf_puts(&w->words, text);
    if (equals) gp_buf_printf(&w->words, "=%s", equals);
    gp_buf_putc(&w->words, 0);
}

static const char *known_arg(const struct gp_query *q, const char *name)
{
    for (size_t i = 0; i < GP_QUERY_ARGS && q->args[i]; i++)
        if (!strcmp(q->args[i] + (*q->args[i] == '!'), name)) return q->args[i];
    return NULL;
}

static bool is_ours(const char *name)
{
    return *name && gp_is_one_of(name, strlen(name), " trace a b format ");
}

static int add_args(struct work *w, struct gp_err *err)
{
    const struct gp_request *r = w->call->request;
    const struct gp_query *q = w->call->query;
    for (size_t i = 0; i < r->nargs; i++) {
        const char *name = r->args[i].name, *known = known_arg(q, name);
        if (!known && is_ours(name)) continue;
        if (!known) {
            gp_fail(err, GP_E_USAGE, -1, "\"%s\" has no argument \"%.60s\"", q->name, name);
            return 400;
        }
        char option[64];
        snprintf(option, sizeof option, "--%s", name);
        add_word(w, option, *known == '!' ? NULL : r->args[i].value);
    }
    return 0;
}

static int find_options(struct work *w, struct gp_err *err)
{
    const struct gp_query *q = w->call->query;
    const struct gp_form *f = w->call->form;
    for (size_t i = 0; i < 3 && f->options[i]; i++) add_word(w, f->options[i], NULL);
    for (size_t i = 0; i < 3 && q->options[i]; i++) add_word(w, q->options[i], NULL);
    bool page = !strcmp(f->name, "html"),
         links = !strcmp(q->tool, "trace-hta") || !strcmp(q->tool, "trace-memory");
    if (page && links && w->nfiles == 1 && w->found[0]->kind == GP_CATALOG_TRACE) {
        struct gp_buf b = {0};
        gp_buf_printf(&b, "--flame=/traces/%s/flame", w->found[0]->id);
        add_word(w, gp_buf_str(&b), NULL);
        b.n = 0;
        gp_buf_printf(&b, "--timeline=/traces/%s/timeline", w->found[0]->id);
        add_word(w, gp_buf_str(&b), NULL);
        gp_buf_release(&b);
    }
    return add_args(w, err);
}

/* ---- the key ---- */

/* Open the files, and make the key of query, content and version. */
static int make_key(struct work *w, struct gp_err *err)
{
    char tag[GP_CONTENT_TAG];
    w->key.n = 0;
    gp_buf_puts(&w->key, GP_VERSION " ");
    gp_buf_puts(&w->key, w->call->query->tool);
    for (const char *s = w->words.data; s && s < w->words.data + w->words.n; s += strlen(s) + 1)
        gp_buf_printf(&w->key, "\n%s", s);
    for (size_t i = 0; i < w->nfiles; i++) {
        if (w->files[i].fd >= 0) close(w->files[i].fd);
        w->files[i].fd = gp_catalog_open(w->lib->catalog, w->found[i], err);
        w->no_descriptors = w->files[i].fd < 0 && (errno == EMFILE || errno == ENFILE);
        if (w->files[i].fd < 0) return w->no_descriptors ? 503 : 404;
        if (gp_content_state(w->files[i].fd, &w->states[i], err) ||
            gp_contents_tag(&w->lib->contents, w->files[i].fd, tag, err))
            return 502;
        gp_buf_printf(&w->key, "\n%s %s %s", w->files[i].before ? w->files[i].before : "", tag,
                      w->found[i]->name);
        if (w->call->form->type && gp_starts(w->call->form->type, "text/html"))
            gp_buf_printf(&w->key, " %s", w->found[i]->id); /* pages have links */
    }
    return 0;
}

static bool files_changed(const struct work *w)
{
    for (size_t i = 0; i < w->nfiles; i++) {
        struct gp_content_state now;
        if (gp_content_state(w->files[i].fd, &now, NULL)) return true;
        struct gp_content_state was = w->states[i];
        now.changed_ns = was.changed_ns = 0; /* another name, or none, is not another content */
        if (!gp_content_same(&now, &was)) return true;
    }
    return false;
}

/* ---- the answer ---- */

static int run(struct work *w, struct gp_blob **blob, struct gp_err *err)
{
    w->options.n = 0;
    for (const char *s = w->words.data; s < w->words.data + w->words.n; s += strlen(s) + 1)
        GP_VEC_PUSH(&w->options, s);
    struct gp_job job = {.tool = w->call->query->tool,
                         .options = w->options.at,
                         .noptions = w->options.n,
                         .files = w->files,
                         .nfiles = w->nfiles};
    if (w->options.n > GP_CHILD_WORDS) {
        gp_fail(err, GP_E_LIMIT, -1, "too many arguments");
        return 400;
    }
    int status = gp_crew_run(w->lib->crew, &job, err);
    *blob = job.answer;
    w->no_descriptors = job.no_descriptors;
    if (!status && !strcmp(w->call->form->name, "html")) {
        struct gp_navbar d = {
            .query = w->call->query, .files = w->found, .nfiles = w->nfiles, .crew = w->lib->crew};
        *blob = gp_navbar_add(&d, job.answer);
    }
    return status;
}

/* *AGAIN: a file was changed while it was read. */
static int answer_once(struct work *w, bool *again, struct gp_err *err)
{
    bool mine;
    int status = make_key(w, err);
    *again = false;
    if (status) return status;
    struct gp_cache_entry *e = gp_cache_get(w->lib->cache, gp_buf_str(&w->key), &mine);
    if (mine) {
        struct gp_blob *blob = NULL;
        status = run(w, &blob, err);
        *again = files_changed(w);
        gp_cache_set(w->lib->cache, e, status, blob, err, !*again && (!status || status == 422));
    }
    status = gp_cache_entry_status(e, err);
    w->call->blob = status || *again ? NULL : gp_blob_keep(gp_cache_entry_blob(e));
    gp_cache_release(w->lib->cache, e);
    return status;
}

static void note_name(struct work *w)
{
    const char *name = gp_base_name(w->found[0]->name);
    size_t n = gp_utf8_fit_bytes(name, strlen(name), sizeof w->call->name - 1);
    memcpy(w->call->name, name, n);
    w->call->name[n] = 0;
}

static int answer(struct work *w, struct gp_err *err)
{
    struct gp_query_call *a = w->call;
    const char *format = a->format ? a->format : gp_request_arg(a->request, "format");
    a->form = gp_query_form(a->query, format, a->request->accept);
    if (!a->form) {
        gp_fail(err, GP_E_USAGE, -1, "\"%s\" is not available in that format; /api lists the formats",
                a->query->name);
        return format ? 400 : 406;
    }
    if (!gp_crew_has(w->lib->crew, a->query->tool)) {
        gp_fail(err, GP_E_USAGE, -1, "%s is not installed beside trace-serve", a->query->tool);
        return 501;
    }
    int status = find_files(w, err);
    if (!status) status = find_options(w, err);
    if (status) return status;
    note_name(w);
    bool again = true;
    for (int i = 0; i < TRIES && again; i++) status = answer_once(w, &again, err);
    if (!again) return status;
    gp_fail(err, GP_E_IO, -1, "%s is still being written: try again when it is complete", w->found[0]->name);
    return 503;
}

int gp_query_run(struct gp_library *lib, struct gp_query_call *call, struct gp_err *err)
{
    struct work *w = gp_alloc(sizeof *w);
    bool again = true;
    int status = 0;
    call->blob = NULL;
    while (again) {
        *w = (struct work){.lib = lib, .call = call};
        *call->name = 0;
        status = answer(w, err);
        again = w->no_descriptors && gp_cache_evict(lib->cache); /* each cached answer holds one or two */
        release(w);
    }
    free(w);
    return status;
}
