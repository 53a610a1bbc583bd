#include "formats/base/order.h"

#include <stdlib.h>
#include "formats/base/mem.h"

/* Merge the N numbers FROM, in runs of WIDTH, into runs of twice that. */
static void merge_runs(const size_t *from, size_t *to, size_t n, size_t width, const char *rows, size_t size,
                       gp_compare_in *compare, const void *of)
{
    for (size_t out = 0; out < n;) {
        size_t left = out, mid = n - left < width ? n : left + width, right = mid;
        size_t end = n - mid < width ? n : mid + width;
        while (out < end) {
            bool first = left < mid && (right == end || compare(rows + from[left] * size,
                                                                rows + from[right] * size, of) <= 0);
            to[out++] = first ? from[left++] : from[right++];
        }
    }
}

void gp_sort_in(void *at, size_t n, size_t size, gp_compare_in *compare, const void *of)
{
    if (n < 2) return;
    size_t *numbers = gp_alloc(2 * n * sizeof *numbers), *from = numbers, *to = numbers + n;
    char *rows = at, *sorted = gp_alloc(n * size);
    for (size_t i = 0; i < n; i++) from[i] = i;
    for (size_t width = 1; width < n; width *= 2) {
        size_t *merged = to;
        merge_runs(from, to, n, width, rows, size, compare, of);
        to = from;
        from = merged;
    }
    for (size_t i = 0; i < n; i++) memcpy(sorted + i * size, rows + from[i] * size, size);
    memcpy(rows, sorted, n * size);
    free(sorted);
    free(numbers);
}
