/* wire.h -- the protocol between a traced process and the launcher over a Unix stream socket: frames of a
 * small head and a payload, in the byte order of the machine. The process sends HELLO and receives WELCOME
 * (its producer number and the options) with the shared memory (shared.h). At each flush (TICK) it reports
 * which of its slots it has FILLED, sends everything that is not in them, and ends the flush with WRITE; BYE
 * means that it ended in order. The launcher may send RECORD at any time; if it closes its end, tracing
 * stops. CUT begins and ends a trace of a part of the process; the launcher answers its end with CUT_DONE.
 * A process that sleeps is connected to, and begins in the same way, or with SAY: why it does not.
 * Knows nothing about CUPTI.
 *
 *     int fd = gp_wire_connect(getenv(GP_ENV_SOCKET));
 *     gp_wire_send(fd, GP_WIRE_HELLO, &hello, sizeof hello);
 *     gp_wire_receive(fd, GP_WIRE_WELCOME, &welcome, sizeof welcome, 2000);
 */
#ifndef GP_COLLECT_WIRE_WIRE_H
#define GP_COLLECT_WIRE_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include "collect/wire/filter.h"
#include "collect/wire/capture_window.h"
#include "collect/counters/measured.h"
#include "collect/wire/pc_rows.h"
#include "formats/base/declare.h"

#define GP_ENV_SOCKET   "GPUPROF_SOCKET"   /* the address of the launcher; "@name" is abstract */
#define GP_ENV_DEBUG    "GPUPROF_DEBUG"    /* not empty and not 0: report on standard error what happens */
#define GP_ENV_INJECT   "GPUPROF_INJECT"   /* path of the injected library */
#define GP_ENV_LIBCUPTI "GPUPROF_LIBCUPTI" /* path of the libcupti to use */
#define GP_ENV_DORMANT  "GPUPROF_DORMANT"  /* 1: sleep until a launcher comes */
#define GP_ENV_LIBNVML  "GPUPROF_LIBNVML"  /* path of the libnvidia-ml to use */

enum { GP_WIRE_VERSION = 13, GP_WIRE_MAX = 1 << 20 /* bytes of a frame's payload */ };

/* What WELCOME may ask for, and how long a process waits in cuInit(): for room in the launcher's queue, and
 * for its answer. */
enum {
    GP_WIRE_BUFFER_LEAST = 64 << 10,
    GP_WIRE_BUFFER_MOST = 64 << 20,
    GP_WIRE_CONNECT_MS = 2000,
    GP_WIRE_WELCOME_MS = 8000
};
#define GP_WIRE_FLUSH_LEAST_NS INT64_C(1000000)
#define GP_WIRE_FLUSH_MOST_NS  INT64_C(60000000000)

enum { GP_SLEEP_PATH = 108 /* bytes, as in an address */ };

enum gp_wire_type {
    GP_WIRE_HELLO = 1,
    GP_WIRE_WELCOME,
    GP_WIRE_FACT,
    GP_WIRE_TICK,
    GP_WIRE_FILLED,
    GP_WIRE_WINDOW,
    GP_WIRE_NOTES,
    GP_WIRE_LOSS,
    GP_WIRE_WRITE,
    GP_WIRE_BYE,
    GP_WIRE_RECORD,
    GP_WIRE_GRAPHS,
    GP_WIRE_CUT,
    GP_WIRE_CUT_DONE,
    GP_WIRE_METRIC_SET, /* see collect/counters/measured.h */
    GP_WIRE_METRIC_ROWS,
    GP_WIRE_DEVICE,
    GP_WIRE_BUDGET,
    GP_WIRE_SAY,
    GP_WIRE_PC_ROWS /* see collect/wire/pc_rows.h */
};

/* Which API calls are recorded; each level includes those before it. */
enum gp_api_level { GP_API_LEVEL_NONE, GP_API_LEVEL_LAUNCH, GP_API_LEVEL_SYNC, GP_API_LEVEL_ALL };

/* How CUDA graphs are recorded: node by node, as wholes, or as wholes once there are too many nodes per
 * second. */
enum gp_graph_mode { GP_GRAPHS_AUTO, GP_GRAPHS_NODE, GP_GRAPHS_WHOLE };

/* Which stacks are recorded: none, those of samples, or that of each launch, NATIVE with native frames below
 * those of Python. */
enum gp_stacks_mode { GP_STACKS_NONE, GP_STACKS_SAMPLE, GP_STACKS_LAUNCH, GP_STACKS_NATIVE };

/* What --budget leaves out, in this order. */
enum gp_budget_part {
    GP_BUDGET_MEMORY = 1,  /* allocations */
    GP_BUDGET_EVENTS = 2,  /* waits, and records of events */
    GP_BUDGET_CALLS = 4,   /* API calls */
    GP_BUDGET_WINDOWS = 8, /* none of those, but everything between windows of time */
};
enum { GP_BUDGET_PARTS = 4 };

struct gp_wire_head {
    uint32_t type, len; /* LEN bytes of payload follow */
};

struct gp_wire_hello {
    uint32_t version;
    int32_t pid;
    int32_t rank;     /* from the environment, -1 unknown */
    uint32_t room_mb; /* addresses left for the shared memory, 0: no limit */
};

struct gp_wire_welcome {
    uint32_t version;
    uint32_t producer;     /* for the blocks of this process */
    uint32_t api;          /* enum gp_api_level */
    uint32_t buffer_bytes; /* size of one activity buffer */
    int64_t flush_ns;      /* how often to flush */
    uint32_t memory;       /* record allocations */
    uint32_t slots;        /* of the shared memory */
    uint32_t graphs;       /* enum gp_graph_mode */
    uint32_t alone;        /* the launcher runs no command: it serves processes that attach themselves */
    uint64_t graph_rate;   /* maximum nodes per second */
    uint32_t budget_ppm;   /* of the process's time that recording may cost, 0: no limit */
    uint32_t stacks;       /* enum gp_stacks_mode */
    uint32_t pace;         /* CUPTI may stay out of the process until recording begins */
    uint32_t reserved;
    struct gp_capture_opts capture;
    struct gp_measure_opts metrics;
    struct gp_pc_opts pc;
};

/* A fact about the whole process. */
struct gp_wire_fact {
    char key[32]; /* in the trace's metadata */
    int64_t value;
};

/* A device as the driver describes it, where CUPTI makes no record of it; unknown: 0. The units are those of
 * struct gp_device. */
struct gp_wire_device {
    char name[128];
    int64_t memory_bytes, memory_bandwidth_bps;
    int32_t id, cc_major, cc_minor, sms, warp_size, max_threads_per_sm, max_threads_per_block;
    int32_t regs_per_sm, regs_per_block, shared_per_sm, shared_per_block, l2_bytes, core_clock_khz;
    uint32_t reserved;
};

/* A flush begins. */
struct gp_wire_tick {
    int64_t now_ns;      /* CLOCK_MONOTONIC of the process, as in its records */
    int64_t realtime_ns; /* CLOCK_REALTIME at that moment, 0: not read */
};

/* A buffer now belongs to the launcher. */
struct gp_wire_filled {
    uint32_t slot, reserved;
};

/* A window of time in which the process is recorded. It is sent when it begins, with the end INT64_MAX, and
 * again when it ends; before the notes of ranges in it. */
struct gp_wire_window {
    uint64_t index;
    int64_t start_ns, end_ns;
};

/* NOTES is any number of these, each followed by N bytes: the note with its text and args as in a ring
 * (ring.h), the pointers in it zero, and then the domain, NUL-terminated, and padding to a multiple of 8. */
struct gp_wire_note {
    int64_t tid;
    uint32_t n, domain_at; /* DOMAIN_AT: where it is in those N bytes */
};

struct gp_wire_loss {
    uint64_t count;
    char what[32], why[48];
};

/* A flush ends: everything that was handed over can be written. */
struct gp_wire_write {
    int64_t cpu_ns; /* of the collector's thread in the process, until now */
};

/* From this time on, graphs are recorded as wholes, because there were too many nodes. */
struct gp_wire_graphs {
    int64_t at_ns;
};

/* What recording costs: sent when what is left out changes, and at the end. */
struct gp_wire_budget {
    int64_t at_ns;
    uint32_t left_out;  /* enum gp_budget_part, as bits */
    uint32_t share_ppm; /* of the process's time, before that */
    int64_t launch_ns;  /* per launch */
    uint32_t measured;  /* by its steps; otherwise LAUNCH_NS is an assumption */
    uint32_t stays_ppm; /* by how much these are longer while nothing is recorded than before CUPTI came */
};

/* What happens from START_NS on is also written to a trace at PATH, whose producer this is; sent again with
 * END_NS, after the WRITE of a flush, when that is complete. */
struct gp_wire_cut {
    uint64_t id;
    int64_t start_ns, end_ns; /* END_NS 0: it begins */
    char path[1024];          /* absolute */
};

/* From the launcher: the trace is there, unless WHY says why it is not. */
struct gp_wire_cut_done {
    uint64_t id;
    char why[200];
};

struct gp_wire_bye {
    int64_t end_ns; /* ranges that are still open end there */
};

/* From the launcher, at any time: record from now on, or stop recording. LEAVE: for good, hand over the rest,
 * say BYE, and sleep. */
struct gp_wire_record {
    uint32_t open, leave;
};

/* Why a process that was asked to be recorded is not. */
struct gp_wire_say {
    char text[400];
};

/* What a process has done since it connected. */
struct gp_wire_stats {
    uint64_t salvaged; /* records that it had not handed over when it ended */
    uint64_t kernels, copies, sets, calls, ranges, allocations;
    uint64_t dropped;    /* records that CUPTI or we had to drop */
    uint64_t stacks;     /* of calls, that could not be read */
    uint64_t bad_time;   /* GPU records without a usable time */
    uint64_t inversions; /* kernels that seem to start before their launch */
    int64_t worst_inversion_ns;
    int64_t cpu_ns; /* of the collector's own thread in it */
    /* of program counters: of the GPU, in rows, dropped, without rows, and how often the buffer was full */
    uint64_t pc_samples, pc_recorded, pc_dropped, pc_other, pc_full;
    /* --budget: when each part was first left out (CLOCK_MONOTONIC, 0: never), what is left out now, and the
     * latest costs */
    int64_t left_out_ns[GP_BUDGET_PARTS];
    int64_t launch_ns; /* per launch, 0: not measured */
    uint32_t left_out, share_ppm;
};

/* The numbers of a device that a struct gp_device has, too, and those of the stats that add up. */
// clang-format off
#define GP_WIRE_DEVICE_NUMBERS(X)                                                                            \
    X(id) X(cc_major) X(cc_minor) X(sms) X(warp_size) X(max_threads_per_sm) X(max_threads_per_block)         \
    X(regs_per_sm) X(regs_per_block) X(shared_per_sm) X(shared_per_block) X(memory_bytes) X(l2_bytes)        \
    X(core_clock_khz) X(memory_bandwidth_bps)
#define GP_WIRE_SUMS(X)                                                                                      \
    X(salvaged) X(kernels) X(copies) X(sets) X(calls) X(ranges) X(allocations) X(dropped) X(stacks)          \
    X(bad_time) X(inversions) X(cpu_ns) X(pc_samples) X(pc_recorded) X(pc_dropped) X(pc_other) X(pc_full)
// clang-format on

/* A listening socket, non-blocking and close-on-exec, at the abstract address NAME ("@..."). -1 with ERR
 * filled. */
int gp_wire_listen(const char *name, struct gp_err *err) GP_MUST_CHECK;
/* A connected socket, close-on-exec and with a high number; -1 with errno set. NAME may be NULL. */
int gp_wire_connect(const char *name) GP_MUST_CHECK;
/* FD with a high number, out of the way of programs that expect small ones or close the first few. */
int gp_wire_move_up(int fd);
/* Where processes of user UID sleep, in a folder of RUNTIME (their XDG_RUNTIME_DIR; NULL or "": of /tmp), and
 * below it FILE. False if that is too long. */
bool gp_wire_sleep_path(char to[GP_SLEEP_PATH], const char *runtime, uint32_t uid, const char *file);
/* Does the other end of FD run as our user or as root? Everybody sees abstract addresses, and who listens at
 * one may change. *UID is whose it is, UINT32_MAX unknown. */
bool gp_wire_peer_is_ours(int fd, uint32_t *uid);
/* Can our launcher have sent that? */
bool gp_wire_welcome_fits(const struct gp_wire_welcome *w);
/* Send one complete frame; blocks. -1 if the other side is gone. Never raises SIGPIPE. */
int gp_wire_send(int fd, enum gp_wire_type type, const void *data, size_t n) GP_MUST_CHECK;
/* The same with a descriptor, which stays open here. */
int gp_wire_send_fd(int fd, enum gp_wire_type type, const void *data, size_t n, int passed) GP_MUST_CHECK;
/* Is there anything to receive, or is the other side gone? Does not wait. */
bool gp_wire_readable(int fd);
/* The type of the next frame, within TIMEOUT_MS; 0 if none arrives or the other side is gone. */
uint32_t gp_wire_next(int fd, int timeout_ms);
/* Receive one frame of exactly this type and size within TIMEOUT_MS. -1 if none arrives. */
int gp_wire_receive(int fd, enum gp_wire_type type, void *to, size_t n, int timeout_ms) GP_MUST_CHECK;
/* The same with a descriptor, which the caller must close. */
int gp_wire_receive_fd(int fd, enum gp_wire_type type, void *to, size_t n, int timeout_ms,
                       int *passed) GP_MUST_CHECK;

#endif
