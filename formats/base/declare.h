/* declare.h -- for headers that declare functions: attributes, and two structs passed by pointer. Most
 * files include it, so it hardly ever changes; who looks into an error or a buffer includes err.h or buf.h.
 *
 *     GP_MUST_CHECK int gp_trace_read(struct gp_trace *t, const char *path, struct gp_err *err);
 */
#ifndef GP_BASE_DECLARE_H
#define GP_BASE_DECLARE_H

struct gp_buf;
struct gp_err;

#if defined(__GNUC__)
#define GP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define GP_MUST_CHECK        __attribute__((warn_unused_result))
#define GP_UNUSED            __attribute__((unused))
#define GP_LIKELY(x)         __builtin_expect(!!(x), 1)
#define GP_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#else
#define GP_PRINTF(fmt, args)
#define GP_MUST_CHECK
#define GP_UNUSED
#define GP_LIKELY(x)   (x)
#define GP_UNLIKELY(x) (x)
#endif

/* A column of a list of rows that are written X(a, b, c): enum { LIST(GP_FIRST) }, {LIST(GP_SECOND)}. */
#define GP_FIRST(...)           GP_FIRST_(__VA_ARGS__, )
#define GP_SECOND(...)          GP_SECOND_(__VA_ARGS__, )
#define GP_THIRD(...)           GP_THIRD_(__VA_ARGS__, )
#define GP_FIRST_(a, ...)       a,
#define GP_SECOND_(a, b, ...)   b,
#define GP_THIRD_(a, b, c, ...) c,

#endif
