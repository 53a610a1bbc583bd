#include "analyze/live/digest.h"

#include <string.h>
#include <sys/stat.h>
#include "formats/base/buf.h"
#include "formats/base/err.h"
#include "formats/base/input.h"

enum { SECRET_MOST = 4096, SECRET_LEAST = 16 };

int gp_digest_key_read(const char *path, struct gp_digest_key *key, struct gp_err *err)
{
    struct gp_buf text = {0};
    struct stat st;
    memset(key, 0, sizeof *key);
    if (!path) return 0;
    if (!stat(path, &st) && st.st_mode & 077)
        return gp_fail(err, GP_E_USAGE, -1, "%s: others can read this secret: chmod 600 %s", path, path);
    if (gp_input_all(path, NULL, SECRET_MOST, &text, err)) {
        gp_buf_release(&text);
        return -1;
    }
    while (text.n && (text.data[text.n - 1] == '\n' || text.data[text.n - 1] == '\r')) text.n--;
    bool enough = text.n >= SECRET_LEAST;
    if (enough) *key = gp_digest_key_of(text.data, text.n);
    gp_buf_release(&text);
    return enough ? 0
                  : gp_fail(err, GP_E_USAGE, -1, "%s: a secret needs %d bytes or more, or it can be guessed",
                            path, SECRET_LEAST);
}

int gp_digest_read(const char *path, gp_digest_message_fn *message, void *ctx, struct gp_err *err)
{
    uint8_t data[(1 << 16) + 2];
    int64_t at = 0;
    int failed = 0;
    size_t got = 0;
    struct gp_input *in = gp_input_open(path, 1, err);
    if (!in) return -1;
    while (!failed && (got = gp_input_read(in, data, 2)) == 2) {
        size_t n = (size_t)data[0] | (size_t)data[1] << 8;
        if (gp_input_read(in, data + 2, n) == n) message(ctx, data + 2, n);
        else failed = gp_fail(err, GP_E_SYNTAX, at, "%s: ends within a digest", path);
        at += (int64_t)n + 2;
    }
    if (!failed && got) failed = gp_fail(err, GP_E_SYNTAX, at, "%s: ends within a digest", path);
    if (!failed && !at) failed = gp_fail(err, GP_E_FORMAT, 0, "%s: is empty", path);
    gp_input_close(in);
    return failed;
}

void gp_digest_frame(struct gp_buf *to, const void *data, size_t n)
{
    gp_buf_putc(to, (char)(n & 255));
    gp_buf_putc(to, (char)(n >> 8));
    gp_buf_put(to, data, n);
}
