/* Messages of the injected library. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/inject/inject.h"

GP_PRINTF(1, 0) static void print_line(const char *fmt, va_list ap)
{
    char line[600];
    int n = snprintf(line, sizeof line, "gpuprof-collect: pid %ld: ", (long)getpid());
    int k = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    if (k < 0) return;
    n = (size_t)(n + k) < sizeof line - 1 ? n + k : (int)sizeof line - 2;
    line[n++] = '\n';
    ssize_t rc =
        write(STDERR_FILENO, line, (size_t)n); /* one write, so that lines of several processes stay whole */
    (void)rc;
}

static _Atomic bool quiet;
static _Thread_local struct {
    char *to; /* NULL: they are printed */
    size_t size;
} caught;

void gp_say_quiet(bool on) { quiet = on; }

void gp_say_to(char *to, size_t size)
{
    caught.to = to;
    caught.size = size;
}

const char *gp_say_caught(void) { return caught.to; }

void gp_say(const char *fmt, ...)
{
    va_list ap;
    if (quiet) return;
    va_start(ap, fmt);
    if (caught.to) vsnprintf(caught.to, caught.size, fmt, ap);
    else print_line(fmt, ap);
    va_end(ap);
}

void gp_debug(const char *fmt, ...)
{
    static _Atomic int on; /* 0 not known yet, 1 no, 2 yes */
    if (!on) {
        const char *v = getenv(GP_ENV_DEBUG);
        on = v && *v && strcmp(v, "0") != 0 ? 2 : 1;
    }
    if (on != 2) return;
    va_list ap;
    va_start(ap, fmt);
    print_line(fmt, ap);
    va_end(ap);
}
