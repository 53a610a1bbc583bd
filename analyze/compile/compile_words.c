/* Words of the answer, and strings in the log's table. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "analyze/compile/compile_priv.h"
#include "formats/base/num.h"
#include "formats/base/str.h"

/* ---- words ---- */

const char *const gp_compile_outcomes[] = {"ok", "empty", "failed", "eager", "cut", NULL};
const char *const gp_compile_warmths[] = {"unknown", "cold", "partly warm", "warm", NULL};
const char *const gp_compile_priorities[] = {"low", "medium", "high", "critical", NULL};

const char *gp_compile_warmth_name(enum gp_compile_warmth w) { return gp_compile_warmths[w]; }

/* ---- helpers ---- */

gp_sid gp_compile_print(struct gp_compile *c, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return gp_intern(&c->log->strings, text, len);
}

gp_sid gp_compile_function(struct gp_compile *c, gp_sid name, int32_t *line)
{
    static const char words[] = "torch_dynamo_resume_in_";
    const char *s = gp_compile_str(c, name), *from = s;
    size_t n = strlen(s);
    *line = -1;
    while (!strncmp(from, words, sizeof words - 1)) {
        from += sizeof words - 1;
        size_t at = n - (size_t)(from - s), digits = at;
        uint64_t v;
        while (digits && from[digits - 1] >= '0' && from[digits - 1] <= '9') digits--;
        if (digits < 4 || !gp_starts(from + digits - 4, "_at_") ||
            !gp_u64_from_text(from + digits, at - digits, &v) || v > INT32_MAX)
            break;
        if (*line < 0) *line = (int32_t)v;
        n = (size_t)(from - s) + digits - 4;
    }
    if (from == s) return name;
    return gp_intern(&c->log->strings, from, n - (size_t)(from - s));
}

struct gp_compile_frame *gp_compile_frame_of(struct gp_compile *c, uint32_t process, gp_sid compile_id)
{
    const uint32_t *at = compile_id ? gp_map_get(&c->of_frame, (uint64_t)process << 32 | compile_id) : NULL;
    return at ? &c->frames.at[*at] : NULL;
}
