/* Tables and SQL over hand-made traces. Orders and joins are compared with what follows from the rows
 * themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/query.h"
#include "analyze/query/query_order.h"
#include "analyze/query/query_sql.h"
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "tests/unit/trace_make.h"
#include "tests/unit/unit.h"

struct scene {
    struct gp_trace t;
    struct gp_query q;
    struct gp_sql *sql;
    struct gp_buf answer;
    bool made;
};

static int begin(void **state)
{
    struct scene *s = calloc(1, sizeof *s);
    struct gp_sql_limits limits = {0};
    gp_trace_init(&s->t, GP_NEED_ALL);
    s->sql = gp_sql_open(&limits, NULL);
    assert_non_null(s->sql);
    *state = s;
    return 0;
}

static int end(void **state)
{
    struct scene *s = *state;
    gp_sql_close(s->sql);
    if (s->made) gp_query_release(&s->q);
    gp_trace_release(&s->t);
    gp_buf_release(&s->answer);
    free(s);
    return 0;
}

static void make(struct scene *s)
{
    struct gp_query_opts o = {0};
    gp_trace_finish(&s->t);
    assert_int_equal(gp_query_make(&s->q, &s->t, &o, GP_QUERY_ALL, NULL), 0);
    s->made = true;
    gp_sql_bind(s->sql, &s->q);
}

/* The answer as text: values separated by a comma, rows by a semicolon. */
static const char *ask(struct scene *s, const char *sql)
{
    struct gp_err err = {0};
    int got = gp_sql_prepare(s->sql, sql, NULL, &err);
    s->answer.n = 0;
    while (!got && (got = gp_sql_next(s->sql, &err)) > 0) {
        got = 0;
        for (int i = 0; i < gp_sql_columns(s->sql); i++) {
            struct gp_sql_value v = gp_sql_value(s->sql, i);
            if (i) gp_buf_putc(&s->answer, ',');
            if (v.type == GP_SQL_NULL) gp_buf_puts(&s->answer, "null");
            else if (v.type == GP_SQL_INT) gp_buf_put_i64(&s->answer, v.i);
            else if (v.type == GP_SQL_REAL) gp_buf_printf(&s->answer, "%g", v.d);
            else gp_buf_put(&s->answer, v.text, v.n);
        }
        gp_buf_putc(&s->answer, ';');
    }
    if (got < 0) gp_buf_printf(&s->answer, "error: %s", err.msg);
    return gp_buf_str(&s->answer);
}

/* Many kernels of few names, and copies between them, whose distances need one to three bytes. */
static void make_many(struct scene *s)
{
    static const char *const names[] = {"b", "a", "_Z3fooi", "ab", "B"};
    uint32_t process = mk_process(&s->t, 1, 0), stream = mk_stream(&s->t, process, 0, 7);
    uint32_t dice = 1;
    for (int i = 0; i < 40000; i++) {
        dice = dice * 1664525 + 1013904223;
        int64_t start = i * 10, dur = dice >> 29;
        if (i % 17 == 0) mk_gpu(&s->t, stream, start, start + dur, GP_MEMCPY, "copy", 0);
        else if (i == 5 || i == 39998) mk_kernel(&s->t, stream, start, start + dur, names[2], 0);
        else mk_grid(&s->t, stream, start, start + dur, names[(dice >> 20) % 5], 1 + (dice >> 16) % 3, 0);
    }
    make(s);
}

TEST_WITH(begin, end, rows_in_the_order_of_a_text_are_all_rows_once)
{
    struct scene *s = *state;
    make_many(s);
    const struct gp_query_table *table = gp_query_table("kernels");
    struct gp_query_order o = {0};
    struct gp_query_walk w = {0};
    const struct gp_field *name = table->rec.fields;
    while (strcmp(name->id, "name") != 0) name++;
    gp_query_order_make(&o, &s->q, table, name);
    uint8_t *seen = calloc(s->t.events[GP_GPU].n, 1);
    size_t n = 0, text = 0;
    uint32_t last = 0;
    for (; gp_query_walk_next(&o, &w, &s->t.events[GP_GPU]); n++) {
        assert_int_equal(seen[w.row]++, 0);
        assert_int_equal(gp_gpu_config(&s->t, w.row)->kind, GP_KERNEL);
        assert_true(w.text != text || !n || w.row > last);
        assert_true(w.text >= text);
        const char *is = s->q.names.at[s->q.kernels[gp_get_config(&s->t.events[GP_GPU], w.row)].name];
        assert_string_equal(o.texts.at[w.text].text.text, is);
        text = w.text, last = w.row;
    }
    assert_int_equal(n, 40000 - (40000 + 16) / 17);
    for (size_t i = 1; i < o.texts.n; i++)
        assert_true(strcmp(o.texts.at[i - 1].text.text, o.texts.at[i].text.text) < 0);
    free(seen);
    gp_query_order_release(&o);
}

TEST_WITH(begin, end, groups_by_name_are_those_of_a_sorter)
{
    struct scene *s = *state;
    make_many(s);
    char *fast =
        strdup(ask(s, "SELECT name, count(*), sum(dur_ns), min(id), max(id) FROM kernels GROUP BY 1"));
    assert_string_equal(
        ask(s, "SELECT name || '', count(*), sum(dur_ns), min(id), max(id) FROM kernels GROUP BY 1"), fast);
    assert_null(strstr(ask(s, "EXPLAIN QUERY PLAN SELECT name, count(*) FROM kernels GROUP BY 1"), "B-TREE"));
    assert_non_null(
        strstr(ask(s, "EXPLAIN QUERY PLAN SELECT bytes, count(*) FROM kernels GROUP BY 1"), "B-TREE"));
    free(fast);
}

TEST_WITH(begin, end, bounds_of_start_and_ids_find_the_same_rows_as_a_scan)
{
    static const char *const ways[][2] = {
        {"start_ns >= 500 AND start_ns < 900", "+start_ns >= 500 AND +start_ns < 900"},
        {"start_ns > 500 AND start_ns <= 900", "+start_ns > 500 AND +start_ns <= 900"},
        {"start_ns > 500.5 AND start_ns <= '900'", "+start_ns > 500.5 AND +start_ns <= 900"},
        {"start_ns < -9223372036854775808", "+start_ns < -9223372036854775808"},
        {"start_ns > 9223372036854775807", "+start_ns > 9223372036854775807"},
        {"id = 17", "+id = 17"},
        {"id = 18", "+id = 18"},
        {"id = '19'", "+id = 19"},
        {"id = 20.5", "+id = 20.5"},
        {"id = -1", "+id = -1"},
        {"id IN (3, 5, 99999999)", "+id IN (3, 5, 99999999)"},
        {"id = NULL", "+id = NULL"},
        {"correlation = 0", "+correlation = 0"},
    };
    struct scene *s = *state;
    make_many(s);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char sql[200], *scan;
        snprintf(sql, sizeof sql, "SELECT id FROM kernels WHERE %s ORDER BY start_ns", ways[i][1]);
        scan = strdup(ask(s, sql));
        snprintf(sql, sizeof sql, "SELECT id FROM kernels WHERE %s ORDER BY start_ns", ways[i][0]);
        assert_string_equal(ask(s, sql), scan);
        free(scan);
    }
}

TEST(only_what_a_statement_names_is_needed)
{
    struct gp_sql_limits limits = {0};
    struct gp_sql *sql = gp_sql_open(&limits, NULL);
    assert_int_equal(gp_sql_prepare(sql, "SELECT name, sum(dur_ns) FROM kernels GROUP BY 1", NULL, NULL), 0);
    assert_int_equal(gp_sql_need(sql), GP_NEED(GP_GPU));
    assert_int_equal(gp_sql_wants(sql), GP_QUERY_NAMES);
    assert_int_equal(gp_sql_prepare(sql, "SELECT count(*) FROM kernels", NULL, NULL), 0);
    assert_int_equal(gp_sql_wants(sql), 0);
    assert_int_equal(gp_sql_prepare(sql, "SELECT * FROM per_line", NULL, NULL), 0);
    assert_true(gp_sql_wants(sql) & GP_QUERY_STACKS && gp_sql_need(sql) & GP_NEED(GP_API));
    assert_int_equal(gp_sql_prepare(sql, "SELECT 1", NULL, NULL), 0);
    assert_int_equal(gp_sql_need(sql), 0);
    gp_sql_close(sql);
}

/* Two steps; in each a module with a forward and, on another thread, a backward operator. */
static void make_training(struct scene *s)
{
    struct gp_trace *t = &s->t;
    uint32_t process = mk_process(t, 1, 0), main = mk_thread(t, process, 1), other = mk_thread(t, process, 2),
             stream = mk_stream(t, process, 0, 7);
    for (int i = 0; i < 3; i++) {
        int64_t at = i * 10000;
        char step[32], module[32];
        snprintf(step, sizeof step, "ProfilerStep#%d", i);
        snprintf(module, sizeof module, "nn.Module: Block_%d", i % 2);
        mk_host(t, GP_RANGE, main, at, at + 9000, step);
        mk_host(t, GP_PYTHON, main, at + 10, at + 1000, "/src/train.py(12): step");
        mk_host(t, GP_PYTHON, main, at + 20, at + 900, module);
        size_t op = mk_host(t, GP_OP, main, at + 30, at + 800, "aten::mm");
        gp_set_seq(&t->events[GP_OP], op, (uint64_t)i + 1);
        mk_call(t, main, at + 100, at + 200, "cudaLaunchKernel", (uint64_t)i * 2 + 1);
        mk_kernel(t, stream, at + 1000, at + 1400, "forward", (uint64_t)i * 2 + 1);
        op = mk_host(t, GP_OP, other, at + 2000, at + 3000,
                     "autograd::engine::evaluate_function: MmBackward0");
        gp_set_seq(&t->events[GP_OP], op, (uint64_t)i + 1);
        mk_call(t, other, at + 2100, at + 2200, "cudaLaunchKernel", (uint64_t)i * 2 + 2);
        mk_kernel(t, stream, at + 3000, at + 3700, "backward_kernel", (uint64_t)i * 2 + 2);
    }
    make(s);
}

TEST_WITH(begin, end, a_module_has_its_backward_pass_and_its_line)
{
    struct scene *s = *state;
    make_training(s);
    assert_string_equal(ask(s, "SELECT backward(stack), count(*), sum(dur_ns) FROM kernels "
                               "WHERE under(stack, 'Block_0') GROUP BY 1"),
                        "0,2,800;1,2,1400;");
    assert_string_equal(ask(s, "SELECT module, backward, count, gpu_ns FROM per_module"),
                        "nn.Module: Block_0,0,2,800;nn.Module: Block_0,1,2,1400;"
                        "nn.Module: Block_1,0,1,400;nn.Module: Block_1,1,1,700;");
    assert_string_equal(ask(s, "SELECT DISTINCT line(stack), range(stack) FROM kernels WHERE step = 0"),
                        "train.py:12,ProfilerStep#0;null,backward;");
    assert_string_equal(ask(s, "SELECT count(*) FROM kernels WHERE under(stack, 'no such')"), "0;");
    assert_non_null(strstr(ask(s, "SELECT under(stack, '(') FROM kernels"), "error: under(): not a regular"));
}

TEST_WITH(begin, end, steps_idle_time_and_delays_are_those_of_the_times)
{
    struct scene *s = *state;
    make_training(s);
    /* The first kernel of a step begins at 1000 and ends the step before; 400 and 700 ns are busy. */
    assert_string_equal(
        ask(s, "SELECT number, name, begin_ns, end_ns, busy_ns, idle_ns, launches FROM steps"),
        "0,ProfilerStep#0,1000,11000,1100,8900,2;1,ProfilerStep#1,11000,21000,1100,8900,2;"
        "2,ProfilerStep#2,21000,23700,1100,1600,2;");
    assert_string_equal(ask(s, "SELECT step, sum(dur_ns) FROM idle GROUP BY 1"), "0,8900;1,8900;2,1600;");
    assert_string_equal(ask(s, "SELECT name, step, delay_ns FROM kernels LIMIT 2"),
                        "forward,0,800;backward_kernel,0,800;");
    assert_string_equal(
        ask(s, "SELECT c.name, c.events, c.gpu_ns, k.name FROM kernels k JOIN calls c ON c.id = k.call "
               "WHERE k.step = 2"),
        "cudaLaunchKernel,1,400,forward;cudaLaunchKernel,1,700,backward_kernel;");
}

TEST_WITH(begin, end, statements_only_read)
{
    static const char *const refused[] = {"INSERT INTO tables VALUES (1, 2, 3)",
                                          "DELETE FROM columns",
                                          "DROP TABLE kernels",
                                          "CREATE TABLE x(a)",
                                          "CREATE TEMP VIEW x AS SELECT 1",
                                          "ATTACH 'x' AS y",
                                          "DETACH main",
                                          "VACUUM",
                                          "VACUUM INTO 'x'",
                                          "PRAGMA writable_schema = 1",
                                          "SELECT * FROM pragma_database_list",
                                          "SELECT load_extension('x')",
                                          "BEGIN",
                                          "SAVEPOINT x",
                                          "REINDEX",
                                          "ANALYZE"};
    struct scene *s = *state;
    make_many(s);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ask(s, refused[i]);
        if (!strstr(gp_buf_str(&s->answer), "error: only statements that read are run"))
            fail_msg("%s: %s", refused[i], gp_buf_str(&s->answer));
    }
    assert_string_equal(ask(s, "SELECT 1; SELECT 2"), "error: more than one statement: run them one by one");
    assert_string_equal(ask(s, "SELECT count(*) FROM tables WHERE name = 'kernels'"), "1;");
}

static bool at_once(void *ctx)
{
    (void)ctx;
    return true;
}

TEST(a_statement_ends_with_its_time_and_its_memory)
{
    static const char forever[] =
        "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT max(a) FROM r";
    static const char large[] = "WITH RECURSIVE r(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r LIMIT 1000) "
                                "SELECT a, hex(zeroblob(50000)) || a FROM r ORDER BY 2 DESC";
    struct scene s = {0};
    s.sql = gp_sql_open(&(struct gp_sql_limits){.expired = at_once}, NULL);
    assert_non_null(strstr(ask(&s, forever), "error: the statement took too long"));
    gp_sql_close(s.sql);
    s.sql = gp_sql_open(&(struct gp_sql_limits){.memory_bytes = 8 << 20}, NULL);
    assert_non_null(strstr(ask(&s, large), "error: the statement takes more than 8 MiB of memory"));
    gp_sql_close(s.sql);
    gp_buf_release(&s.answer);
}
