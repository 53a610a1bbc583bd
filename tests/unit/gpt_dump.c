/* gpt_dump.c -- prints a trace in the form of schemas/gpt_read.py, as the C reader sees it: gpt_dump FILE. It
 * also writes binary traces, in small blocks: "gpt_dump -w IN OUT" of any trace, "gpt_dump -g SEED ROWS OUT"
 * of a random one with all columns, and of a program with launches. */
#include <inttypes.h>
#include <stdlib.h>
#include "formats/base/err.h"
#include "tests/unit/gpt_util.h"

static void print_text(const struct gp_trace *t, gp_sid sid)
{
    const char *s = gp_trace_str(t, sid);
    for (size_t i = 0, n = gp_string_len(&t->strings, sid); i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c > 32 && c < 127 && c != '\\') putchar(c);
        else printf("\\%02x", c);
    }
}

static void print_track(const struct gp_trace *t, uint32_t track)
{
    const struct gp_track *k = &t->tracks.at[track];
    printf("%" PRId64 ":%u:%" PRId64 ":%" PRId64 ":%" PRId64 ":%" PRId64, t->processes.at[k->process].pid,
           k->kind, k->tid, k->device, k->context, k->stream);
}

static void print_config(const struct gp_trace *t, uint32_t config)
{
    const struct gp_config *c = &t->configs.at[config];
    printf("%u,%u,", c->kind, c->has);
    for (int i = 0; i < 3; i++) printf("%u,", c->grid[i]);
    for (int i = 0; i < 3; i++) printf("%u,", c->block[i]);
    for (int i = 0; i < 3; i++) printf("%u,", c->cluster[i]);
    printf("%u,%u,%u,%u,%u,%u,%u,", c->registers, c->shared_bytes, c->shared_static_bytes, c->local_bytes,
           c->copy_kind, c->src_kind, c->dst_kind);
    print_text(t, c->extra);
}

/* From the innermost frame on. */
static void print_stack(const struct gp_trace *t, uint32_t stack)
{
    if (!stack) putchar('-');
    for (uint32_t s = stack; s; s = t->stacks.at[s].parent) {
        if (s != stack) putchar(';');
        print_text(t, t->stacks.at[s].name);
        putchar(':');
        print_text(t, t->stacks.at[s].file);
        printf(":%u", (unsigned)t->stacks.at[s].line);
        const struct gp_symbol *native =
            t->stacks.at[s].symbol ? &t->symbols.at[t->stacks.at[s].symbol] : NULL;
        if (!native) continue;
        putchar('!');
        print_text(t, native->module);
        printf("+%" PRIu64, native->offset);
    }
}

static void print_number(enum gp_column col, uint64_t v)
{
    if (v == GP_NO_ID && gp_column_infos[col].dflt == GP_NO_ID) printf("none");
    else printf("%" PRIu64, v);
}

static void print_cell(const struct gp_trace *t, enum gp_table table, enum gp_column col, size_t row)
{
    const struct gp_events *e = &t->events[table];
    const char *cells = gp_events_column(e, col);
    uint64_t v = gp_column_infos[col].dflt;
    uint32_t narrow = (uint32_t)v;
    if (gp_column_infos[col].width == 8 && cells) memcpy(&v, cells + 8 * row, 8);
    if (gp_column_infos[col].width == 4 && cells) memcpy(&narrow, cells + 4 * row, 4);
    if (gp_column_infos[col].width == 4) v = narrow;
    putchar(' ');
    switch (col) {
    case GP_COL_TRACK: print_track(t, narrow); break;
    case GP_COL_CONFIG:
        if (table == GP_GPU || table == GP_METRIC) print_config(t, narrow);
        break;
    case GP_COL_STACK: print_stack(t, narrow); break;
    case GP_COL_WAITER:
        if (narrow == UINT32_MAX) printf("none");
        else print_track(t, narrow);
        break;
    case GP_COL_ID:
        if (table == GP_SAMPLE) print_stack(t, gp_sample_stack(e, row));
        else print_number(col, v);
        break;
    case GP_COL_NAME:
    case GP_COL_CAT:
    case GP_COL_ID_TEXT:
    case GP_COL_SERIES:
    case GP_COL_EXTRA:
    case GP_COL_CAPTURED: print_text(t, narrow); break;
    default: print_number(col, v);
    }
}

static int to_file(void *ctx, const void *data, size_t n) { return fwrite(data, 1, n, ctx) == n ? 0 : -1; }

static int write_small_blocks(struct gp_trace *t, const char *path, enum gp_gpt_codec codec)
{
    FILE *f = fopen(path, "wb");
    if (!f) return 2;
    struct gp_gpt_write_opts opts = {.rows_per_block = 500, .codec = codec};
    struct gp_gpt_writer *w = gp_gpt_writer_new(&opts, to_file, f);
    int failed = gp_gpt_begin(w) || gp_gpt_end(w, t);
    gp_gpt_writer_free(w);
    return fclose(f) || failed ? 2 : 0;
}

/* Every other GPU event is of a graph: some nodes are in no run, and some events know for themselves. */
static void add_graph_nodes(struct gp_trace *t)
{
    struct gp_events *gpu = &t->events[GP_GPU];
    const struct gp_node_run runs[] = {{.first = 40, .count = 5, .captured = 3, .stack = 7},
                                       {.first = 5, .count = 20, .captured = 1, .stack = 310},
                                       {.first = 8, .count = 2, .captured = 2},
                                       {.first = 60, .count = 1},
                                       {.first = 61, .count = 9, .stack = 330},
                                       {.first = 45, .count = 5, .original = 6},
                                       {.first = 70, .count = 9, .original = 44},
                                       {.first = 25, .count = 2, .original = 25}};
    for (size_t i = 0; i < gpu->n; i += 2) {
        gp_set_node(gpu, i, i % 80);
        if (i % 7 == 0) gp_set_captured(gpu, i, 5);
        if (i % 5 == 0) gp_set_stack(gpu, i, 11);
    }
    for (size_t i = 0; i < GP_COUNT(runs); i++) GP_VEC_PUSH(&t->node_runs, runs[i]);
}

/* Symbols as they are found out after the run: inlined functions, some of them into themselves, code without
 * a name or a module, and numbers of none. */
static void add_symbols(struct gp_trace *t)
{
    GP_VEC_PUSH(&t->symbols, (struct gp_symbol){0});
    for (uint32_t i = 1; i < 40; i++)
        GP_VEC_PUSH(&t->symbols, ((struct gp_symbol){.module = i % 8 ? 3 + i % 4 : 0,
                                                     .offset = i * 4096,
                                                     .name = i % 3 ? 10 + i % 5 : 0,
                                                     .file = i % 5 ? 2 : 0,
                                                     .line = i % 4,
                                                     .caller = i % 2     ? 0
                                                               : i == 20 ? 20
                                                                         : i * 3 / 2}));
    for (uint32_t i = 0; i < 4; i++)
        GP_VEC_PUSH(&t->paces, ((struct gp_pace){-7000 * (int64_t)i, 5000 + i, i % 2, i % 3}));
}

/* A tree of stacks, and samples of them on the track of the first call. */
static void add_samples(struct gp_trace *t)
{
    struct gp_events *e = &t->events[GP_SAMPLE];
    GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    for (uint32_t i = 1; i < 300; i++)
        GP_VEC_PUSH(&t->stacks,
                    ((struct gp_stack){
                        .parent = i % 9 ? i / 2 : 0, .name = 1 + i % 3, .file = 1 + i % 2, .line = i % 40}));
    for (uint32_t i = 300; i < 360; i++) /* native ones below and above Python's */
        GP_VEC_PUSH(&t->stacks, ((struct gp_stack){.parent = i % 8 ? i - 1 : i - 299, .symbol = i % 50 + 1}));
    for (size_t i = 0; i < t->events[GP_API].n; i++) {
        gp_set_stack(&t->events[GP_API], i, i % 360);
        if (i % 11 == 0) gp_set_waiter(&t->events[GP_API], i, 2);
    }
    for (uint32_t i = 0; i < 2000; i++) {
        size_t row = gp_events_add(e, 5000 * (int64_t)i, i % 5 * 700, t->events[GP_API].track[0], 1 + i % 2);
        gp_set_id(e, row, i * 7 % 360);
        gp_set_total(e, row, i % 5);
    }
}

static int generate(char **argv)
{
    struct gp_trace t;
    uint64_t seed = strtoull(argv[0], NULL, 10);
    if (seed % 2) random_trace(&t, seed, strtoul(argv[1], NULL, 10));
    else launch_trace(&t, atoi(argv[1]));
    if (seed % 2 == 0) add_graph_nodes(&t);
    if (seed % 2 == 0) add_symbols(&t);
    if (seed % 2 == 0 && t.events[GP_API].n) add_samples(&t);
    int status = write_small_blocks(&t, argv[2], GP_GPT_PLAIN);
    gp_trace_release(&t);
    return status;
}

static void print_values(const struct gp_trace *t, size_t row)
{
    uint32_t n = t->metric_sets.at[gp_get_set(&t->events[GP_METRIC], row)].n;
    const double *v = gp_metric_values(t, row);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        printf("%c%016" PRIx64, i ? ',' : ' ', bits);
    }
}

static void print_all(const struct gp_trace *t)
{
    for (int table = 0; table < GP_TABLE_COUNT; table++)
        for (size_t i = 0; i < t->events[table].n; i++) {
            fputs(gp_table_name((enum gp_table)table), stdout);
            for (int col = 0; col < GP_COL_VALUES; col++)
                if (col != GP_COL_PLACE) print_cell(t, (enum gp_table)table, (enum gp_column)col, i);
            if (table == GP_METRIC) print_values(t, i);
            putchar('\n');
        }
    for (size_t i = 0; i < t->paces.n; i++)
        printf("pace %" PRId64 " %" PRId64 " %u %" PRId64 "\n", t->paces.at[i].start_ns,
               t->paces.at[i].dur_ns, (unsigned)t->paces.at[i].how,
               t->processes.at[t->paces.at[i].process].pid);
}

int main(int argc, char **argv)
{
    struct gp_trace t;
    struct gp_read_opts opts = {.threads = 1};
    struct gp_err err = {0};
    bool writes = argc == 4 && !strcmp(argv[1], "-w");
    if (argc == 5 && !strcmp(argv[1], "-g")) return generate(argv + 2);
    if (argc != 2 && !writes) return 2;
    if (gp_trace_read(&t, argv[writes ? 2 : 1], &opts, &err)) {
        fprintf(stderr, "gpt_dump: %s\n", err.msg);
        return 2;
    }
    int status = 0;
    if (writes) status = write_small_blocks(&t, argv[3], GP_GPT_ZLIB);
    else print_all(&t);
    gp_trace_release(&t);
    return status;
}
