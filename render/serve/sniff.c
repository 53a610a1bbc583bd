#include "render/serve/sniff.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "formats/base/input.h"
#include "formats/base/mem.h"
#include "formats/base/str.h"
#include "formats/compile_log/log_lines.h"
#include "formats/pickle/export_read.h"
#include "formats/pickle/pickle.h"
#include "formats/reader.h"
#include "render/serve/shelf.h"

enum { HEAD_BYTES = 64 << 10 };

/* Any JSON looks like the start of a Chrome trace; one has its events within reach, or at least one key of
 * them. */
static bool has_events(const uint8_t *head, size_t n)
{
    return memmem(head, n, GP_TEXT("traceEvents")) || memmem(head, n, GP_TEXT("\"ph\"")) ||
           memmem(head, n, GP_TEXT("\"schemaVersion\""));
}

static bool sniff_trace(const uint8_t *head, size_t n, struct gp_sniffed *found)
{
    for (size_t i = 0; gp_readers[i]; i++) {
        const struct gp_reader *r = gp_readers[i];
        if (!r->sniff(head, n)) continue;
        if (!strcmp(r->name, "chrome") && !has_events(head, n)) return false;
        found->kind = GP_SHELF_TRACE;
        found->format = r->name;
        return true;
    }
    return false;
}

bool gp_sniff(const void *data, size_t size, struct gp_sniffed *found)
{
    struct gp_input *in = gp_input_memory(data, size, 1);
    size_t n = 0;
    const uint8_t *head = gp_input_peek(in, HEAD_BYTES, &n);
    bool is = true;
    if (!n) is = false;
    else if (gp_pickle_sniff(head, n) || gp_export_sniff(head, n)) {
        found->kind = GP_SHELF_SNAPSHOT;
        found->format = gp_pickle_sniff(head, n) ? "pickle" : "memory export";
    } else if (gp_log_sniff(head, n)) {
        found->kind = GP_SHELF_COMPILE_LOG;
        found->format = "compile log";
    } else is = sniff_trace(head, n, found);
    found->compression = gp_input_compression(in); /* static words */
    gp_input_close(in);
    return is;
}

bool gp_sniff_fd(int fd, struct gp_sniffed *found)
{
    char *head = gp_alloc(HEAD_BYTES);
    ssize_t n = pread(fd, head, HEAD_BYTES, 0);
    bool is = n > 0 && gp_sniff(head, (size_t)n, found);
    free(head);
    return is;
}
