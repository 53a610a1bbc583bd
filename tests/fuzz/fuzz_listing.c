/* fuzz_listing.c -- hostile listings and sources. Rows ascend and lie within the text. */
#include "formats/listing_read.h"
#include "tests/fuzz/help/fuzz.h"

static void check(struct gp_listing *l, bool has)
{
    FUZZ_CHECK(has == (l->rows.n > 0));
    for (size_t i = 0; i < l->rows.n; i++) {
        const struct gp_listing_row *row = &l->rows.at[i];
        FUZZ_CHECK(row->from <= l->text.n && row->n <= l->text.n - row->from);
        FUZZ_CHECK(!i || row->at > row[-1].at);
        FUZZ_CHECK(gp_listing_row(l, row->at) == row);
    }
    gp_listing_release(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gp_listing l = {0};
    struct gp_buf text = {0};
    check(&l, gp_listing_sass(&l, (const char *)data, size, "k", "sm_90"));
    check(&l, gp_listing_sass(&l, (const char *)data, size, "k", ""));
    gp_buf_put(&text, data, size);
    check(&l, gp_listing_lines(&l, &text));
    gp_buf_release(&text);
    return 0;
}
