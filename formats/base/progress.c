#include "formats/base/progress.h"
#include "formats/base/buf.h"
#include "formats/base/clock.h"

#include <stdio.h>

enum { FIRST_MS = 500, EVERY_MS = 100, MINUTE = 60, HOUR = 3600 };

static bool is_due(struct gp_progress *p, int64_t now)
{
    if (p->began_ns == 0) p->began_ns = p->last_ns = now;
    int64_t wait_ms = p->shown ? EVERY_MS : FIRST_MS;
    return now - (p->shown ? p->last_ns : p->began_ns) >= wait_ms * 1000000;
}

static void show(struct gp_progress *p, const char *line, int64_t now)
{
    fprintf(stderr, "\r%s: %s\033[K", p->tool, line);
    p->last_ns = now;
    p->shown = true;
}

/* Rounded up: "0 s left" would be wrong as long as anything is left. */
static void put_left(struct gp_buf *line, double left_s)
{
    double minutes = (left_s + MINUTE - 1) / MINUTE;
    if (left_s > (double)INT32_MAX) return; /* hardly anything is read: nothing to go by */
    if (left_s <= MINUTE) gp_buf_printf(line, ", %d s left", (int)left_s + (left_s > (int)left_s));
    else if (left_s <= HOUR) gp_buf_printf(line, ", %d min left", (int)minutes);
    else gp_buf_printf(line, ", %d h %d min left", (int)minutes / MINUTE, (int)minutes % MINUTE);
}

void gp_progress_put(struct gp_buf *line, const struct gp_progress *p, uint64_t bytes, int64_t elapsed_ns)
{
    double s = (double)elapsed_ns / 1e9, rate = s > 0 ? (double)bytes / s : 0;
    bool known = p->total && bytes <= p->total; /* a file that grows has no total */
    gp_buf_puts(line, "reading, ");
    if (known) gp_buf_printf(line, "%d%%", (int)((double)bytes / (double)p->total * 100));
    else gp_buf_printf(line, "%.0f MB", (double)bytes / 1e6);
    gp_buf_printf(line, ", %.0f MB/s", rate / 1e6);
    if (known && rate > 0 && bytes < p->total) put_left(line, (double)(p->total - bytes) / rate);
}

void gp_progress_bytes(void *ctx, uint64_t bytes)
{
    struct gp_progress *p = ctx;
    struct gp_buf line = {0};
    if (!p || !p->enabled) return;
    int64_t now = gp_now_ns();
    if (!is_due(p, now)) return;
    gp_progress_put(&line, p, bytes, now - p->began_ns);
    show(p, gp_buf_str(&line), now);
    gp_buf_release(&line);
}

void gp_progress_phase(struct gp_progress *p, const char *phase)
{
    if (!p->enabled) return;
    int64_t now = gp_now_ns();
    if (p->began_ns && now - p->began_ns >= FIRST_MS * INT64_C(1000000)) show(p, phase, now);
}

void gp_progress_end(struct gp_progress *p)
{
    if (p->shown) fputs("\r\033[K", stderr);
    p->shown = false;
}
