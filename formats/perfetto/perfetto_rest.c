/* What Perfetto has no words for travels as a binary trace without slices, in a packet that viewers skip. */
#include "formats/base/str.h"
#include "formats/gpt/gpt_write.h"
#include "formats/model/category.h"
#include "formats/perfetto/perfetto_priv.h"

enum gp_table gp_pf_table_of(const char *category, size_t n, bool instant)
{
    if (!instant) return gp_category(category, n).table;
    if (gp_category_is_usual(category, n, GP_MEMORY, GP_KERNEL)) return GP_MEMORY;
    return gp_is(category, n, "cuda_event") ? GP_SYNC : GP_MARK;
}

static int to_buf(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

/* The tables that are not written as slices or instants. */
static bool stays(int table)
{
    return table == GP_COUNTER || table == GP_FLOW || table == GP_METRIC || table == GP_SAMPLE ||
           table == GP_PC;
}

void gp_pf_put_rest(struct gp_pf *w)
{
    struct gp_trace rest = *w->t; /* borrows everything */
    struct gp_buf trace = {0}, message = {0};
    for (int i = 0; i < GP_TABLE_COUNT; i++)
        if (!stays(i)) rest.events[i] = (struct gp_events){0};
    struct gp_gpt_writer *writer = gp_gpt_writer_new(NULL, to_buf, &trace);
    bool whole = !gp_gpt_begin(writer) && !gp_gpt_end(writer, &rest);
    gp_gpt_writer_free(writer);
    gp_put_number(&message, GP_PF_REST_SHIFT, (uint64_t)w->shift_ns);
    gp_put_bytes(&message, GP_PF_REST_TRACE, trace.data, trace.n);
    if (whole) gp_pf_packet(w, GP_PF_REST, &message);
    gp_buf_release(&trace);
    gp_buf_release(&message);
}
