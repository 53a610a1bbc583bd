#include "formats/reader.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "formats/foreign.h"
#include "formats/model/metric.h"
#include "formats/model/samples.h"

enum { HEAD = 4096 };

#define X(name) &gp_reader_##name,
const struct gp_reader *const gp_readers[] = {GP_READERS(X) NULL};
#undef X

/* "neither A nor B nor C" */
static void refuse_format(struct gp_err *err)
{
    struct gp_buf b = {0};
    for (int i = 0; gp_readers[i]; i++)
        gp_buf_printf(&b, "%s%s", i ? " nor " : "not a trace: neither ", gp_readers[i]->what);
    gp_fail(err, GP_E_FORMAT, 0, "%s", gp_buf_str(&b));
    gp_buf_release(&b);
}

static const struct gp_reader *find_reader(struct gp_input *in, struct gp_err *err)
{
    size_t n;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    for (int i = 0; gp_readers[i]; i++)
        if (gp_readers[i]->sniff(head, n)) return gp_readers[i];
    if (!n && gp_input_status(in, err)) return NULL;
    if (!n) gp_fail(err, GP_E_FORMAT, 0, "empty input");
    else if (gp_foreign_what(head, n)) gp_fail(err, GP_E_FORMAT, 0, "%s", gp_foreign_what(head, n));
    else refuse_format(err);
    return NULL;
}

int gp_trace_refuse_damage(const struct gp_trace *t, struct gp_err *err)
{
    for (int i = 0; i < GP_ISSUE_COUNT; i++) {
        const struct gp_issue *q = &t->issues[i];
        if (!q->count || i == GP_Q_COUNTERS) continue; /* that is how it was meant */
        return q->first_offset < 0
                   ? gp_fail(err, GP_E_SYNTAX, -1, "%s", gp_issue_text((enum gp_issue_kind)i))
                   : gp_fail(err, GP_E_SYNTAX, q->first_offset, "byte %lld: %s", (long long)q->first_offset,
                             gp_issue_text((enum gp_issue_kind)i));
    }
    return 0;
}

static int fill(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts, struct gp_err *err)
{
    const struct gp_reader *reader = find_reader(in, err);
    if (!reader) return -1;
    t->input.format = reader->name;
    t->input.compression = gp_input_compression(in);
    const char *path = gp_input_path(in);
    /* not among the interned strings: a writer writes those, and the same content must give the same bytes */
    t->input.path = gp_arena_strndup(&t->strings.bytes, path, strlen(path));
    if (t->need & GP_NEED(GP_PYTHON)) t->need |= GP_NEED(GP_SAMPLE);
    if (reader->read(t, in, opts, err)) return -1;
    if (!(t->need & GP_NEED_RAW_SAMPLES)) gp_samples_expand(t);
    struct gp_err damage = {0};
    if (gp_input_status(in, &damage)) gp_trace_issue(t, GP_Q_COMPRESSION, 1, damage.offset);
    gp_trace_finish(t);
    gp_trace_issue(t, GP_Q_COUNTERS, gp_trace_distorted(t), -1);
    return opts->strict ? gp_trace_refuse_damage(t, err) : 0;
}

int gp_trace_read_input(struct gp_trace *t, struct gp_input *in, const struct gp_read_opts *opts,
                        struct gp_err *err)
{
    gp_trace_init(t, opts->need ? opts->need : GP_NEED_ALL);
    int failed = fill(t, in, opts, err);
    if (failed) gp_trace_release(t);
    return failed;
}

int gp_trace_read(struct gp_trace *t, const char *path, const struct gp_read_opts *opts, struct gp_err *err)
{
    struct gp_input *in = gp_input_open(path, opts->threads, err);
    if (!in) return -1;
    enum { MUCH = 1 << 24 };
    int failed = gp_trace_read_input(t, in, opts, err);
    gp_input_close(in);
    if (!failed && t->input.bytes > MUCH) gp_mem_trim(); /* of readers and their threads */
    return failed ? gp_err_context(err, "%s", path ? path : "-") : 0;
}

int gp_trace_read_memory(struct gp_trace *t, const void *data, size_t n, const struct gp_read_opts *opts,
                         struct gp_err *err)
{
    struct gp_input *in = gp_input_memory(data, n, opts->threads);
    int failed = gp_trace_read_input(t, in, opts, err);
    gp_input_close(in);
    return failed;
}
