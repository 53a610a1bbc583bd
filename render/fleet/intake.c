#include "render/fleet/intake.h"

#include <errno.h>
#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/clock.h"
#include "formats/base/err.h"
#include "formats/net/datagram.h"

static void record(const struct gp_intake *in, const void *data, size_t n)
{
    struct gp_buf framed = {0};
    if (!in->record && !in->copy) return;
    gp_digest_frame(&framed, data, n);
    if (in->copy) gp_output_write(in->copy, framed.data, framed.n);
    if (in->record) {
        fwrite(framed.data, 1, framed.n, in->record);
        fflush(in->record);
    }
    gp_buf_release(&framed);
}

/* What was caught on its way and is sent again much later, and a sender whose next messages would seem
 * old. */
static bool is_off(const struct gp_digest *d)
{
    int64_t off_s = (d->time_ns - gp_clock_ns(CLOCK_REALTIME)) / 1000000000;
    return off_s >= GP_INTAKE_OFF_S || off_s <= -GP_INTAKE_OFF_S;
}

void gp_intake_message(void *ctx, const void *data, size_t n)
{
    struct gp_intake *in = ctx;
    struct gp_digest d;
    struct gp_strings names = {0};
    if (gp_digest_get(&d, &names, data, n, &in->key, NULL)) {
        in->refused++;
    } else if (!in->replay && is_off(&d)) {
        in->off++;
    } else {
        in->used++;
        record(in, data, n);
        int64_t now_ns = in->replay ? d.time_ns : gp_clock_ns(CLOCK_MONOTONIC);
        gp_watch_add(in->watch, &d, &names, now_ns);
    }
    gp_digest_release(&d);
    gp_strings_release(&names);
}

void gp_intake_receive(struct gp_intake *in, int fd)
{
    uint8_t room[GP_DIGEST_BYTES + 1];
    gp_net_receive(fd, room, sizeof room, gp_intake_message, in);
}

void gp_intake_forward(void *ctx, const struct gp_digest *d, const struct gp_strings *names)
{
    struct gp_intake *in = ctx;
    struct gp_buf b = {0};
    gp_digest_put(&b, d, names, &in->key);
    in->forwarded++;
    if (!gp_net_send(in->forward, b.data, b.n)) in->dropped++;
    gp_buf_release(&b);
}

int gp_intake_open(const char *path, FILE **to, struct gp_err *err)
{
    if (!path || (*to = fopen(path, "w"))) return 0;
    return gp_fail(err, GP_E_IO, -1, "%s: cannot write: %s", path, strerror(errno));
}

int gp_intake_record(struct gp_intake *in, const char *path, struct gp_err *err)
{
    if (!path || !in->replay) return gp_intake_open(path, &in->record, err);
    return (in->copy = gp_output_open(path, err)) ? 0 : -1;
}

int gp_intake_end(struct gp_intake *in, const char *path, int failed, struct gp_err *err)
{
    if (in->copy && gp_output_close(in->copy, !failed, failed ? NULL : err)) failed = -1;
    return gp_intake_close(path, in->record, failed, err);
}

int gp_intake_close(const char *path, FILE *file, int failed, struct gp_err *err)
{
    if (!file) return failed;
    bool whole = !ferror(file) && !(file == stdout ? fflush(file) : fclose(file));
    if (failed || whole) return failed;
    return gp_fail(err, GP_E_IO, -1, "%s: cannot write: %s", path ? path : "standard output",
                   strerror(errno));
}
