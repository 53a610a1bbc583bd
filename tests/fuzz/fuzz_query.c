/* fuzz_query.c -- hostile SQL and hostile traces. The first byte chooses: odd, the rest is a statement about
 * a small trace; even, it is a trace, and every table is read to its end. What must always hold is checked:
 * no statement changes the tables, and idle time adds up. */
#include <stdio.h>
#include <string.h>
#include "analyze/query/query.h"
#include "analyze/query/query_sql.h"
#include "formats/base/buf.h"
#include "formats/reader.h"
#include "tests/fuzz/help/fuzz.h"
#include "tests/fuzz/help/mutate.h"
#include "tests/unit/trace_make.h"

static bool expired(void *looks) { return ++*(int *)looks > 200; /* steps of SQLite's machine, not time */ }

/* The last number of the answer, -1 if there is none. */
static int64_t ask(struct gp_sql *sql, const char *text)
{
    int64_t last = -1;
    if (gp_sql_prepare(sql, text, NULL, NULL)) return -1;
    while (gp_sql_next(sql, NULL) > 0)
        for (int i = 0; i < gp_sql_columns(sql); i++)
            if (gp_sql_value(sql, i).type == GP_SQL_INT) last = gp_sql_value(sql, i).i;
    return last;
}

static void ask_all(struct gp_sql *sql)
{
    char text[100];
    const struct gp_query_table *t;
    for (size_t i = 0; (t = gp_query_table_at(i)); i++) {
        snprintf(text, sizeof text, "SELECT * FROM %s", t->rec.id);
        ask(sql, text);
    }
    FUZZ_CHECK(
        ask(sql, "SELECT ifnull(sum(idle_ns), 0) = (SELECT ifnull(sum(dur_ns), 0) FROM idle) FROM devices"));
    ask(sql, "SELECT name, count(*) FROM kernels GROUP BY 1");
    ask(sql, "SELECT count(*) FROM events e JOIN calls c ON c.id = e.call WHERE under(e.stack, 'a')");
}

static void with_trace(struct gp_trace *t, struct gp_sql *sql, const char *text)
{
    struct gp_query q;
    struct gp_query_opts o = {0};
    if (!gp_query_make(&q, t, &o, GP_QUERY_ALL, NULL)) {
        gp_sql_bind(sql, &q);
        if (text) ask(sql, text);
        else ask_all(sql);
        FUZZ_CHECK(ask(sql, "SELECT count(*) FROM tables") > 30);
    }
    gp_sql_close(sql);
    gp_query_release(&q);
}

static void make_small(struct gp_trace *t)
{
    gp_trace_init(t, GP_NEED_ALL);
    uint32_t process = mk_process(t, 1, 0), thread = mk_thread(t, process, 1),
             stream = mk_stream(t, process, 0, 7);
    for (int i = 0; i < 8; i++) {
        mk_call(t, thread, i * 100, i * 100 + 10, "cudaLaunchKernel", (uint64_t)i + 1);
        mk_kernel(t, stream, i * 100 + 20, i * 100 + 50, i % 2 ? "a" : "b", (uint64_t)i + 1);
    }
    gp_trace_finish(t);
}

const struct fuzz_heads fuzz_heads = {1, 1};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_trace t;
    struct gp_read_opts read = {.threads = 1, .need = GP_NEED_ALL & ~GP_NEED_RAW_SAMPLES};
    int looks = 0;
    struct gp_sql_limits limits = {.memory_bytes = 64 << 20, .expired = expired, .ctx = &looks};
    if (!size || (!(data[0] & 1) && gp_trace_read_memory(&t, data + 1, size - 1, &read, NULL))) return 0;
    struct gp_buf text = {0};
    if (data[0] & 1) {
        make_small(&t);
        gp_buf_put(&text, data + 1, size - 1);
    } else {
        limits.expired = NULL;
    }
    struct gp_sql *sql = gp_sql_open(&limits, NULL);
    FUZZ_CHECK(sql);
    with_trace(&t, sql, data[0] & 1 ? gp_buf_str(&text) : NULL);
    gp_trace_release(&t);
    gp_buf_release(&text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    return fuzz_mutate(data, size, most, seed, fuzz_heads.size);
}
