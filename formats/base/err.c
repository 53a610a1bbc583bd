#include "formats/base/err.h"
#include "formats/base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int gp_fail(struct gp_err *err, enum gp_err_code code, int64_t offset, const char *fmt, ...)
{
    if (!err) return -1;
    err->code = code;
    err->offset = offset;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return -1;
}

int gp_err_context(struct gp_err *err, const char *fmt, ...)
{
    if (!err) return -1;
    char joined[sizeof err->msg];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(joined, sizeof joined, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof joined) return -1;
    size_t used = (size_t)n, room = sizeof joined - used;
    if (room > 2) {
        memcpy(joined + used, GP_TEXT(": "));
        size_t copy = strnlen(err->msg, room - 3);
        memcpy(joined + used + 2, err->msg, copy);
        joined[used + 2 + copy] = '\0';
    }
    memcpy(err->msg, joined, sizeof err->msg);
    return -1;
}
