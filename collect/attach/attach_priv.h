/* attach_priv.h -- shared by the parts of collect/attach: where the code of another process lies
 * (process_code.c), what its Python is asked for (ask_python.c), and what one of its threads is made to do
 * (detour.c, which depends on the processor). */
#ifndef GP_COLLECT_ATTACH_ATTACH_PRIV_H
#define GP_COLLECT_ATTACH_ATTACH_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/attach/reach.h"
#include "formats/base/vec.h"

struct gp_code_range {
    uint64_t begin, end;
};

/* Addresses there, 0 unknown. */
struct gp_process_code {
    uint64_t dlopen, dlsym, error_location, room; /* ROOM: bytes of code that nobody uses */
    GP_VEC(struct gp_code_range) critical;        /* the loader, allocators: nobody may be inside */
};

/* ROOM: so many bytes are wanted. False: something is missing. */
bool gp_process_code(struct gp_process_code *c, pid_t pid, size_t room);
bool gp_process_is_critical(const struct gp_process_code *c, uint64_t at);
/* A function of our own C library, whose file the process has mapped, too; 0: it has not. */
uint64_t gp_process_function(pid_t pid, const char *function);
/* How many bytes could be read. */
size_t gp_process_read(pid_t pid, uint64_t at, void *to, size_t n);
/* False: not all of it could be written. */
bool gp_process_write(pid_t pid, uint64_t at, const void *from, size_t n);

/* PATH: of the file that it is to run, "" none; AT: where it is asked. */
struct gp_asked_python {
    pid_t pid;
    uint64_t at;
    char path[128];
};

/* How a thread waits. */
struct gp_waiting {
    long call;
    uint64_t args[6], sp, pc;
};

/* Does its Python run files when it is asked to? */
bool gp_may_ask_python(pid_t pid);
/* Ask its Python to load LIBRARY; false: it has none that can be asked. gp_unask_python() follows anyway. */
bool gp_ask_python(struct gp_asked_python *asked, const struct gp_reach *r, const char *library);
void gp_unask_python(const struct gp_asked_python *asked);

enum { GP_DETOUR_FRAME = 16 << 10 };

/* Bytes of the instructions; 0: this kind of processor is not known. */
size_t gp_detour_room(void);
/* Thread TID, which is stopped by us, goes, if it still waits like that. */
bool gp_detour_start(pid_t tid, const struct gp_waiting *w, const struct gp_process_code *c,
                     const char *library);
/* Do these 8 bytes end in a call? */
bool gp_detour_is_call(const uint8_t *before);
/* The call of the system that these 8 bytes make, -1 unknown. */
long gp_detour_call(const uint8_t *before);

#endif
