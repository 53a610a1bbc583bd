/* inject.h -- shared by all parts of the injected library: messages (inject_say.c), the state of the process
 * (inject.c), its devices (inject_device.c). Unlike all other code, these parts run inside another program:
 * they have state, read the environment, and print only errors, or, with GPUPROF_DEBUG, their steps.
 */
#ifndef GP_COLLECT_INJECT_INJECT_H
#define GP_COLLECT_INJECT_INJECT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#define GPUPROF_TYPES_ONLY
#include "collect/gpuprof.h"
#include "collect/wire/wire.h"
#include "formats/base/clock.h"
#include "formats/base/declare.h"

#define GP_EXPORT __attribute__((visibility("default")))

/* ---- messages ---- */

/* "gpuprof-collect: pid N: MESSAGE" on standard error. gp_debug() only with GPUPROF_DEBUG. */
void gp_say(const char *fmt, ...) GP_PRINTF(1, 2);
void gp_debug(const char *fmt, ...) GP_PRINTF(1, 2);
/* Print nothing from now on, or print again: somebody asks for reasons instead. */
void gp_say_quiet(bool quiet);
/* What this thread says from now on replaces the text at TO; NULL: it is printed again. */
void gp_say_to(char *to, size_t size);
/* That text; NULL: this thread prints. */
const char *gp_say_caught(void);

/* ---- the state of the process, for its own calls ---- */

enum gp_inject_state { GP_INJECT_NONE, GP_INJECT_RUNS, GP_INJECT_OVER, GP_INJECT_FORKED };
enum gp_inject_state gp_inject_state(void);
/* As libcuda does, but quietly, and it may be tried again. 0 or an enum gpuprof_error; GPUPROF_E_LAUNCH:
 * nobody listens. LATE: CUDA is up. */
int gp_inject_attach(bool late);
/* A launcher has come while this process slept: record for it until it leaves, then sleep again; or let it
 * know why not. False with WHY filled: this process does not sleep, and FD is left alone. */
bool gp_inject_record_for(int fd, char *why, size_t size);
/* A thread of ours, which no signal interrupts and nobody waits for. False after a message. */
bool gp_inject_thread(void *(*run)(void *));
/* Can CUDA be used already? */
bool gp_inject_cuda_is_up(void);

/* ---- asleep ----
 * The library in a program that nobody records: a socket that only its user can reach, and one thread that
 * waits there for a launcher (gpuprof-collect --pid). Until one comes it makes no system call, and CUPTI is
 * not in the process. */

/* Does the environment ask for it, and no file forbid it? */
bool gp_dormant_wanted(void);
/* False if there can be no socket, or a file forbids it. RECORD: as gp_inject_record_for(). Any thread; more
 * than once is harmless. */
typedef bool gp_dormant_record(int fd, char *why, size_t size);
bool gp_dormant_start(gp_dormant_record *record);
/* Does this process sleep when it is not recorded? */
bool gp_dormant_is_on(void);
/* In a fork child: the socket is the parent's. */
void gp_dormant_forked(void);

/* ---- its devices ---- */

/* Call TELL for each device that the driver shows this process; for none if CUDA is not up. */
bool gp_inject_devices(void (*tell)(const struct gp_wire_device *device));

#endif
