/* What a trace holds, as lines "what count", for tests to compare with what they know must be there. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "formats/base/err.h"
#include "formats/base/hash.h"
#include "formats/base/map.h"
#include "formats/base/mem.h"
#include "formats/reader.h"
#include "tests/unit/trace_check.h"

/* How often each name of a table occurs. */
static void print_names(const struct gp_trace *t, enum gp_table table)
{
    const struct gp_events *e = &t->events[table];
    struct gp_map counts = {0};
    for (size_t i = 0; i < e->n; i++) ++*gp_map_put(&counts, e->name[i], 0);
    for (gp_sid sid = 0; sid < t->strings.n; sid++) {
        const uint32_t *n = gp_map_get(&counts, sid);
        if (n) printf("%s:%s %u\n", gp_table_name(table), gp_string(&t->strings, sid), (unsigned)*n);
    }
    gp_map_release(&counts);
}

/* Every range must lie inside what its thread does, and GPU work must join its call. */
static void print_joins(const struct gp_trace *t)
{
    const struct gp_events *gpu = &t->events[GP_GPU], *api = &t->events[GP_API];
    struct gp_map calls = {0};
    uint64_t joined = 0, bytes = 0, graph = 0;
    for (size_t i = 0; i < api->n; i++) {
        uint64_t process = t->tracks.at[api->track[i]].process;
        gp_map_put(&calls, process << 40 | gp_get_corr(api, i), 0);
    }
    for (size_t i = 0; i < gpu->n; i++) {
        uint64_t process = t->tracks.at[gpu->track[i]].process;
        joined += gp_map_get(&calls, process << 40 | gp_get_corr(gpu, i)) != NULL;
        bytes += (uint64_t)gp_get_bytes(gpu, i);
        graph += gp_get_node(gpu, i) != GP_NO_ID;
    }
    printf("joined %" PRIu64 "\nbytes %" PRIu64 "\ngraph_nodes %" PRIu64 "\n", joined, bytes, graph);
    gp_map_release(&calls);
}

/* GPU events of the processes of each rank. */
static void print_ranks(const struct gp_trace *t)
{
    const struct gp_events *gpu = &t->events[GP_GPU];
    struct gp_map counts = {0};
    for (size_t i = 0; i < t->processes.n; i++)
        if (t->processes.at[i].rank >= 0) gp_map_put(&counts, (uint64_t)t->processes.at[i].rank, 0);
    for (size_t i = 0; i < gpu->n; i++) {
        int64_t rank = t->processes.at[t->tracks.at[gpu->track[i]].process].rank;
        if (rank >= 0) ++*gp_map_put(&counts, (uint64_t)rank, 0);
    }
    for (size_t i = 0; i < t->processes.n; i++) {
        if (t->processes.at[i].rank < 0) continue;
        uint32_t *n = gp_map_put(&counts, (uint64_t)t->processes.at[i].rank, 0);
        if (*n) printf("gpu_of_rank:%d %u\n", (int)t->processes.at[i].rank, (unsigned)*n);
        *n = 0; /* several processes can have one */
    }
    gp_map_release(&counts);
}

/* Bytes allocated and freed, by thread and by the further args of the row. */
static void print_memory(const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_MEMORY];
    for (size_t i = 0; i < e->n; i++)
        printf("memory:%s:%" PRIx64 ":%" PRId64 ":thread%u %" PRId64 "\n",
               gp_trace_str(t, gp_get_extra(e, i)), gp_get_addr(e, i), gp_get_reserved(e, i),
               (unsigned)e->track[i], gp_get_bytes(e, i));
}

/* CUDA events: their records, and the waits with the record that they wait for. */
static void print_events(const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_SYNC];
    for (size_t i = 0; i < e->n; i++) {
        if (gp_get_event(e, i) == GP_NO_ID) continue;
        printf("event:%" PRIu64 ":%s:stream%" PRId64, gp_get_event(e, i), gp_trace_str(t, e->name[i]),
               t->tracks.at[e->track[i]].stream);
        for (size_t k = 0; k < e->n && gp_get_source(e, i) != GP_NO_ID; k++)
            if (gp_get_corr(e, k) == gp_get_source(e, i))
                printf(":of_%s_on_stream%" PRId64, gp_trace_str(t, gp_get_cat(e, k)),
                       t->tracks.at[e->track[k]].stream);
        printf(":%s 1\n", gp_trace_str(t, gp_get_extra(e, i)));
    }
    for (size_t i = 0; i < e->n; i++) {
        if (strcmp(gp_trace_str(t, gp_get_cat(e, i)), "cuda_event") != 0) continue;
        for (size_t k = 0; k < t->events[GP_API].n; k++)
            if (gp_get_corr(&t->events[GP_API], k) == gp_get_corr(e, i))
                printf("event_after_call %" PRId64 "\n", e->start_ns[i] - t->events[GP_API].start_ns[k]);
    }
}

/* Marks and spans with further args. */
static void print_extras(const struct gp_trace *t, enum gp_table table)
{
    const struct gp_events *e = &t->events[table];
    for (size_t i = 0; i < e->n; i++)
        if (gp_get_cat(e, i) && gp_get_extra(e, i))
            printf("%s:%s:%s 1\n", gp_trace_str(t, gp_get_cat(e, i)), gp_trace_str(t, e->name[i]),
                   gp_trace_str(t, gp_get_extra(e, i)));
}

/* Samples of program counters: sums over the windows of each instruction and reason, and how many rows join a
 * launch of their kernel. */
static void print_counters(const struct gp_trace *t)
{
    const struct gp_events *e = &t->events[GP_PC], *gpu = &t->events[GP_GPU];
    struct gp_map first_of = {0}, launches = {0};
    uint64_t *sums = gp_zalloc((e->n + 1) * sizeof *sums), samples = 0, stalled = 0, joined = 0, code = 0;
    for (size_t i = 0; i < gpu->n; i++) gp_map_put(&launches, gp_get_corr(gpu, i) << 32 | gpu->name[i], 0);
    for (uint32_t i = 0; i < e->n; i++) {
        uint64_t key[] = {e->name[i], gp_get_addr(e, i), gp_get_series(e, i)};
        if (!gp_get_total(e, i)) {
            code += gp_string_len(&t->strings, gp_get_series(e, i)) / 2;
            continue;
        }
        sums[*gp_map_put(&first_of, gp_hash_bytes(key, sizeof key), i)] += (uint64_t)gp_get_total(e, i);
        samples += (uint64_t)gp_get_total(e, i);
        stalled += (uint64_t)gp_get_value(e, i);
        joined += gp_map_get(&launches, gp_get_corr(e, i) << 32 | e->name[i]) != NULL;
    }
    for (size_t i = 0; i < e->n; i++) {
        uint32_t stack = gp_get_stack(e, i);
        const struct gp_stack *s = stack ? &t->stacks.at[stack] : NULL;
        if (sums[i])
            printf("pc:%s+%" PRIu64 ":%s:%s:%u %" PRIu64 "\n", gp_trace_str(t, e->name[i]), gp_get_addr(e, i),
                   gp_trace_str(t, gp_get_series(e, i)), s ? gp_trace_str(t, s->file) : "",
                   s ? (unsigned)s->line : 0, sums[i]);
    }
    if (e->n)
        printf("pc_samples %" PRIu64 "\npc_stalled %" PRIu64 "\npc_of_launch %" PRIu64 "\n", samples, stalled,
               joined);
    if (code) printf("pc_code %" PRIu64 "\n", code);
    for (size_t i = 0; i < t->meta.n; i++)
        if (!strncmp(gp_trace_str(t, t->meta.at[i].key), "pc.", 3))
            printf("%s %s\n", gp_trace_str(t, t->meta.at[i].key), gp_trace_str(t, t->meta.at[i].value));
    gp_map_release(&first_of);
    gp_map_release(&launches);
    free(sums);
}

static void print_small(const struct gp_trace *t)
{
    uint64_t lost = 0, streams = 0, threads = 0;
    for (size_t i = 0; i < t->losses.n; i++) {
        const struct gp_loss *l = &t->losses.at[i];
        printf("lost:%s:%s %" PRIu64 "\n", gp_trace_str(t, l->what), gp_trace_str(t, l->reason), l->count);
        lost += l->count;
    }
    for (size_t i = 0; i < t->tracks.n; i++) {
        streams += t->tracks.at[i].kind == GP_TRACK_STREAM;
        threads += t->tracks.at[i].kind == GP_TRACK_THREAD;
    }
    for (size_t i = 0; i < t->processes.n; i++)
        if (t->processes.at[i].rank >= 0) printf("rank %d\n", (int)t->processes.at[i].rank);
    for (size_t i = 0; i < t->devices.n; i++)
        printf("device:%s:%d_sms:%" PRId64 "_bytes_per_s 1\n", gp_trace_str(t, t->devices.at[i].name),
               (int)t->devices.at[i].sms, t->devices.at[i].memory_bandwidth_bps);
    printf("lost %" PRIu64 "\nstreams %" PRIu64 "\nthreads %" PRIu64 "\nprocesses %zu\n", lost, streams,
           threads, t->processes.n);
}

int main(int argc, char **argv)
{
    struct gp_trace t;
    struct gp_err err = {0};
    struct gp_read_opts opts = {.need = GP_NEED_ALL};
    if (gp_trace_read(&t, argc > 1 ? argv[1] : "-", &opts, &err)) {
        fprintf(stderr, "facts: %s\n", err.msg);
        return 2;
    }
    for (int i = 0; i < GP_TABLE_COUNT; i++) {
        printf("%s %zu\n", gp_table_name((enum gp_table)i), t.events[i].n);
        if (i == GP_API || i == GP_RANGE || i == GP_MARK || i == GP_SYNC || i == GP_OVERHEAD || i == GP_GPU ||
            i == GP_OTHER)
            print_names(&t, (enum gp_table)i);
    }
    print_joins(&t);
    print_ranks(&t);
    print_memory(&t);
    print_extras(&t, GP_MARK);
    print_extras(&t, GP_OTHER);
    print_events(&t);
    print_counters(&t);
    print_small(&t);
    printf("verdict:%s 1\n", gp_trace_verdict(&t));
    for (int i = 0; i < GP_ISSUE_COUNT; i++)
        if (t.issues[i].count)
            printf("issue:%s %" PRIu64 "\n", gp_issue_name((enum gp_issue_kind)i), t.issues[i].count);
    if (gp_trace_check(&t, &err)) printf("broken:%s 1\n", err.msg);
    gp_trace_release(&t);
    return 0;
}
