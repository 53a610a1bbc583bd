#include "formats/reader.h"

#include <ctype.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/model/metric.h"
#include "formats/model/samples.h"

enum { HEAD = 4096 };

#define X(name) &gp_reader_##name,
const struct gp_reader *const gp_readers[] = {GP_READERS(X) NULL};
#undef X

/* ---- files that are not traces, but are passed to tools by mistake ---- */

struct kind {
    const char *magic;
    size_t at; /* offset of the magic */
    const char *what;
};

static const struct kind kinds[] = {
    {"\x7f"
     "ELF",
     0, "a program, not a trace: record it with gpuprof-collect ./app"},
    {"#!", 0, "a script, not a trace: record it with gpuprof-collect"},
    {"%PDF", 0, "a PDF document, not a trace"},
    {"\x89PNG", 0, "a picture, not a trace"},
    {"<svg", 0, "an SVG picture: pass the trace that it was drawn from"},
    {"<?xml", 0, "an XML document, not a trace"},
    {"\x80\x02", 0,
     "a pickle, not a trace: trace-memory reads snapshots of memory, trace2timeline draws them"},
    {"\x80\x04", 0,
     "a pickle, not a trace: trace-memory reads snapshots of memory, trace2timeline draws them"},
    {"PK\x03\x04", 0, "a zip archive: unpack it, and pass the files in it"},
    {"ustar", 257, "a tar archive: unpack it, and pass the files in it"},
    {"BZh", 0, "compressed with bzip2: decompress it; gzip and zstd are read as they are"},
    {"\xfd"
     "7zXZ",
     0, "compressed with xz: decompress it; gzip and zstd are read as they are"},
};

/* A first line of printable words with commas between them, and a second one like it. */
static bool is_csv(const char *s, size_t n)
{
    size_t commas[2] = {0, 0}, line = 0;
    for (size_t i = 0; i < n && line < 2; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '\n') line++;
        else if (c == '{' || c == '[' || (c < 0x20 && c != '\t' && c != '\r')) return false;
        else if (c == ',') commas[line]++;
    }
    return line > 0 && commas[0] >= 2 && (line < 2 || commas[1] >= 2);
}

/* The kind of file that begins with the N bytes at HEAD, and the way out; NULL: unknown. */
static const char *foreign_kind(const void *head, size_t n)
{
    const char *s = head;
    GP_EACH_OF(const struct kind, k, kinds, GP_COUNT(kinds)) {
        size_t m = strlen(k->magic);
        if (n >= k->at + m && !memcmp(s + k->at, k->magic, m)) return k->what;
    }
    while (n && isspace((unsigned char)*s)) s++, n--;
    if (gp_begin_folded(s, n, "<!doctype html") || gp_begin_folded(s, n, "<html"))
        return "an HTML page: pass the trace that it was made from";
    /* "V1123 04:05:06.789": as glog writes */
    if (n > 6 && strchr("VIWE", s[0]) && isdigit((unsigned char)s[1]) && isdigit((unsigned char)s[4]) &&
        s[5] == ' ')
        return "a log, not a trace: trace-compile reads those of torch.compile";
    return is_csv(s, n) ? "a table (CSV), not a trace: pass the trace itself, as JSON or in our binary format"
                        : NULL;
}

/* ---- which reader ---- */

static const struct gp_reader *find_reader(struct gp_input *in, struct gp_err *err)
{
    size_t n;
    const uint8_t *head = gp_input_peek(in, HEAD, &n);
    for (int i = 0; gp_readers[i]; i++)
        if (gp_readers[i]->sniff(head, n)) return gp_readers[i];
    if (!n && gp_input_status(in, err)) return NULL;
    if (!n) gp_fail(err, GP_E_FORMAT, 0, "empty input");
    else if (foreign_kind(head, n)) gp_fail(err, GP_E_FORMAT, 0, "%s", foreign_kind(head, n));
    else {
        /* "neither A nor B nor C" */
        struct gp_buf b = {0};
        for (int i = 0; gp_readers[i]; i++)
            gp_buf_printf(&b, "%s%s", i ? " nor " : "not a trace: neither ", gp_readers[i]->what);
        gp_fail(err, GP_E_FORMAT, 0, "%s", gp_buf_str(&b));
        gp_buf_release(&b);
    }
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
    gp_samples_drop_made(t);
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
