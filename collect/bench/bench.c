/* gpuprof-bench -- measures what one GPU can do, and writes a line for each result. gpuprof-measure
 * --calibrate starts it, as a process of its own: a driver that hangs or crashes ends only this. See
 * README.md for the lines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "collect/bench/measure.h"

enum { DEVICES = 64, SIZES = 64, USAGE = 2 };

static int usage(void)
{
    fputs("usage: gpuprof-bench probe|figures|link|soak|check DEVICE quick|full\n"
          "       gpuprof-bench peers DEVICE,DEVICE... quick|full\n"
          "       gpuprof-bench op DEVICE quick|full NAME TYPE ELEMENTS,...\n"
          "gpuprof-measure --calibrate starts this; its lines are for programs.\n",
          stderr);
    return USAGE;
}

/* Numbers between commas; how many, at most MOST, or 0 if TEXT holds something other. */
static int numbers(const char *text, uint64_t *to, int most)
{
    int n = 0;
    char *end;
    while (n < most && *text >= '0' && *text <= '9') {
        to[n++] = strtoull(text, &end, 10);
        if (!*end) return n;
        text = *end == ',' ? end + 1 : "";
    }
    return 0;
}

static struct gp_effort effort(bool full, bool op)
{
    struct gp_effort quick = {.rounds = 5, .batch_ns = 1e7, .rest_ns = 1e8},
                     all = {.rounds = 9, .batch_ns = 1e7, .full = true, .rest_ns = 2.5e8, .soak_ns = 1e10};
    struct gp_effort swept = {.rounds = 21, .batch_ns = full ? 5e6 : 2e6, .full = full};
    if (op) return swept;
    return full ? all : quick;
}

static int measure(const char *what, struct gp_gpu *g, const struct gp_effort *e)
{
    if (!strcmp(what, "check")) return gp_measure_check(g) ? 0 : 1;
    if (!strcmp(what, "soak")) gp_measure_soak(g, e);
    if (!strcmp(what, "link")) gp_measure_link(g, e);
    if (!strcmp(what, "probe")) gp_measure_conditions(g);
    if (!strcmp(what, "figures")) {
        gp_measure_launches(g, e);
        gp_measure_memory(g, e);
        gp_measure_arithmetic(g, e);
        gp_measure_products(g, e);
    }
    return 0;
}

static bool is_one_of(const char *word, const char *words)
{
    size_t n = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || !at[n])) return n > 0;
    return false;
}

int main(int argc, char **argv)
{
    struct gp_driver driver;
    struct gp_gpu gpu;
    struct gp_err err = {0};
    uint64_t list[DEVICES], sizes[SIZES];
    int devices[DEVICES], n = argc > 3 ? numbers(argv[2], list, DEVICES) : 0, status = 0;
    bool op = argc == 7 && !strcmp(argv[1], "op"), peers = argc == 4 && !strcmp(argv[1], "peers");
    int nsizes = op ? numbers(argv[6], sizes, SIZES) : 0;
    if (!n || (op && !nsizes) ||
        (!op && !peers && (argc != 4 || !is_one_of(argv[1], "probe figures link soak check"))) ||
        (!peers && n != 1))
        return usage();
    if (!is_one_of(argv[3], "quick full")) return usage();
    struct gp_effort e = effort(!strcmp(argv[3], "full"), op);
    if (getenv("GPUPROF_BENCH_RESTLESS"))
        e.rest_ns = e.soak_ns = 0; /* a pretended device does not get warm */
    for (int i = 0; i < n; i++) devices[i] = list[i] < INT32_MAX ? (int)list[i] : INT32_MAX;
    if (gp_driver_open(&driver, &err) || (!peers && gp_gpu_open(&gpu, &driver, devices[0], &err))) {
        gp_say_missing("device", err.msg);
        return 1;
    }
    if (peers) gp_measure_peers(&driver, devices, n, &e);
    else if (op) gp_measure_op(&gpu, argv[4], argv[5], sizes, nsizes, &e);
    else status = measure(argv[1], &gpu, &e);
    if (!peers) gp_gpu_close(&gpu);
    gp_say_fact("end", "");
    return status;
}
