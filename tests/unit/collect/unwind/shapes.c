#include "tests/unit/collect/unwind/shapes.h"

#include <alloca.h>
#include <signal.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct path *volatile waiting; /* what a callback goes on with */

static int plain(struct path *p, int n)
{
    volatile char room[40] = {0};
    room[n % 40] = 1;
    p->next(p);
    return room[3] + n;
}

static int many_registers(struct path *p, int n)
{
    unsigned long a = (unsigned)n * 3UL, b = a ^ (unsigned)p->left, c = b * 5, d = c - a, e = d * b,
                  f = e + c;
    p->next(p);
    return (int)(a + b * c - d + e * f);
}

static int grows(struct path *p, int n)
{
    size_t size = 16 + (unsigned)n % 500;
    char *room = alloca(size);
    memset(room, n, size);
    p->next(p);
    return room[size / 2];
}

static int aligned(struct path *p, int n)
{
    alignas(64) volatile char room[192] = {0};
    room[n % 192] = 1;
    p->next(p);
    return room[7];
}

static int aligned_and_grows(struct path *p, int n)
{
    alignas(64) volatile char room[64] = {0};
    volatile char *more = alloca(8 + (unsigned)n % 100);
    more[3] = (char)n;
    room[n % 64] = 1;
    p->next(p);
    return room[7] + more[3];
}

static int large(struct path *p, int n)
{
    volatile char room[20000];
    room[0] = room[19999] = (char)n;
    p->next(p);
    return room[0];
}

static int tail(struct path *p, int n)
{
    (void)n;
    p->next(p); /* a jump where it is optimised */
    return 0;
}

static int variadic(struct path *p, int n, ...)
{
    va_list args;
    double sum = 0;
    va_start(args, n);
    for (int i = 0; i < n; i++) sum += va_arg(args, double);
    p->next(p);
    va_end(args);
    return (int)sum;
}

static int calls_variadic(struct path *p, int n) { return variadic(p, 2, n * 1.5, 2.5) + n; }

static int compare(const void *a, const void *b)
{
    struct path *p = waiting;
    waiting = NULL;
    if (p) p->next(p);
    return *(const int *)a - *(const int *)b;
}

static int sorts(struct path *p, int n)
{
    int numbers[5] = {n, 4, 3, 2, 1};
    waiting = p;
    qsort(numbers, 5, sizeof *numbers, compare);
    return numbers[2];
}

static int searches(struct path *p, int n)
{
    static const int numbers[4] = {1, 2, 3, 4};
    waiting = p;
    return bsearch(&n, numbers, 4, sizeof *numbers, compare) != NULL;
}

static void handle(int signal)
{
    (void)signal;
    struct path *p = waiting;
    waiting = NULL;
    if (p) p->next(p);
}

static int interrupted(struct path *p, int n)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_NODEFER};
    sigaction(SIGRTMIN + SHAPES_SIGNAL, &action, NULL);
    waiting = p;
    raise(SIGRTMIN + SHAPES_SIGNAL);
    waiting = NULL; /* a sanitizer may put the signal off */
    return n;
}

const shape_fn SHAPES[] = {plain, many_registers, grows,          aligned,  aligned_and_grows, large,
                           tail,  sorts,          calls_variadic, searches, interrupted,       NULL};
