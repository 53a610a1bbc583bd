#include <stdlib.h>
#include "formats/base/err.h"
#include "formats/gpt/gpt.h"
#include "formats/gpt/gpt_codec.h"
#include "tests/unit/gpt_util.h"
#include "tests/unit/trace_check.h"
#include "tests/unit/unit.h"

static uint64_t issues_of(const struct gp_trace *t)
{
    uint64_t n = 0;
    for (int i = 0; i < GP_ISSUE_COUNT; i++)
        if (i != GP_Q_LOSS) n += t->issues[i].count;
    return n;
}

static void assert_same(const struct gp_trace *a, const struct gp_trace *b)
{
    char where[200];
    const char *differs = events_differ(a, b, where, sizeof where);
    if (differs) fail_msg("%s", differs);
    differs = rest_differs(a, b);
    if (differs) fail_msg("%s", differs);
}

/* ---- round trips ---- */

TEST(all_columns_survive)
{
    static const size_t rows[] = {0, 1, 2, 15, 300, 5000};
    for (uint64_t i = 0; i < GP_COUNT(rows); i++) {
        struct gp_trace t, back;
        struct gp_buf file = {0};
        random_trace(&t, i + 1, rows[i]);
        write_trace(&t, NULL, &file, NULL);
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        assert_same(&t, &back);
        assert_int_equal(issues_of(&back), 0);
        assert_int_equal(gp_trace_check(&back, NULL), 0);
        gp_trace_release(&t);
        gp_trace_release(&back);
        gp_buf_release(&file);
    }
}

TEST(flushes_add_up)
{
    struct gp_trace whole, part, back;
    struct gp_buf file = {0};
    launch_trace(&whole, 500);
    launch_trace(&part, 500);
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_buf, &file);
    assert_int_equal(gp_gpt_begin(w), 0);
    gp_trace_clear_events(&part);
    for (size_t i = 0; i < 500; i++) {
        for (int table = GP_GPU; table <= GP_API; table++) {
            const struct gp_events *e = &whole.events[table];
            struct gp_events *to = &part.events[table];
            size_t row = gp_events_add(to, e->start_ns[i], e->dur_ns[i], e->track[i], e->name[i]);
            gp_set_corr(to, row, e->corr[i]);
            gp_set_ext(to, row, e->ext[i]);
            gp_set_config(to, row, gp_get_config(e, i));
        }
        if (i % 90 != 89) continue;
        assert_int_equal(gp_gpt_flush(w, &part), 0);
        gp_trace_clear_events(&part);
        /* a name that comes late, and one that changes */
        gp_sid late = gp_trace_intern(&part, "late", i % 4 + 1);
        part.tracks.at[0].name = late;
    }
    assert_int_equal(gp_gpt_end(w, &part), 0);
    assert_int_equal(gp_gpt_writer_stats(w)->launched, 500);
    gp_gpt_writer_free(w);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    char where[200];
    const char *differs = events_differ(&whole, &back, where, sizeof where);
    if (differs) fail_msg("%s", differs);
    assert_string_equal(gp_trace_str(&back, back.tracks.at[0].name),
                        gp_trace_str(&part, part.tracks.at[0].name));
    assert_int_equal(issues_of(&back), 0);
    gp_trace_release(&whole);
    gp_trace_release(&part);
    gp_trace_release(&back);
    gp_buf_release(&file);
}

TEST(compressed_blocks_survive)
{
    struct gp_trace t;
    struct gp_buf plain = {0};
    launch_trace(&t, 3000);
    write_trace(&t, NULL, &plain, NULL);
    for (int codec = GP_GPT_ZSTD; codec <= GP_GPT_ZLIB; codec++) {
        struct gp_trace back;
        struct gp_buf file = {0};
        write_trace(&t, &(struct gp_gpt_write_opts){.codec = (enum gp_gpt_codec)codec}, &file, NULL);
        assert_true(file.n < plain.n);
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        assert_same(&t, &back);
        assert_int_equal(issues_of(&back), 0);
        gp_trace_release(&back);
        gp_buf_release(&file);
    }
    gp_trace_release(&t);
    gp_buf_release(&plain);
}

TEST(threads_change_nothing)
{
    struct gp_trace t, one, four;
    struct gp_buf file = {0};
    random_trace(&t, 9, 20000);
    write_trace(&t, NULL, &file, NULL);
    assert_int_equal(read_trace_need(&one, file.data, file.n, 1, GP_NEED_ALL, NULL), 0);
    assert_int_equal(read_trace_need(&four, file.data, file.n, 4, GP_NEED_ALL, NULL), 0);
    assert_same(&one, &four);
    assert_same(&one, &t);
    struct gp_buf again = {0};
    write_trace(&t, &(struct gp_gpt_write_opts){.threads = 2}, &again, NULL);
    assert_int_equal(again.n, file.n);
    assert_memory_equal(again.data, file.data, file.n);
    gp_buf_release(&again);
    gp_trace_release(&t);
    gp_trace_release(&one);
    gp_trace_release(&four);
    gp_buf_release(&file);
}

/* An eager training loop: STEPS steps of 300 launches, of 12 layers whose kernels repeat, at irregular times;
 * with STACKS, each launch has one of 250 stacks, of which 50 are not always followed by the same one. */
static void eager_loop(struct gp_trace *t, int steps, bool stacks)
{
    enum { LAUNCHES = 300, LEAVES = 250, DEPTH = 12 };
    uint64_t seed = 3;
    int64_t now = 1000000, gpu_end = 0;
    gp_trace_init(t, GP_NEED_ALL);
    add_names(t);
    add_tracks(t);
    add_rest(t);
    if (stacks) GP_VEC_PUSH(&t->stacks, (struct gp_stack){0});
    for (uint32_t i = 1; stacks && i <= DEPTH + LEAVES; i++) /* the last frames differ */
        GP_VEC_PUSH(&t->stacks, ((struct gp_stack){.parent = i <= DEPTH ? i - 1 : DEPTH - i % 6,
                                                   .name = 1 + i * 7 % 40,
                                                   .file = 1 + i / 30,
                                                   .line = 10 + i * 13 % 500}));
    for (int i = 0; i < steps * LAUNCHES; i++) {
        uint32_t j = (uint32_t)(i % LAUNCHES), leaf = (j * 7 + j / 50 * 3) % LEAVES;
        uint32_t config = j % 24 < 18 ? j % 24 : j % 30;
        now += 4000 + (int64_t)pick(&seed, 9000) + (j ? 0 : 200000);
        size_t row = gp_events_add(&t->events[GP_API], now, 3000 + (int64_t)pick(&seed, 3000), 0, 2);
        gp_set_corr(&t->events[GP_API], row, 10 + 3 * (uint64_t)i);
        if (stacks) gp_set_stack(&t->events[GP_API], row, DEPTH + 1 + leaf);
        int64_t start =
            now + 6000 > gpu_end + 1000 ? now + 6000 + (int64_t)pick(&seed, 50) * 32 : gpu_end + 1000;
        int64_t dur = (2000 + config * 700 + pick(&seed, 400)) / 32 * 32;
        gpu_end = start + dur;
        row = gp_events_add(&t->events[GP_GPU], start, dur, 1, t->configs.at[config].name);
        gp_set_corr(&t->events[GP_GPU], row, 10 + 3 * (uint64_t)i);
        gp_set_config(&t->events[GP_GPU], row, config);
    }
    gp_trace_finish(t);
}

TEST(stacks_of_launches_cost_little)
{
    size_t bytes[2];
    for (int with = 0; with < 2; with++) {
        struct gp_trace t, back;
        struct gp_buf file = {0};
        eager_loop(&t, 100, with);
        write_trace(&t, NULL, &file, NULL);
        bytes[with] = file.n;
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        assert_same(&t, &back);
        gp_trace_release(&t);
        gp_trace_release(&back);
        gp_buf_release(&file);
    }
    printf("# bytes per launch: %.3f, with stacks %.3f\n", (double)bytes[0] / 30000,
           (double)bytes[1] / 30000);
    assert_true(bytes[1] * 100 <= bytes[0] * 115);
}

TEST(only_what_is_needed_is_read)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    random_trace(&t, 3, 200);
    write_trace(&t, NULL, &file, NULL);
    for (int table = 0; table < GP_TABLE_COUNT; table++) {
        uint32_t need = GP_NEED(table) | GP_NEED_IDS;
        assert_int_equal(read_trace_need(&back, file.data, file.n, 1, need, NULL), 0);
        for (int other = 0; other < GP_TABLE_COUNT; other++)
            assert_int_equal(back.events[other].n, other == table ? 200 : 0);
        const struct gp_events *e = &back.events[table];
        assert_null(e->extra); /* not asked for */
        for (size_t i = 0; i < e->n; i++)
            for (int col = 0; col < GP_COL_EXTRA; col++)
                assert_int_equal(cell(e, col, i), cell(&t.events[table], col, i));
        assert_int_equal(back.input.events, 200 * GP_TABLE_COUNT);
        gp_trace_release(&back);
        need = GP_NEED(table) | GP_NEED_EXTRA_WORK;
        assert_int_equal(read_trace_need(&back, file.data, file.n, 1, need, NULL), 0);
        assert_int_equal(back.events[table].extra != NULL, table == GP_GPU || table == GP_MEMORY);
        assert_null(back.events[table].recfn);
        assert_int_equal(back.events[table].addr != NULL, table == GP_PC);
        assert_non_null(back.events[table].seq);
        gp_trace_release(&back);
    }
    gp_trace_release(&t);
    gp_buf_release(&file);
}

/* ---- blocks ---- */

/* Offsets of the blocks in a file, and its length; returns how many. */
static size_t list_blocks(const struct gp_buf *file, size_t *at, struct gp_gpt_block_header *h, size_t most)
{
    size_t n = 0, pos = GP_GPT_HEADER_SIZE;
    for (; pos < file->n && n < most; n++) {
        assert_true(gp_gpt_get_header((const uint8_t *)file->data + pos, &h[n]));
        assert_true(gp_gpt_block_ok((const uint8_t *)file->data + pos, &h[n]));
        at[n] = pos;
        pos += GP_GPT_BLOCK_HEADER_SIZE + h[n].payload_len;
    }
    at[n] = pos;
    assert_int_equal(pos, file->n);
    return n;
}

enum { BLOCKS = 200 };

/* A file of a few blocks of each kind. */
static size_t small_file(struct gp_trace *t, struct gp_buf *file, size_t *at, struct gp_gpt_block_header *h)
{
    launch_trace(t, 40);
    size_t row = gp_events_add(&t->events[GP_OP], 5, 6, 0, 7);
    gp_set_ext(&t->events[GP_OP], row, 3);
    write_trace(t, &(struct gp_gpt_write_opts){.rows_per_block = 16}, file, NULL);
    return list_blocks(file, at, h, BLOCKS);
}

static size_t events_of(const struct gp_gpt_block_header *h)
{
    return h->kind == 16 ? 2 * h->nrec : h->kind >= 32 && h->kind < 63 ? h->nrec : 0;
}

static size_t count_events(const struct gp_trace *t)
{
    size_t n = 0;
    for (int i = 0; i < GP_TABLE_COUNT; i++) n += t->events[i].n;
    return n;
}

/* A call with id 7 in an operator with External id 33, a GPU event with the ids CORR and 33, and the arrow
 * between call and GPU event. */
static void write_arrow(struct gp_buf *file, uint64_t corr)
{
    struct gp_trace t;
    gp_trace_init(&t, GP_NEED_ALL);
    struct gp_process p = gp_process_unknown();
    struct gp_track thread = gp_track_unknown(), stream = gp_track_unknown();
    thread.process = stream.process = gp_trace_process(&t, &p);
    thread.kind = GP_TRACK_THREAD;
    stream.kind = GP_TRACK_STREAM;
    uint32_t from = gp_trace_track(&t, &thread), to = gp_trace_track(&t, &stream);
    gp_set_corr(&t.events[GP_API], gp_events_add(&t.events[GP_API], 100, 10, from, 0), 7);
    gp_set_ext(&t.events[GP_OP], gp_events_add(&t.events[GP_OP], 90, 30, from, 0), 33);
    struct gp_config c;
    memset(&c, 0, sizeof c);
    size_t row = gp_events_add(&t.events[GP_GPU], 200, 10, to, 0);
    gp_set_config(&t.events[GP_GPU], row, gp_trace_config(&t, &c));
    gp_set_corr(&t.events[GP_GPU], row, corr);
    gp_set_ext(&t.events[GP_GPU], row, 33);
    for (int end = 0; end < 2; end++) {
        struct gp_events *flow = &t.events[GP_FLOW];
        row = gp_events_add(flow, end ? 200 : 105, 0, end ? to : from, 0);
        gp_set_phase(flow, row, end ? 'f' : 's');
        gp_set_id(flow, row, 55);
    }
    write_trace(&t, NULL, file, NULL);
    gp_trace_release(&t);
}

TEST(links_are_read_where_ids_do_not_tell)
{
    static const uint64_t corr[] = {7, 8, 0, GP_NO_ID};
    for (int i = 0; i < 4; i++) {
        struct gp_buf file = {0};
        struct gp_trace t;
        write_arrow(&file, corr[i]);
        uint32_t need = (GP_NEED_ALL & ~GP_NEED_IDS) | GP_NEED_FEW_ARROWS;
        assert_int_equal(read_trace_need(&t, file.data, file.n, 1, need, NULL), 0);
        const struct gp_events *flow = &t.events[GP_FLOW];
        assert_int_equal(gp_trace_knows_calls(&t), i == 0);
        assert_int_equal(flow->n, i ? 2 : 0);
        assert_int_equal(t.events[GP_OP].n, 1);
        assert_int_equal(t.events[GP_GPU].n, 1);
        assert_true(gp_get_ext(&t.events[GP_OP], 0) == (i ? 33 : GP_NO_ID));
        assert_true(gp_get_ext(&t.events[GP_GPU], 0) == (i ? 33 : GP_NO_ID));
        if (i) {
            assert_int_equal(flow->start_ns[0], 105);
            assert_int_equal(gp_get_phase(flow, 0), 's');
            assert_int_equal(gp_get_phase(flow, 1), 'f');
            assert_int_equal(gp_get_id(flow, 1), 55);
            assert_int_equal(t.tracks.at[flow->track[1]].kind, GP_TRACK_STREAM);
        }
        gp_trace_release(&t);
        gp_buf_release(&file);
    }
}

TEST(a_cut_file_gives_what_is_before_the_cut)
{
    struct gp_trace t;
    struct gp_buf file = {0};
    struct gp_gpt_block_header h[BLOCKS];
    size_t at[BLOCKS + 1], n = small_file(&t, &file, at, h);
    for (size_t cut = 8; cut < file.n; cut++) {
        struct gp_trace back;
        char *copy = malloc(cut); /* of its own, so that a sanitizer sees its end */
        memcpy(copy, file.data, cut);
        size_t whole = 0, want = 0;
        for (; whole < n && at[whole + 1] <= cut; whole++) want += events_of(&h[whole]);
        assert_int_equal(read_trace(&back, copy, cut), 0);
        assert_int_equal(count_events(&back), want);
        assert_int_equal(back.issues[GP_Q_TRUNCATED].count, 1);
        size_t end = cut < GP_GPT_HEADER_SIZE ? cut : at[whole];
        assert_int_equal(back.issues[GP_Q_TRUNCATED].first_offset, end);
        assert_int_equal(back.issues[GP_Q_BAD_BLOCK].count, 0);
        assert_int_equal(gp_trace_check(&back, NULL), 0);
        gp_trace_release(&back);
        free(copy);
    }
    gp_trace_release(&t);
    gp_buf_release(&file);
}

/* Every GPU event of BACK has the name that it has in T, or says that the name is lost. */
static void assert_no_wrong_names(const struct gp_trace *t, const struct gp_trace *back)
{
    const struct gp_events *a = &t->events[GP_GPU], *b = &back->events[GP_GPU];
    for (size_t i = 0, j = 0; i < b->n; i++) {
        while (j < a->n && a->start_ns[j] < b->start_ns[i]) j++;
        assert_int_equal(a->start_ns[j], b->start_ns[i]);
        const char *name = gp_trace_str(back, b->name[i]);
        if (strncmp(name, "[lost ", 6)) assert_string_equal(name, gp_trace_str(t, a->name[j]));
        assert_int_equal(a->dur_ns[j], b->dur_ns[i]);
        assert_int_equal(a->corr[j], b->corr[i]);
    }
}

TEST(a_flipped_bit_loses_one_block)
{
    struct gp_trace t;
    struct gp_buf file = {0};
    struct gp_gpt_block_header h[BLOCKS];
    size_t at[BLOCKS + 1], n = small_file(&t, &file, at, h), block = 0, all = count_events(&t);
    for (size_t i = GP_GPT_HEADER_SIZE; i < file.n; i++) {
        struct gp_trace back;
        while (at[block + 1] <= i) block++;
        file.data[i] ^= (char)(1 << i % 8);
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        file.data[i] ^= (char)(1 << i % 8);
        assert_int_equal(count_events(&back), all - events_of(&h[block]));
        /* if its length is wrong, the last block cannot be distinguished from one that was cut */
        const struct gp_issue *q = &back.issues[GP_Q_BAD_BLOCK];
        if (block == n - 1 && !q->count) q = &back.issues[GP_Q_TRUNCATED];
        assert_int_equal(q->count, 1);
        assert_int_equal(q->first_offset, at[block]);
        assert_int_equal(back.issues[GP_Q_MISSING_BLOCK].count, 0);
        assert_no_wrong_names(&t, &back);
        assert_int_equal(gp_trace_check(&back, NULL), 0);
        gp_trace_release(&back);
    }
    gp_trace_release(&t);
    gp_buf_release(&file);
}

TEST(a_block_that_is_not_there_is_missed)
{
    struct gp_trace t, back;
    struct gp_buf file = {0}, less = {0};
    struct gp_gpt_block_header h[BLOCKS];
    size_t at[BLOCKS + 1], n = small_file(&t, &file, at, h), all = count_events(&t);
    for (size_t i = 0; i + 1 < n; i++) {
        less.n = 0;
        gp_buf_put(&less, file.data, at[i]);
        gp_buf_put(&less, file.data + at[i + 1], file.n - at[i + 1]);
        assert_int_equal(read_trace(&back, less.data, less.n), 0);
        assert_int_equal(back.issues[GP_Q_MISSING_BLOCK].count, 1);
        assert_int_equal(back.issues[GP_Q_MISSING_BLOCK].first_offset, at[i]);
        assert_int_equal(back.issues[GP_Q_BAD_BLOCK].count, 0);
        assert_int_equal(count_events(&back), all - events_of(&h[i]));
        assert_no_wrong_names(&t, &back);
        gp_trace_release(&back);
    }
    gp_trace_release(&t);
    gp_buf_release(&file);
    gp_buf_release(&less);
}

/* A block of KIND with the payload "column 99, predictor 0, 3 bytes" at the end of FILE. */
static void put_strange_block(struct gp_buf *file, uint16_t kind, uint8_t flags, uint32_t seq)
{
    uint8_t block[GP_GPT_BLOCK_HEADER_SIZE + 6] = {0};
    memcpy(block + GP_GPT_BLOCK_HEADER_SIZE, "\x63\0\3abc", 6);
    struct gp_gpt_block_header h = {
        .payload_len = 6, .raw_len = 6, .kind = kind, .flags = flags, .nrec = 2, .seq = seq};
    gp_gpt_put_header(block, &h);
    gp_buf_put(file, block, sizeof block);
}

TEST(strangers_are_skipped_unless_critical)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    struct gp_gpt_block_header h[BLOCKS];
    struct gp_err err = {0};
    size_t at[BLOCKS + 1], n = small_file(&t, &file, at, h);
    file.n = at[n - 1]; /* without END */
    put_strange_block(&file, 99, 0, (uint32_t)n - 1);
    put_strange_block(&file, 5, 0, (uint32_t)n); /* a known kind with a column from the future */
    put_strange_block(&file, 63, 0, (uint32_t)n + 1);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(issues_of(&back), 0);
    assert_int_equal(count_events(&back), count_events(&t));
    gp_trace_release(&back);
    size_t critical = file.n;
    put_strange_block(&file, 99, GP_GPT_CRITICAL, (uint32_t)n + 2);
    assert_int_equal(read_trace_need(&back, file.data, file.n, 1, GP_NEED_ALL, &err), -1);
    assert_int_equal(err.code, GP_E_FORMAT);
    assert_int_equal(err.offset, critical);
    gp_trace_release(&t);
    gp_buf_release(&file);
}

TEST(a_newer_major_version_is_refused)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    struct gp_err err = {0};
    launch_trace(&t, 1);
    write_trace(&t, NULL, &file, NULL);
    file.data[9] = 77; /* the minor version does not matter */
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(issues_of(&back), 0);
    gp_trace_release(&back);
    file.data[8] = 2;
    assert_int_equal(read_trace_need(&back, file.data, file.n, 1, GP_NEED_ALL, &err), -1);
    assert_int_equal(err.offset, 8);
    gp_trace_release(&t);
    gp_buf_release(&file);
}

/* Rows out of nothing: a block whose columns are constant may not claim more rows than its bytes allow. */
TEST(rows_are_bound_by_bytes)
{
    struct gp_trace back;
    struct gp_buf file = {0};
    uint8_t header[GP_GPT_HEADER_SIZE], block[GP_GPT_BLOCK_HEADER_SIZE + 6] = {0};
    static const uint32_t rows[] = {2 * 6 + 16, 2 * 6 + 17, 1 << 16, UINT32_MAX};
    for (int i = 0; i < 4; i++) {
        file.n = 0;
        gp_gpt_file_header(header);
        gp_buf_put(&file, header, sizeof header);
        memcpy(block + GP_GPT_BLOCK_HEADER_SIZE, "\1\0\3\1\xac\2", 6);
        struct gp_gpt_block_header h = {.payload_len = 6, .raw_len = 6, .kind = 34, .nrec = rows[i]};
        gp_gpt_put_header(block, &h);
        gp_buf_put(&file, block, sizeof block);
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        assert_int_equal(count_events(&back), i ? 0 : 28);
        assert_int_equal(back.issues[GP_Q_BAD_BLOCK].count, i ? 1 : 0);
        if (!i) assert_int_equal(back.events[GP_OP].start_ns[27], 300);
        gp_trace_release(&back);
    }
    gp_buf_release(&file);
}

/* A trace whose rows cost next to nothing is written so that readers accept it. */
TEST(regular_traces_are_padded)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    gp_trace_init(&t, GP_NEED_ALL);
    add_tracks(&t);
    for (int i = 0; i < 10000; i++) gp_events_add(&t.events[GP_MARK], i * 100, 0, 0, 0);
    gp_trace_finish(&t);
    for (int codec = GP_GPT_PLAIN; codec <= GP_GPT_ZLIB; codec++) {
        file.n = 0;
        write_trace(&t, &(struct gp_gpt_write_opts){.codec = (enum gp_gpt_codec)codec}, &file, NULL);
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        assert_int_equal(issues_of(&back), 0);
        assert_int_equal(back.events[GP_MARK].n, 10000);
        gp_trace_release(&back);
    }
    gp_trace_release(&t);
    gp_buf_release(&file);
}

/* Numbers that a later version, or somebody, has written: bounded where they are decoded, counted, and
 * located. */
TEST(kinds_that_nobody_knows_are_kernels)
{
    static const uint32_t kinds[] = {3, 4, 1000, UINT32_MAX};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct gp_trace t, back;
        struct gp_buf file = {0};
        launch_trace(&t, 30);
        t.configs.at[1].kind = kinds[i];
        write_trace(&t, &(struct gp_gpt_write_opts){0}, &file, NULL);
        assert_int_equal(read_trace(&back, file.data, file.n), 0);
        for (size_t c = 0; c < back.configs.n; c++) assert_true(back.configs.at[c].kind <= GP_MEMSET);
        assert_int_equal(back.issues[GP_Q_BAD_VALUE].count, 1);
        assert_true(back.issues[GP_Q_BAD_VALUE].first_offset > 0);
        gp_trace_release(&back);
        gp_trace_release(&t);
        gp_buf_release(&file);
    }
}

/* No process at all is what a loss may have, a track not. */
TEST(a_track_of_no_process_has_a_lost_one)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    struct gp_err err = {0};
    launch_trace(&t, 30);
    t.tracks.at[1].process = UINT32_MAX;
    write_trace(&t, &(struct gp_gpt_write_opts){0}, &file, NULL);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(gp_trace_check(&back, &err), 0);
    assert_int_equal(back.tracks.n, t.tracks.n);
    const struct gp_process *p = &back.processes.at[back.tracks.at[1].process];
    assert_string_equal(gp_trace_str(&back, p->name), "[lost process 4294967295]");
    gp_trace_release(&back);
    gp_trace_release(&t);
    gp_buf_release(&file);
}

TEST(times_out_of_range_are_located)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    gp_trace_init(&t, GP_NEED_ALL);
    add_tracks(&t);
    gp_events_add(&t.events[GP_MARK], INT64_MIN, 5, 0, 0);
    gp_events_add(&t.events[GP_MARK], 100, INT64_MAX, 0, 0);
    gp_events_add(&t.events[GP_MARK], 200, 7, 0, 0);
    gp_events_add(&t.events[GP_MARK], INT64_MAX, INT64_MAX, 0, 0);
    write_trace(&t, &(struct gp_gpt_write_opts){0}, &file, NULL);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(back.events[GP_MARK].n, 2);
    assert_int_equal(back.events[GP_MARK].dur_ns[0], 0);
    assert_int_equal(back.events[GP_MARK].dur_ns[1], 7);
    assert_int_equal(back.issues[GP_Q_BAD_TIME].count, 2);
    assert_int_equal(back.issues[GP_Q_BAD_DURATION].count, 1);
    assert_true(back.issues[GP_Q_BAD_TIME].first_offset > 0);
    assert_int_equal(back.issues[GP_Q_BAD_DURATION].first_offset, back.issues[GP_Q_BAD_TIME].first_offset);
    gp_trace_release(&back);
    gp_trace_release(&t);
    gp_buf_release(&file);
}

TEST(several_producers_make_one_trace)
{
    struct gp_trace a, b, back;
    struct gp_buf file = {0};
    launch_trace(&a, 30);
    gp_trace_init(&b, GP_NEED_ALL);
    gp_trace_intern(&b, "other name", 10); /* sid 1, which in A is another one */
    add_tracks(&b);
    size_t row = gp_events_add(&b.events[GP_API], 77, 5, 0, 1);
    gp_set_corr(&b.events[GP_API], row, 1);
    struct gp_gpt_writer *wa = gp_gpt_writer_new(&(struct gp_gpt_write_opts){.producer = 1}, to_buf, &file);
    struct gp_gpt_writer *wb = gp_gpt_writer_new(&(struct gp_gpt_write_opts){.producer = 2}, to_buf, &file);
    assert_int_equal(gp_gpt_begin(wa), 0);
    assert_int_equal(gp_gpt_flush(wa, &a), 0);
    gp_trace_clear_events(&a);
    assert_int_equal(gp_gpt_flush(wb, &b), 0);
    gp_trace_clear_events(&b);
    assert_int_equal(gp_gpt_end(wa, &a), 0);
    size_t before_end = file.n;
    assert_int_equal(gp_gpt_end(wb, &b), 0);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(issues_of(&back), 0);
    assert_int_equal(back.events[GP_API].n, 31);
    assert_string_equal(gp_trace_str(&back, back.events[GP_API].name[0]), "other name"); /* it starts first */
    const struct gp_track *k = &back.tracks.at[back.events[GP_API].track[0]];
    assert_int_equal(back.processes.at[k->process].producer, 2);
    k = &back.tracks.at[back.events[GP_API].track[1]];
    assert_int_equal(back.processes.at[k->process].producer, 1);
    assert_int_equal(back.tracks.n, 24);
    gp_trace_release(&back);
    /* one of them was killed: it has events and no END */
    assert_int_equal(read_trace(&back, file.data, before_end), 0);
    assert_int_equal(back.issues[GP_Q_TRUNCATED].count, 1);
    gp_trace_release(&back);
    gp_gpt_writer_free(wa);
    gp_gpt_writer_free(wb);
    gp_trace_release(&a);
    gp_trace_release(&b);
    gp_buf_release(&file);
}

TEST(patched_blocks_stay_whole)
{
    struct gp_trace t;
    struct gp_buf file = {0};
    struct gp_gpt_block_header h[BLOCKS], now;
    size_t at[BLOCKS + 1];
    small_file(&t, &file, at, h);
    uint8_t *block = (uint8_t *)file.data + at[0];
    gp_gpt_patch(block, 7, 1234567890);
    assert_true(gp_gpt_get_header(block, &now));
    assert_true(gp_gpt_block_ok(block, &now));
    assert_int_equal(now.producer, 7);
    assert_int_equal(now.seq, 1234567890);
    assert_int_equal(now.payload_len, h[0].payload_len);
    gp_trace_release(&t);
    gp_buf_release(&file);
}

static int stop_after(void *ctx, const void *data, size_t n)
{
    (void)data;
    (void)n;
    return --*(int *)ctx < 0 ? -1 : 0;
}

TEST(a_sink_that_stops_ends_the_writing)
{
    struct gp_trace t;
    launch_trace(&t, 100);
    for (int left = 0; left < 8; left++) {
        int budget = left;
        struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, stop_after, &budget);
        int failed = gp_gpt_begin(w);
        assert_int_equal(failed, left ? 0 : -1);
        assert_int_equal(gp_gpt_end(w, &t), -1);
        assert_int_equal(gp_gpt_flush(w, &t), -1);
        assert_int_equal(budget, -1); /* not asked again */
        gp_gpt_writer_free(w);
    }
    gp_trace_release(&t);
}

TEST(damage_of_the_source_is_handed_on)
{
    struct gp_trace t, back;
    struct gp_buf file = {0};
    launch_trace(&t, 3);
    gp_trace_issue(&t, GP_Q_BAD_TIME, 5, 1234);
    gp_trace_issue(&t, GP_Q_NO_CORRELATION, 2, -1); /* what a reader finds for itself is not written */
    write_trace(&t, NULL, &file, NULL);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(back.issues[GP_Q_BAD_TIME].count, 5);
    assert_int_equal(back.issues[GP_Q_BAD_TIME].first_offset, -1); /* it was in another file */
    assert_int_equal(back.issues[GP_Q_NO_CORRELATION].count, 0);
    gp_trace_release(&t);
    gp_trace_release(&back);
    gp_buf_release(&file);
}

/* ---- stacks ---- */

/* The frames of a stack, outermost first: "name (file:line)", "*" before those of native code. */
static const char *frames_of(const struct gp_trace *t, uint32_t stack, struct gp_buf *to)
{
    uint32_t path[400];
    size_t n = 0;
    to->n = 0;
    for (; stack && n < GP_COUNT(path); stack = t->stacks.at[stack].parent) path[n++] = stack;
    while (n) {
        const struct gp_stack *s = &t->stacks.at[path[--n]];
        gp_buf_printf(to, "%s%s%s", to->n ? "; " : "", s->symbol ? "*" : "", gp_trace_str(t, s->name));
        if (s->file) gp_buf_printf(to, " (%s:%u)", gp_trace_str(t, s->file), (unsigned)s->line);
    }
    return gp_buf_str(to);
}

static gp_sid name_in(struct gp_trace *t, const char *s) { return gp_trace_intern(t, s, strlen(s)); }

/* As the collector does it: the names come last, and replace what is written already. */
TEST(native_frames_are_named_when_the_run_has_ended)
{
    struct gp_trace t, back, copy;
    struct gp_buf file = {0}, again = {0}, text = {0};
    launch_trace(&t, 5);
    const gp_sid lib = name_in(&t, "/opt/lib/libx.so"), cc = name_in(&t, "x.cc");
    GP_VEC_PUSH(&t.symbols, (struct gp_symbol){0});
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){.module = lib, .offset = 0x1234}));
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){.module = lib, .offset = 0x20}));
    GP_VEC_PUSH(&t.symbols, (struct gp_symbol){0});
    const uint32_t symbol[] = {0, 0, 1, 2, 3, 77};
    for (uint32_t i = 0; i < 6; i++)
        GP_VEC_PUSH(&t.stacks, ((struct gp_stack){.parent = i > 1 ? i - 1 : 0,
                                                  .name = i == 1 ? name_in(&t, "main") : 0,
                                                  .file = i == 1 ? name_in(&t, "m.py") : 0,
                                                  .line = i == 1 ? 4 : 0,
                                                  .symbol = symbol[i]}));
    for (size_t i = 0; i < 5; i++) gp_set_stack(&t.events[GP_API], i, (uint32_t)i + 1);
    struct gp_gpt_writer *w = gp_gpt_writer_new(NULL, to_buf, &file);
    assert_true(!gp_gpt_begin(w) && !gp_gpt_flush(w, &t));
    gp_trace_clear_events(&t);
    t.symbols.at[2] = (struct gp_symbol){lib, 0x20, name_in(&t, "inner"), cc, 7, 4};
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){lib, 0x20, name_in(&t, "middle"), cc, 70, 5}));
    GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){lib, 0x20, name_in(&t, "outer"), cc, 700, 0}));
    assert_int_equal(gp_gpt_end(w, &t), 0);
    gp_gpt_writer_free(w);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(gp_trace_check(&back, NULL), 0);
    assert_int_equal(issues_of(&back), 0);
    const uint32_t *stack = back.events[GP_API].stack;
    static const char whole[] =
        "main (m.py:4); *libx.so+0x1234; *outer (x.cc:700); *middle (x.cc:70); *inner (x.cc:7); "
        "*[unknown code]; *[unknown code]";
    static const char *const ends[] = {"; *libx", "; *outer", "; *[", NULL};
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(frames_of(&back, stack[i], &text), whole, strstr(whole, ends[i]) - whole);
    assert_string_equal(frames_of(&back, stack[4], &text), whole);
    write_trace(&back, NULL, &again, NULL); /* nothing is resolved twice */
    assert_int_equal(read_trace(&copy, again.data, again.n), 0);
    assert_same(&back, &copy);
    gp_trace_release(&t);
    gp_trace_release(&back);
    gp_trace_release(&copy);
    gp_buf_release(&file);
    gp_buf_release(&again);
    gp_buf_release(&text);
}

TEST(functions_inlined_into_each_other_end)
{
    struct gp_trace t, back;
    struct gp_buf file = {0}, text = {0};
    launch_trace(&t, 2);
    GP_VEC_PUSH(&t.symbols, (struct gp_symbol){0});
    for (uint32_t i = 1; i < 5000; i++) /* one circle of all */
        GP_VEC_PUSH(&t.symbols, ((struct gp_symbol){.name = 5, .caller = i % 4999 + 1}));
    GP_VEC_PUSH(&t.stacks, (struct gp_stack){0});
    for (uint32_t i = 1; i < 60000; i++)
        GP_VEC_PUSH(&t.stacks, ((struct gp_stack){.parent = i > 100 ? 0 : i - 1, .symbol = i % 4999 + 1}));
    gp_set_stack(&t.events[GP_API], 0, 1);
    write_trace(&t, NULL, &file, NULL);
    assert_int_equal(read_trace(&back, file.data, file.n), 0);
    assert_int_equal(gp_trace_check(&back, NULL), 0);
    size_t frames = 1;
    for (const char *s = frames_of(&back, back.events[GP_API].stack[0], &text); (s = strchr(s, ';')); s++)
        frames++;
    assert_int_equal(frames, 64);
    assert_true(back.stacks.n > 60000 && back.stacks.n < 400000);
    gp_trace_release(&t);
    gp_trace_release(&back);
    gp_buf_release(&file);
    gp_buf_release(&text);
}
