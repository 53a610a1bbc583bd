/* mock_perfworks.h -- what the mock of CUPTI tells its range profiler. */
#ifndef GP_TESTS_MOCK_PERFWORKS_H
#define GP_TESTS_MOCK_PERFWORKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
enum { MOCK_BAD = 1 /* an argument is wrong */ };

/* KERNEL is launched with GRID blocks. True if it is measured: its record then has no times. */
bool mock_perfworks_launch(const char *kernel, uint32_t grid);
/* What MOCK_METRICS_ERROR makes of CALL; 0: it works. */
int mock_perfworks_error(const char *call);
/* Of a metric in sample I of the image. */
double mock_pm_value(const char *name, size_t i);
/* Kernels are recorded as those are that run side by side: then they count more instructions. */
bool mock_side_by_side(void);
#ifdef MOCK_NO_PC
#define mock_pc_launch(kernel, corr) ((void)0)
#define mock_pc_code                 ((const char[2][32]){"", ""})
#else
/* KERNEL runs, launched by the call CORR: its program counters are sampled, if that was asked for. */
void mock_pc_launch(const char *kernel, uint32_t corr);
/* The code that the mock loads, with lines and without. */
extern const char mock_pc_code[2][32];
#endif
/* A number from the environment, 0 none. */
long mock_setting(const char *name);
/* The clock that was registered. */
uint64_t mock_now(void);

/* An exported call of that name whose body follows, unless it has to fail. */
#define CALL(symbol, type, name)                                                                             \
    EXPORT int symbol(struct type *p);                                                                       \
    static int symbol##_body(struct type *p);                                                                \
    EXPORT int symbol(struct type *p)                                                                        \
    {                                                                                                        \
        int code = mock_perfworks_error(name);                                                               \
        if (p->size < sizeof(size_t) + sizeof(void *) || p->priv) return MOCK_BAD;                           \
        return code ? code : symbol##_body(p);                                                               \
    }                                                                                                        \
    static int symbol##_body(struct type *p)

#endif
