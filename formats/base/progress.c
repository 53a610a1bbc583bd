#include "formats/base/progress.h"

#include <stdio.h>
#include <time.h>

enum { FIRST_MS = 500, EVERY_MS = 100 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void gp_progress_bytes(void *ctx, uint64_t bytes)
{
    struct gp_progress *p = ctx;
    if (!p || !p->enabled) return;
    int64_t now = now_ns();
    if (p->began_ns == 0) p->began_ns = p->last_ns = now;
    int64_t wait_ms = p->shown ? EVERY_MS : FIRST_MS;
    if (now - (p->shown ? p->last_ns : p->began_ns) < wait_ms * 1000000) return;
    double mb = (double)bytes / 1e6, s = (double)(now - p->began_ns) / 1e9;
    fprintf(stderr, "\r%s: %.0f MB, %.0f MB/s\033[K", p->tool, mb, s > 0 ? mb / s : 0.0);
    p->last_ns = now;
    p->shown = true;
}

void gp_progress_end(struct gp_progress *p)
{
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = false;
}
