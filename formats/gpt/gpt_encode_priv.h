/* gpt_encode_priv.h -- payloads of the binary trace's blocks, one function per kind of block; private to the
 * writer. Appends to a buffer that begins with room for the block's header; does not know files, sinks or
 * sequence numbers.
 *
 *     struct gp_block_encoder *e = gp_block_encoder_new(4096);
 *     gp_block_put_events(e, &buf, trace, GP_OP, rows, 4096);
 *     gp_block_encoder_free(e);
 */
#ifndef GP_FORMATS_GPT_ENCODE_PRIV_H
#define GP_FORMATS_GPT_ENCODE_PRIV_H

#include "formats/base/declare.h"
#include "formats/gpt/gpt_codec.h"
#include "formats/gpt/gpt_columns.h"
#include "formats/gpt/gpt_write.h"
#include "formats/model/trace.h"

struct gp_block_encoder;

/* For blocks of up to MAX_ROWS events. Never NULL. */
struct gp_block_encoder *gp_block_encoder_new(uint32_t max_rows);
void gp_block_encoder_free(struct gp_block_encoder *e);

/* The base of a block of TABLE whose first row starts then. Readers of version 1.2 take the base of a kind
 * that they do not know for the number of an entry, and one that is large for damage. */
static inline uint64_t gp_block_base(enum gp_table table, int64_t start_ns)
{
    return table == GP_PC ? 0 : (uint64_t)start_ns;
}

/* The events ROWS[0..n) of a table, which begin with the block's base time. */
void gp_block_put_events(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t,
                         enum gp_table table, const uint32_t *rows, uint32_t n);
/* GPU events GPU[i] with the call API[i] that launched it. */
void gp_block_put_launches(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_trace *t,
                           const uint32_t *gpu, const uint32_t *api, uint32_t n);
/* N structs of a dictionary kind at AT. */
void gp_block_put_dict(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_gpt_dict *d,
                       const void *at, size_t n);
void gp_block_put_strings(struct gp_block_encoder *e, struct gp_buf *b, const struct gp_strings *s,
                          uint32_t first, uint32_t n);
void gp_block_put_info(struct gp_buf *b, const struct gp_trace *t);
/* These return the number of rows of the block. */
uint32_t gp_block_put_schema(struct gp_buf *b);
uint32_t gp_block_put_issues(struct gp_buf *b, const struct gp_trace *t);
uint32_t gp_block_put_totals(struct gp_buf *b, const uint64_t rows[GP_GPT_TABLE_COUNT]);

/* The block in FROM, compressed into TO if that makes it smaller but still long enough for its NREC rows.
 * Returns the one to write; the header is not filled. */
struct gp_buf *gp_block_compress(struct gp_buf *from, struct gp_buf *to, enum gp_gpt_codec codec,
                                 uint32_t nrec);

/* ---- pairs ----
 * Which GPU event is written to the binary trace together with which API call; private to
 * the writer. Knows rows and correlation ids, but not bytes.
 *
 *     struct gp_pairs p = {0};
 *     gp_pairs_find(&p, &t->events[GP_GPU], &t->events[GP_API]);
 *     ... p.gpu[i] was launched by p.api[i] ...
 *     gp_pairs_release(&p);
 */

/* All rows of both tables, each sorted by (start, longer first, row). Zeroed is empty; memory is kept between
 * calls. */
struct gp_pairs {
    uint32_t *gpu, *api; /* pairs, in the order of the GPU events */
    size_t n;
    uint32_t *lone_gpu, *lone_api; /* the rows that are not in a pair */
    size_t nlone_gpu, nlone_api;
    uint32_t *memory;
    size_t cap;
};

/* The first GPU event of a correlation id is paired with the call of that id. Events with equal start and
 * duration stay single if pairing would change their order, so that a reader restores the order of the
 * table. */
void gp_pairs_find(struct gp_pairs *p, const struct gp_events *gpu, const struct gp_events *api);
void gp_pairs_release(struct gp_pairs *p);

#endif
