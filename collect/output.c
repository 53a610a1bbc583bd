#include "collect/output.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/mem.h"
#include "formats/gpt/gpt.h"

int gp_output_is_pattern(const char *name, struct gp_err *err)
{
    int any = 0;
    for (const char *p = name; (p = strchr(p, '%')); p += 2) {
        if (!p[1] || !strchr("rph%", p[1]))
            return gp_fail(err, GP_E_USAGE, -1,
                           "%s: unknown '%%%.1s'; only %%r, %%p, %%h and %%%% are replaced", name, p + 1);
        any |= p[1] != '%';
    }
    return any;
}

void gp_output_expand(struct gp_buf *to, const char *pattern, const struct gp_hub_process *process)
{
    char host[256] = "";
    for (const char *p = pattern; *p; p++) {
        if (*p != '%') {
            gp_buf_putc(to, *p);
            continue;
        }
        switch (*++p) {
        case 'r':
            if (process->rank >= 0) gp_buf_printf(to, "%d", (int)process->rank);
            else gp_buf_puts(to, "none");
            break;
        case 'p':
            gp_buf_printf(to, "%d", (int)process->pid);
            break;
        case 'h':
            if (gethostname(host, sizeof host - 1)) strcpy(host, "host");
            gp_buf_puts(to, host);
            break;
        default:
            gp_buf_putc(to, '%');
            break;
        }
    }
}

static int write_block(void *ctx, const void *data, size_t n)
{
    struct gp_output *o = ctx;
    gp_sink_put(o->sink, data, n);
    return 0;
}

struct gp_output *gp_outputs_open(struct gp_outputs *outs, const char *path, int fd, struct gp_err *err)
{
    struct gp_sink *sink = gp_sink_open(path, fd, outs->wake_fd, err);
    if (!sink) return NULL;
    struct gp_output *o = gp_zalloc(sizeof *o);
    o->sink = sink;
    if (path) {
        o->path = gp_alloc(strlen(path) + 1);
        strcpy(o->path, path);
    }
    gp_trace_init(&o->trace, GP_NEED_ALL);
    o->writer = gp_gpt_writer_new(NULL, write_block, o);
    GP_VEC_PUSH(&outs->list, o);
    return o;
}

static bool is_taken(const struct gp_outputs *outs, const char *path)
{
    for (size_t i = 0; i < outs->list.n; i++)
        if (outs->list.at[i]->path && !strcmp(outs->list.at[i]->path, path)) return true;
    return false;
}

struct gp_output *gp_outputs_add(struct gp_outputs *outs, const char *pattern,
                                 const struct gp_hub_process *process, struct gp_err *err)
{
    struct gp_buf path = {0};
    gp_output_expand(&path, pattern, process);
    size_t n = path.n;
    for (unsigned serial = 2; is_taken(outs, gp_buf_str(&path)); serial++) {
        path.n = n;
        gp_buf_printf(&path, ".%u", serial);
    }
    struct gp_output *o = gp_outputs_open(outs, gp_buf_str(&path), -1, err);
    if (o) o->process = *process;
    gp_buf_release(&path);
    return o;
}

void gp_outputs_put(struct gp_outputs *outs, const void *block, size_t n)
{
    struct gp_gpt_block_header h;
    if (n < GP_GPT_BLOCK_HEADER_SIZE || !gp_gpt_get_header(block, &h)) return;
    for (size_t i = 0; i < outs->list.n; i++) {
        uint32_t producer = outs->list.at[i]->process.producer;
        if (producer && producer != h.producer) continue;
        gp_sink_put(outs->list.at[i]->sink, block, n);
        return;
    }
}

bool gp_outputs_full(const struct gp_outputs *outs)
{
    bool full = false;
    for (size_t i = 0; i < outs->list.n && !full; i++) full = gp_sink_full(outs->list.at[i]->sink);
    return full;
}

int gp_outputs_failed(const struct gp_outputs *outs)
{
    int failed = 0;
    for (size_t i = 0; i < outs->list.n && !failed; i++) failed = gp_sink_failed(outs->list.at[i]->sink);
    return failed;
}

bool gp_outputs_replace(const struct gp_outputs *outs)
{
    for (size_t i = 0; i < outs->list.n; i++)
        if (gp_sink_replaces(outs->list.at[i]->sink)) return true;
    return false;
}

int gp_outputs_close(struct gp_outputs *outs, bool commit, struct gp_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < outs->list.n; i++) {
        struct gp_output *o = outs->list.at[i];
        struct gp_err own = {0};
        if (gp_sink_close(o->sink, commit, &own) && !rc) {
            rc = -1;
            *err = own; /* the first error is reported */
        }
        gp_gpt_writer_free(o->writer);
        gp_trace_release(&o->trace);
        free(o->path);
        free(o);
    }
    GP_VEC_FREE(&outs->list);
    return rc;
}
