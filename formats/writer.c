#include "formats/writer.h"

#include <string.h>
#include <unistd.h>
#include "formats/chrome/chrome.h"
#include "formats/gpt/gpt_write.h"
#include "formats/perfetto/perfetto_write.h"
#include "formats/base/str.h"

static int to_output(void *ctx, const void *data, size_t n)
{
    gp_output_write(ctx, data, n);
    return gp_output_failed(ctx) ? -1 : 0;
}

static void write_gpt(struct gp_trace *t, const struct gp_write_opts *wanted, struct gp_output *out)
{
    struct gp_gpt_write_opts opts = {.codec = GP_GPT_PLAIN, .threads = wanted->threads};
    if (!opts.threads) opts.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (!strcmp(wanted->compression, "zstd")) opts.codec = GP_GPT_ZSTD;
    if (!strcmp(wanted->compression, "zlib")) opts.codec = GP_GPT_ZLIB;
    struct gp_gpt_writer *w = gp_gpt_writer_new(&opts, to_output, out);
    if (!gp_gpt_begin(w)) gp_gpt_end(w, t); /* OUT remembers a failure */
    gp_gpt_writer_free(w);
}

static void write_chrome(struct gp_trace *t, const struct gp_write_opts *wanted, struct gp_output *out)
{
    enum gp_packing packing = GP_PACK_NONE;
    if (!strcmp(wanted->compression, "gzip")) packing = GP_PACK_GZIP;
    if (!strcmp(wanted->compression, "zstd")) packing = GP_PACK_ZSTD;
    struct gp_pack *pack = gp_pack_new(packing, to_output, out);
    if (!gp_chrome_write(t, wanted->plain_name, gp_pack_write, pack)) gp_pack_end(pack);
    gp_pack_free(pack);
}

/* The format has compressed pieces of its own. */
static void write_perfetto(struct gp_trace *t, const struct gp_write_opts *wanted, struct gp_output *out)
{
    int threads = wanted->threads ? wanted->threads : (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (gp_perfetto_write(t, wanted->plain_name, threads, to_output, out))
        return; /* OUT remembers a failure */
}

static const struct gp_writer gpuprof = {"gpuprof", "none|zstd|zlib", true, write_gpt};
static const struct gp_writer chrome = {"chrome", "none|gzip|zstd", false, write_chrome};
static const struct gp_writer perfetto = {"perfetto", "none", true, write_perfetto};

const struct gp_writer *const gp_writers[] = {&gpuprof, &chrome, &perfetto, NULL};

const struct gp_writer *gp_writer_find(const char *name)
{
    for (const struct gp_writer *const *w = gp_writers; *w; w++)
        if (!strcmp((*w)->name, name)) return *w;
    return NULL;
}

bool gp_writer_accepts(const struct gp_writer *w, const char *compression)
{
    return gp_is_choice(w->compression, compression);
}
