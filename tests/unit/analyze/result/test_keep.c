// Rows that are saved, merged, moved and copied as their record says, rows within rows included.
#include <stdlib.h>

#include <string.h>
#include "analyze/math/histogram.h"
#include "analyze/result/keep.h"
#include "formats/base/buf.h"
#include "tests/unit/unit.h"

struct leaf {
    gp_sid name;
    int64_t ns;
};

struct row {
    gp_sid name;
    uint32_t kind, least;
    int32_t same;
    uint64_t count, first;
    int64_t sum, most;
    bool any;
    struct gp_histogram dur;
    GP_VEC(struct leaf) leaves;
    int64_t inner[2];
};

#define LEAF(member) offsetof(struct leaf, member)
static const struct gp_field leaf_fields[] = {{.at = LEAF(name), .keep = GP_KEEP_STR},
                                              {.at = LEAF(ns), .keep = GP_KEEP_I64}};
static const struct gp_record leaves = {
    .id = "leaves", .title = "Leaves", GP_FIELDS(leaf_fields), .size = sizeof(struct leaf)};

static const struct gp_field inner_fields[] = {{.at = 0, .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
                                               {.at = 8, .keep = GP_KEEP_I64, .merge = GP_MERGE_MAX}};
static const struct gp_record inner = {.id = "inner", .title = "Inner", GP_FIELDS(inner_fields), .size = 16};

#define AT(member) offsetof(struct row, member)
static const struct gp_field fields[] = {
    {.at = AT(name), .keep = GP_KEEP_STR, .merge = GP_MERGE_KEY},
    {.at = AT(kind), .keep = GP_KEEP_U32, .merge = GP_MERGE_KEY, .below = 4},
    {.at = AT(least), .keep = GP_KEEP_U32, .merge = GP_MERGE_MIN},
    {.at = AT(same), .keep = GP_KEEP_I32, .merge = GP_MERGE_SAME},
    {.at = AT(count), .keep = GP_KEEP_U64, .merge = GP_MERGE_SUM},
    {.at = AT(first), .keep = GP_KEEP_U64, .merge = GP_MERGE_MIN_SET},
    {.at = AT(sum), .keep = GP_KEEP_I64, .merge = GP_MERGE_SUM},
    {.at = AT(most), .keep = GP_KEEP_I64, .merge = GP_MERGE_MAX},
    {.at = AT(any), .keep = GP_KEEP_BOOL, .merge = GP_MERGE_OR},
    {.at = AT(dur), .keep = GP_KEEP_DIST},
    {.at = AT(leaves), .keep = GP_KEEP_ROWS, .rows = &leaves},
    {.at = AT(inner), .keep = GP_KEEP_ROW, .rows = &inner},
};
static const struct gp_record rows = {
    .id = "rows", .title = "Rows", GP_FIELDS(fields), .size = sizeof(struct row)};

struct box {
    struct gp_strings strings;
    GP_VEC(struct row) rows;
};

static void release(struct box *b)
{
    gp_rows_release(&rows, &b->rows);
    gp_strings_release(&b->strings);
}

/* A row "gemm" of kind 2 with two durations and two leaves. */
static struct box make(void)
{
    struct box b = {0};
    gp_intern_cstr(&b.strings, "shifts the sids");
    struct row r = {.name = gp_intern_cstr(&b.strings, "gemm"),
                    .kind = 2,
                    .least = 7,
                    .same = 1,
                    .count = 3,
                    .sum = INT64_MAX - 1,
                    .most = 5,
                    .inner = {10, 20}};
    gp_histogram_add(&r.dur, 100);
    gp_histogram_add(&r.dur, 300);
    GP_VEC_PUSH(&r.leaves, ((struct leaf){gp_intern_cstr(&b.strings, "left"), 1}));
    GP_VEC_PUSH(&r.leaves, ((struct leaf){gp_intern_cstr(&b.strings, "right"), 2}));
    GP_VEC_PUSH(&b.rows, r);
    return b;
}

static void assert_gemm(const struct box *b, size_t at)
{
    const struct row *r = &b->rows.at[at];
    assert_string_equal(gp_string(&b->strings, r->name), "gemm");
    assert_int_equal(r->kind, 2);
    assert_int_equal(r->count, 3);
    assert_int_equal(r->dur.n, 2);
    assert_int_equal(r->dur.sum, 400);
    assert_int_equal(r->leaves.n, 2);
    assert_string_equal(gp_string(&b->strings, r->leaves.at[1].name), "right");
    assert_int_equal(r->leaves.at[1].ns, 2);
    assert_int_equal(r->inner[1], 20);
}

TEST(test_merge)
{
    struct box a = make(), b = make();
    struct row *to = &a.rows.at[0], *from = &b.rows.at[0];
    from->least = 4;
    from->first = 9;
    from->most = 3;
    from->any = true;
    from->inner[1] = 50;
    gp_record_merge(&rows, to, from);
    assert_int_equal(to->least, 4);
    assert_int_equal(to->same, 1);
    assert_int_equal(to->count, 6);
    assert_int_equal(to->first, 9); /* 0 is none */
    assert_true(to->sum == INT64_MAX);
    assert_int_equal(to->most, 5);
    assert_true(to->any);
    assert_int_equal(to->dur.n, 4);
    assert_int_equal(to->inner[0], 20);
    assert_int_equal(to->inner[1], 50);
    assert_int_equal(to->leaves.n, 2);
    from->same = 0;
    gp_record_merge(&rows, to, from);
    assert_int_equal(to->same, -1);
    gp_record_merge(&rows, to, from);
    assert_int_equal(to->same, -1); /* and so it stays */
    release(&a);
    release(&b);
}

TEST(test_keys)
{
    struct row r = {.name = 5, .kind = 2, .count = 1}, other = {.name = 5, .kind = 2, .count = 9};
    assert_true(gp_record_has_key(&rows));
    assert_false(gp_record_has_key(&leaves));
    assert_true(gp_record_key(&rows, &r) == gp_record_key(&rows, &other));
    other.kind = 3;
    assert_false(gp_record_key(&rows, &r) == gp_record_key(&rows, &other));
    other = (struct row){.name = 2, .kind = 5};
    assert_false(gp_record_key(&rows, &r) == gp_record_key(&rows, &other));
}

/* A copy has nothing in common with what it is of; what was moved is gone. */
TEST(test_copying_and_moving)
{
    struct box from = make(), copy = {0}, moved = {0};
    gp_rows_copy(&rows, &copy.rows, &copy.strings, &from.rows, &from.strings);
    assert_gemm(&from, 0);
    from.rows.at[0].leaves.at[1].ns = 99;
    gp_histogram_add(&from.rows.at[0].dur, 1000);
    assert_gemm(&copy, 0);
    gp_rows_copy(&rows, &moved.rows, &moved.strings, &copy.rows, &copy.strings);
    gp_rows_move(&rows, &moved.rows, &moved.strings, &copy.rows, &copy.strings);
    assert_int_equal(copy.rows.n, 0);
    assert_int_equal(moved.rows.n, 2);
    release(&copy);
    release(&from);
    assert_gemm(&moved, 0);
    assert_gemm(&moved, 1);
    release(&moved);
}

static bool load(struct box *b, const struct gp_buf *bytes, size_t n)
{
    memset(b, 0, sizeof *b);
    const uint8_t *p = (const uint8_t *)bytes->data;
    struct gp_serializer x = {.load = p, .end = p + n, .strings = &b->strings};
    gp_rows_serialize(&x, &rows, &b->rows);
    return !x.failed && x.load == x.end;
}

TEST(test_saving)
{
    struct box from = make(), to;
    struct gp_buf bytes = {0}, wrong = {0};
    struct gp_serializer x = {.save = &bytes, .strings = &from.strings};
    gp_rows_serialize(&x, &rows, &from.rows);
    assert_true(load(&to, &bytes, bytes.n));
    assert_int_equal(to.rows.n, 1);
    assert_gemm(&to, 0);
    release(&to);
    for (size_t n = 0; n < bytes.n; n++) { /* cut anywhere */
        assert_false(load(&to, &bytes, n));
        release(&to);
    }
    from.rows.at[0].kind = 4; /* not below 4 */
    x = (struct gp_serializer){.save = &wrong, .strings = &from.strings};
    gp_rows_serialize(&x, &rows, &from.rows);
    assert_false(load(&to, &wrong, wrong.n));
    release(&to);
    gp_buf_release(&bytes);
    gp_buf_release(&wrong);
    release(&from);
}
