/* Two libraries that differ in the size of a frame only, so that one can take the other's place. */
#include "tests/unit/collect/unwind/shapes.h"

int reload_call(struct path *p, int n);
int reload_call(struct path *p, int n)
{
    volatile char room[FRAME];
    room[n % FRAME] = 1;
    p->next(p);
    return room[n % FRAME];
}
