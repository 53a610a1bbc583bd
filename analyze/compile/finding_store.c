#include "analyze/compile/finding_store.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "analyze/diff/baseline.h"
#include "formats/base/err.h"
#include "formats/base/input.h"
#include "formats/base/output.h"

enum { MAX_BYTES = 64 << 20 };
static const char head[] = "gpuprof/trace-compile/findings/1";

static bool is_findings(const void *data, size_t n)
{
    return n >= sizeof head - 1 && !memcmp(data, head, sizeof head - 1);
}

static void put_path(struct gp_buf *b, const char *folder, const char *name)
{
    gp_buf_printf(b, "%s/%s.findings", folder, name);
}

int gp_findings_load(struct gp_finding_lines *to, const char *folder, const char *name, struct gp_err *err)
{
    struct gp_buf path = {0};
    if (gp_baseline_check_name(name, err)) return -1;
    put_path(&path, folder, name);
    int failed = gp_input_all(gp_buf_str(&path), is_findings, MAX_BYTES, &to->text, err);
    char *s = failed ? NULL : (gp_buf_putc(&to->text, '\0'), to->text.data);
    if (!failed && strncmp(s, head, sizeof head - 1) != 0)
        failed = gp_fail(err, GP_E_FORMAT, 0, "%s: not the findings of trace-compile", gp_buf_str(&path));
    for (char *end; !failed && s && *s; s = end) {
        end = strchr(s, '\n');
        if (end) *end++ = '\0';
        else end = s + strlen(s);
        if (s != to->text.data) GP_VEC_PUSH(&to->at, s);
    }
    gp_buf_release(&path);
    return failed;
}

int gp_findings_save(const struct gp_compile *c, const char *folder, const char *name, struct gp_err *err)
{
    const size_t counts[GP_FINDING_KINDS] = {c->breaks.n, c->recompiles.n, c->cudagraphs.skips.n};
    struct gp_buf path = {0}, text = {0};
    if (gp_baseline_check_name(name, err)) return -1;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return gp_fail(err, GP_E_IO, -1, "%s: %s", folder, strerror(errno));
    gp_buf_printf(&text, "%s\n", head);
    for (int kind = 0; kind < GP_FINDING_KINDS; kind++)
        for (size_t i = 0; i < counts[kind]; i++) {
            struct gp_buf key = {0};
            gp_compile_key(c, (enum gp_compile_finding)kind, i, &key);
            gp_buf_put(&text, key.data, key.n);
            gp_buf_putc(&text, '\n');
            gp_buf_release(&key);
        }
    put_path(&path, folder, name);
    struct gp_output *out = gp_output_open(gp_buf_str(&path), err);
    if (out) gp_output_write(out, text.data, text.n);
    int failed = out ? gp_output_close(out, true, err) : -1;
    gp_buf_release(&path);
    gp_buf_release(&text);
    return failed;
}

void gp_finding_lines_release(struct gp_finding_lines *lines)
{
    gp_buf_release(&lines->text);
    GP_VEC_FREE(&lines->at);
}
