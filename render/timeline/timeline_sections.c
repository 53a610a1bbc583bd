/* The sections of a page: named pieces of deflated data. */
#include <stdio.h>
#include "render/page/page_pack.h"
#include "render/timeline/timeline_priv.h"

enum { LEVEL = 6 /* of the small ones; the large ones have their own */ };

void gp_timeline_add(struct gp_timeline *tl, const char *id, const void *data, size_t n)
{
    struct gp_timeline_section s = {0};
    snprintf(s.id, sizeof s.id, "%s", id);
    gp_page_deflate(&s.bytes, data ? data : "", n, LEVEL);
    GP_VEC_PUSH(&tl->sections, s);
}

void gp_timeline_drop_sections(struct gp_timeline *tl, size_t from)
{
    while (tl->sections.n > from) gp_buf_release(&tl->sections.at[--tl->sections.n].bytes);
}

uint64_t gp_timeline_bytes(const struct gp_timeline *tl)
{
    uint64_t n = 0;
    for (size_t i = 0; i < tl->sections.n; i++) n += (tl->sections.at[i].bytes.n + 2) / 3 * 4;
    return n;
}
