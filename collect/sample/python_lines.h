/* python_lines.h -- the line of an instruction, from the line table of its code object: three encodings, of
 * 3.9, 3.10, and 3.11 on. Pure; a table may hold anything.
 *
 *     int64_t line = gp_py_line(11, table, n, first_line, unit);
 */
#ifndef GP_COLLECT_SAMPLE_PYTHON_LINES_H
#define GP_COLLECT_SAMPLE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction at UNIT, counted in units of 2 bytes, in code whose first line is FIRST; -1: it
 * has none. After the end of the table FIRST. */
int64_t gp_py_line(unsigned minor, const uint8_t *table, size_t n, int64_t first, uint32_t unit);

#endif
