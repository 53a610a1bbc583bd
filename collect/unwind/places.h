/* places.h -- which module an address lies in, without waiting for anybody: glibc's _dl_find_object(), or an
 * own index of what was loaded at the last refresh. Whoever looks into a module that the index names checks
 * first that it is still there.
 *
 *     struct gp_unwind_place place;
 *     if (gp_places_find(&places, pc, &place) && gp_place_is_there(&places, &place))
 *         gp_place_segment(&place, place.hdr, &segment);
 */
#ifndef GP_COLLECT_PLACES_H
#define GP_COLLECT_PLACES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/unwind/unwind.h"

/* What the C library fills; its own declaration is missing where it is older. */
struct gp_dl_object {
    unsigned long long flags;
    void *map_start, *map_end, *link_map, *eh_frame;
    void *reserved[8];
};

struct gp_place_index;

struct gp_places {
    int (*dl_find)(void *pc, struct gp_dl_object *found); /* NULL: the index */
    /* Tests have their own, instead of both. */
    bool (*find)(void *ctx, uint64_t pc, struct gp_unwind_place *place);
    void *ctx;
    _Atomic uint32_t generation; /* how often something was unloaded */
    uint64_t adds, subs;
    struct gp_place_index *_Atomic index;
    struct gp_place_index *retired; /* which someone may still read */
    _Atomic uint32_t readers;
};

void gp_places_init(struct gp_places *p, bool own_index);
void gp_places_release(struct gp_places *p);
void gp_places_refresh(struct gp_places *p);

/* Around any number of calls that follow: an index stays until all who entered have left. */
void gp_places_enter(struct gp_places *p);
void gp_places_leave(struct gp_places *p);

/* False: no module, and PLACE has the tag 0. What PLACE had before saves time if it is that module. */
bool gp_places_find(struct gp_places *p, uint64_t pc, struct gp_unwind_place *place);
/* Whether PLACE, which was found before, would be found again. */
bool gp_places_are_same(struct gp_places *p, const struct gp_unwind_place *place);
bool gp_place_is_there(struct gp_places *p, const struct gp_unwind_place *place);
/* To be called between enter and leave; PATH has GP_UNWIND_PATH bytes. */
bool gp_place_path(struct gp_places *p, uint64_t pc, char *path);

/* What of a module lies around an address. */
struct gp_place_segment {
    uint64_t begin, end;
    bool code;
};

/* From the program headers; the whole module where there are none. False: nothing is mapped there. */
bool gp_place_segment(const struct gp_unwind_place *place, uint64_t at, struct gp_place_segment *s);

/* Whether the page of AT can be read, from the kernel. */
bool gp_page_is_there(uint64_t at);

#endif
