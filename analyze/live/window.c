#include "analyze/live/window.h"

#include <string.h>
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_columns.h"
#include "formats/reader.h"

static struct gp_window_producer *producer_of(struct gp_window *w, uint32_t id)
{
    for (size_t i = 0; i < w->producers.n; i++)
        if (w->producers.at[i].id == id) return &w->producers.at[i];
    GP_VEC_PUSH(&w->producers, ((struct gp_window_producer){.id = id}));
    return &w->producers.at[w->producers.n - 1];
}

static void take_block(struct gp_window *w, const char *block, size_t n, const struct gp_gpt_block_header *h)
{
    enum { PRODUCERS_MOST = 4096 };
    if (w->producers.n == PRODUCERS_MOST) return;
    struct gp_window_producer *p = producer_of(w, h->producer);
    if (h->seq > p->next) w->lost += h->seq - p->next;
    p->next = h->seq + 1;
    if (h->kind == GP_GPT_END) return; /* its totals are of everything */
    struct gp_buf *to = GP_GPT_HAS_EVENTS(h->kind) ? &w->events : &w->names;
    if (to->n + n > GP_WINDOW_BYTES) {
        w->lost++;
        return;
    }
    gp_buf_put(to, block, n);
}

bool gp_window_put(struct gp_window *w, const void *data, size_t n)
{
    size_t at = 0;
    gp_buf_put(&w->bytes, data, n);
    if (!w->begun) {
        if (w->bytes.n < GP_GPT_HEADER_SIZE) return true;
        if (memcmp(w->bytes.data, GP_GPT_MAGIC, 8) != 0) return false;
        at = GP_GPT_HEADER_SIZE;
        w->begun = true;
    }
    while (w->bytes.n - at >= GP_GPT_BLOCK_HEADER_SIZE) {
        struct gp_gpt_block_header h;
        if (!gp_gpt_get_header((const uint8_t *)w->bytes.data + at, &h)) return false;
        size_t size = GP_GPT_BLOCK_HEADER_SIZE + (size_t)h.payload_len;
        if (w->bytes.n - at < size) break;
        take_block(w, w->bytes.data + at, size, &h);
        at += size;
    }
    memmove(w->bytes.data, w->bytes.data + at, w->bytes.n - at);
    w->bytes.n -= at;
    return true;
}

/* Blocks are numbered anew, so that those of earlier windows do not look lost. */
static void put_blocks(struct gp_window *w, struct gp_buf *to, const struct gp_buf *from)
{
    for (size_t at = 0; at < from->n;) {
        struct gp_gpt_block_header h;
        uint8_t *block = (uint8_t *)from->data + at;
        if (!gp_gpt_get_header(block, &h)) return;
        size_t size = GP_GPT_BLOCK_HEADER_SIZE + (size_t)h.payload_len;
        gp_gpt_patch(block, h.producer, producer_of(w, h.producer)->seq++);
        gp_buf_put(to, (const char *)block, size);
        at += size;
    }
}

int gp_window_trace(struct gp_window *w, uint32_t need, struct gp_trace *t)
{
    struct gp_buf bytes = {0};
    uint8_t header[GP_GPT_HEADER_SIZE];
    struct gp_read_opts opts = {.need = need, .threads = 1};
    gp_gpt_file_header(header);
    gp_buf_put(&bytes, (const char *)header, sizeof header);
    for (size_t i = 0; i < w->producers.n; i++) w->producers.at[i].seq = 0;
    put_blocks(w, &bytes, &w->names);
    put_blocks(w, &bytes, &w->events);
    int failed = gp_trace_read_memory(t, bytes.data, bytes.n, &opts, NULL);
    gp_buf_release(&bytes);
    return failed;
}

void gp_window_cut(struct gp_window *w) { w->events.n = 0; }

void gp_window_release(struct gp_window *w)
{
    GP_RELEASE(gp_buf_release, &w->bytes, &w->names, &w->events);
    GP_VEC_FREE(&w->producers);
    memset(w, 0, sizeof *w);
}
