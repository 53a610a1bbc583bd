/* rocpd_priv.h -- private to rocpd_*.c: the tables of one suffix, and the meaning of their ids.
 *
 *     struct gp_rocpd r = {.t = trace, .db = db, .suffix = "_0000abcd"};
 *     gp_rocpd_load(&r);
 *     gp_sid name = gp_rocpd_string(&r, id);
 */
#ifndef GP_FORMATS_ROCPD_PRIV_H
#define GP_FORMATS_ROCPD_PRIV_H

#include "formats/base/buf.h"
#include "formats/base/map.h"
#include "formats/base/vec.h"
#include "formats/sqlite/sqlite_db.h"
#include "formats/model/trace.h"

/* Where an event happened; ids of the tables, -1 unknown. */
struct gp_rocpd_place {
    int64_t process, thread, agent, queue, stream;
};

struct gp_rocpd_thread {
    int64_t process, tid;
    gp_sid name;
};

struct gp_rocpd_agent {
    bool gpu;
    int64_t ordinal;
    gp_sid name;
};

struct gp_rocpd_kernel {
    gp_sid name;
    uint32_t registers, shared_bytes;
};

/* An event of rocprofv3, which joins a call and its work. */
struct gp_rocpd_event {
    int64_t stack, category;
};

struct gp_rocpd {
    struct gp_trace *t;
    struct gp_sqlite *db;
    const char *suffix; /* of the tables' names */
    struct gp_sqlite_texts texts;
    GP_VEC(struct gp_rocpd_thread) threads;
    GP_VEC(struct gp_rocpd_agent) agents;
    GP_VEC(struct gp_rocpd_kernel) kernels;
    GP_VEC(struct gp_rocpd_event) events;
    GP_VEC(struct gp_rocpd_place) places;
    GP_VEC(int64_t) times;
    /* ids -> indices of the above, sids of names, or processes of the trace */
    struct gp_map thread_at, agent_at, kernel_at, event_at, place_at, time_at, stream_names, categories,
        process_at;
    struct gp_buf name; /* of the table that is looked for */
};

/* ---- rocpd_ids.c ---- */

/* The name of table TABLE with the suffix; valid until the next call. */
const char *gp_rocpd_table(struct gp_rocpd *r, const char *table);
void gp_rocpd_load(struct gp_rocpd *r);
static inline gp_sid gp_rocpd_string(struct gp_rocpd *r, int64_t id)
{
    return gp_sqlite_texts_sid(&r->texts, r->t, id);
}
/* The event with that id; zeros if there is none. */
struct gp_rocpd_event gp_rocpd_event(const struct gp_rocpd *r, int64_t id);
uint32_t gp_rocpd_thread(struct gp_rocpd *r, const struct gp_rocpd_place *place);
uint32_t gp_rocpd_stream(struct gp_rocpd *r, const struct gp_rocpd_place *place);
/* The track of what is read of a GPU. */
uint32_t gp_rocpd_device(struct gp_rocpd *r, int64_t process, int64_t agent);
void gp_rocpd_release(struct gp_rocpd *r);

#endif
