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

/* ---- the state of the process, for its own calls ---- */

enum gp_inject_state { GP_INJECT_NONE, GP_INJECT_RUNS, GP_INJECT_OVER, GP_INJECT_FORKED };
enum gp_inject_state gp_inject_state(void);
/* As libcuda does, but quietly, and it may be tried again. 0 or an enum gpuprof_error; GPUPROF_E_LAUNCH:
 * nobody listens. LATE: CUDA is up. */
int gp_inject_attach(bool late);

/* ---- its devices ---- */

/* Call TELL for each device that the driver shows this process; for none if CUDA is not up. */
bool gp_inject_devices(void (*tell)(const struct gp_wire_device *device));

#endif
