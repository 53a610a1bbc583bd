/* bench_gpt.c -- what the binary trace costs, in bytes and in time.
 *
 *     bench_gpt FILE [ROUNDS]   a line "decode 1.234 ms" for each time the trace was decoded from memory
 *     bench_gpt -s FILE...      bytes per kernel with its launch and per event, ns per event to write and to
 *                               read
 *     bench_gpt -v FILE...      the same, and what each column costs
 *
 * FILE may be any trace; it is read once and written to memory in the binary form. With -t N, N threads
 * decode.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_codec.h"
#include "formats/gpt/gpt_columns.h"
#include "formats/gpt/gpt_write.h"
#include "formats/reader.h"

enum { ROUNDS = 15, KINDS = 64, IDS = 128 };

struct totals {
    double bytes, launch_bytes;
    double events, gpu_events;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int to_buf(void *ctx, const void *data, size_t n)
{
    gp_buf_put(ctx, data, n);
    return 0;
}

static void encode(struct gp_trace *t, struct gp_buf *to, struct gp_gpt_stats *stats)
{
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_buf, to);
    to->n = 0;
    if (gp_gpt_begin(w) || gp_gpt_end(w, t)) exit(2);
    *stats = *gp_gpt_writer_stats(w);
    gp_gpt_writer_free(w);
}

static double decode(const struct gp_buf *file, int threads)
{
    struct gp_trace t;
    struct gp_err err = {0};
    struct gp_read_opts opts = {.need = GP_NEED_ALL, .threads = threads};
    double began = now_ms();
    if (gp_trace_read_memory(&t, file->data, file->n, &opts, &err)) {
        fprintf(stderr, "bench_gpt: %s\n", err.msg);
        exit(2);
    }
    double ms = now_ms() - began;
    gp_trace_release(&t);
    return ms;
}

static size_t count_events(const struct gp_trace *t)
{
    size_t n = 0;
    for (int i = 0; i < GP_TABLE_COUNT; i++) n += t->events[i].n;
    return n;
}

/* What the columns of each kind of block cost, heads included. */
static void print_columns(const struct gp_buf *file)
{
    static const char *const encodings[] = {"zero", "const", "leb", "sparse", "bucket"};
    double bytes[KINDS][IDS] = {{0}}, rows[KINDS] = {0}, blocks[KINDS] = {0};
    int pred[KINDS][IDS] = {{0}};
    const uint8_t *p = (const uint8_t *)file->data + GP_GPT_HEADER_SIZE,
                  *end = (const uint8_t *)file->data + file->n;
    struct gp_gpt_block_header h;
    for (; p < end && gp_gpt_get_header(p, &h); p += GP_GPT_BLOCK_HEADER_SIZE + h.payload_len) {
        struct gp_cursor c = {p + GP_GPT_BLOCK_HEADER_SIZE, p + GP_GPT_BLOCK_HEADER_SIZE + h.payload_len,
                              false};
        unsigned kind = h.kind % KINDS;
        rows[kind] += h.nrec;
        blocks[kind]++;
        while (c.p < c.end) {
            const uint8_t *from = c.p;
            unsigned id = gp_cursor_u8(&c) % IDS;
            int how = gp_cursor_u8(&c);
            const uint8_t *body = gp_cursor_bytes(&c, gp_cursor_varint(&c));
            if (!body) break;
            pred[kind][id] = how << 8 | body[0];
            bytes[kind][id] += (double)(c.p - from);
        }
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        if (!blocks[kind]) continue;
        printf("  kind %2u: %.0f blocks, %.0f rows\n", kind, blocks[kind], rows[kind]);
        for (unsigned id = 0; id < IDS; id++) {
            if (bytes[kind][id] <= 0) continue;
            const char *name = kind < GP_GPT_LAUNCH ? ""
                               : id % GP_GPT_SIDE && id % 64 < GP_GPT_COLUMN_END
                                   ? gp_column_infos[gp_gpt_model_column[id % GP_GPT_SIDE]].name
                                   : "";
            int how = pred[kind][id];
            printf("    %3u %-10s %8.0f B %7.3f B/row  predictor %2d%s %s\n", id, name, bytes[kind][id],
                   bytes[kind][id] / rows[kind], how >> 8 & 63, how >> 14 ? "q" : " ",
                   (how >> 8) == GP_PRED_DICT || how >> 14 || (how & 255) > 4 ? "" : encodings[how & 255]);
        }
    }
}

static void print_sizes(const char *path, struct gp_trace *t, int threads, bool verbose, struct totals *sum)
{
    double encode_ms[ROUNDS], decode_ms[ROUNDS];
    struct gp_buf file = {0};
    struct gp_gpt_stats stats;
    double events = (double)count_events(t);
    for (int i = 0; i < ROUNDS; i++) {
        double began = now_ms();
        encode(t, &file, &stats);
        encode_ms[i] = now_ms() - began;
        decode_ms[i] = decode(&file, threads);
    }
    qsort(encode_ms, ROUNDS, sizeof encode_ms[0], compare_doubles);
    qsort(decode_ms, ROUNDS, sizeof decode_ms[0], compare_doubles);
    double gpu = (double)stats.gpu_events;
    const char *slash = strrchr(path, '/');
    printf("%-34s %7.0f events %6.0f gpu %6.0f launched  %6.2f B/launch %6.2f B/event  write %5.1f ns/event "
           "(median %5.1f)"
           "  read %5.1f (median %5.1f)\n",
           slash ? slash + 1 : path, events, gpu, (double)stats.launched,
           gpu > 0 ? (double)stats.launch_bytes / gpu : 0, (double)file.n / events,
           encode_ms[0] * 1e6 / events, encode_ms[ROUNDS / 2] * 1e6 / events, decode_ms[0] * 1e6 / events,
           decode_ms[ROUNDS / 2] * 1e6 / events);
    if (verbose) print_columns(&file);
    sum->bytes += (double)file.n;
    sum->launch_bytes += (double)stats.launch_bytes;
    sum->events += events;
    sum->gpu_events += gpu;
    gp_buf_release(&file);
}

static void print_decode(struct gp_trace *t, int threads, int rounds)
{
    struct gp_buf file = {0};
    struct gp_gpt_stats stats;
    encode(t, &file, &stats);
    for (int i = 0; i < rounds; i++) printf("decode %.3f ms\n", decode(&file, threads));
    gp_buf_release(&file);
}

int main(int argc, char **argv)
{
    bool sizes = false, verbose = false;
    int threads = 0, c;
    while ((c = getopt(argc, argv, "svt:")) != -1) {
        if (c == 't') threads = atoi(optarg);
        else if (c == 's' || c == 'v') sizes = true, verbose |= c == 'v';
        else return 2;
    }
    struct totals sum = {0};
    for (int i = optind; i < (sizes ? argc : optind + 1); i++) {
        struct gp_trace t;
        struct gp_err err = {0};
        struct gp_read_opts opts = {.need = GP_NEED_ALL};
        if (gp_trace_read(&t, argv[i], &opts, &err)) {
            fprintf(stderr, "bench_gpt: %s\n", err.msg);
            return 2;
        }
        if (sizes) print_sizes(argv[i], &t, threads, verbose, &sum);
        else print_decode(&t, threads, argc > i + 1 ? atoi(argv[i + 1]) : ROUNDS);
        gp_trace_release(&t);
    }
    if (sizes && argc - optind > 1)
        printf("all: %.0f events, %.0f gpu: %.2f B/launch, %.2f B/event\n", sum.events, sum.gpu_events,
               sum.launch_bytes / sum.gpu_events, sum.bytes / sum.events);
    return 0;
}
