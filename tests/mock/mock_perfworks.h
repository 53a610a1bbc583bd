/* mock_perfworks.h -- what the mock of CUPTI tells its range profiler. */
#ifndef GP_TESTS_MOCK_PERFWORKS_H
#define GP_TESTS_MOCK_PERFWORKS_H

#include <stdbool.h>
#include <stdint.h>

/* KERNEL is launched with GRID blocks. True if it is measured: its record then has no times. */
bool mock_perfworks_launch(const char *kernel, uint32_t grid);

#endif
