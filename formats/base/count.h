/* count.h -- how many elements an array has.
 *
 *     static const char *const words[] = {"step", "iteration"};
 *     for (size_t i = 0; i < GP_COUNT(words); i++) ...
 */
#ifndef GP_BASE_COUNT_H
#define GP_BASE_COUNT_H

/* Of an ARRAY, never of a pointer. */
#define GP_COUNT(array) (sizeof(array) / sizeof *(array))

#endif
