/* python_layout.h -- where things lie in the memory of a CPython interpreter, 3.9 to 3.15, on 64-bit Linux.
 * Before 3.13 that is fixed by the version; from 3.13 on the process has a table of it (_Py_DebugOffsets),
 * whose own shape depends on the version, and which shows whether the build has the GIL. Pure.
 *
 *     struct gp_py_layout o;
 *     if (!gp_py_layout(&o, version, table, n)) ...        // this version is not known
 */
#ifndef GP_COLLECT_CPYTHON_PYTHON_LAYOUT_H
#define GP_COLLECT_CPYTHON_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define GP_PY_NONE UINT32_MAX /* there is no such field */
/* What a person reads of the versions above. */
#define GP_PY_VERSIONS "CPython 3.9 to 3.15"

/* The most bytes that are read of the structs; of the table at _PyRuntime from 3.13 on. */
enum {
    GP_PY_THREAD_MOST = 2048,
    GP_PY_FRAME_MOST = 128,
    GP_PY_CODE_MOST = 512,
    GP_PY_TABLE_BYTES = 896,
    GP_PY_FIRST_MINOR = 9,
    GP_PY_LAST_MINOR = 15
};

/* Offsets in bytes. */
struct gp_py_layout {
    unsigned minor; /* 3.MINOR */
    uint32_t runtime_head;
    uint32_t interp_next, interp_threads, interp_collecting;
    /* the GIL: in the interpreter there is a pointer to it, or it is part of the runtime */
    uint32_t gil_pointer, gil_holder, gil_locked;
    uint32_t thread_next, thread_interp, thread_native_id, thread_pthread;
    uint32_t thread_frame;             /* the top frame, or none: */
    uint32_t thread_cframe, cframe_at; /* then it is behind a pointer to a C frame */
    uint32_t thread_chunk, thread_top, thread_bytes;
    uint32_t frame_previous, frame_code, frame_ip, frame_owner, frame_bytes;
    uint32_t code_first, code_file, code_name, code_lines, code_start, code_bytes;
    uint32_t str_length, str_state, str_ascii, str_other;
    uint32_t bytes_size, bytes_data;
    uint32_t object_type, object_size;
    uint32_t str_kind; /* bits in front of the width of characters in the state of a text */
    /* Only without the GIL: each thread may run its own copy of the instructions, and a thread that is not
     * active runs no Python code. */
    uint32_t code_copies, thread_status;
    /* What a generator does is a byte so far in front of its frame; RUNS is that it runs. */
    uint32_t generator_state, generator_runs;
    uint32_t code_version; /* a number that no two code objects of an interpreter share; from 3.12 on */
};

/* Fill O for VERSION (PY_VERSION_HEX). TABLE: the N bytes at _PyRuntime, used from 3.13 on. False
 * if the version is not known or the table cannot be one. */
bool gp_py_layout(struct gp_py_layout *o, uint32_t version, const void *table, size_t n);

/* How its main thread is asked to run a file, as sys.remote_exec() does: 3.14 and later. Offsets in bytes. */
struct gp_py_ask {
    uint32_t runtime_head;
    uint32_t interp_main, interp_allows;            /* INTERP_ALLOWS: an int, 0 where it has been forbidden */
    uint32_t thread_breaks;                         /* a word: GP_PY_STOP in it has it look */
    uint32_t thread_asked, thread_path, path_bytes; /* an int; the path of the file, and the room for it */
};

enum { GP_PY_STOP = 1 << 5 };

/* As gp_py_layout(); false for versions that cannot be asked, too. */
bool gp_py_asking(struct gp_py_ask *a, const void *table, size_t n);

/* ---- where an interpreter has its state ----
 * Whether a process runs CPython, and where its runtime is: from the files that it has
 * mapped (the program itself, or libpython3), which need no symbols beyond those that other libraries link
 * to.
 *
 *     struct gp_py_place p;
 *     if (gp_py_find(pid, &p)) attach(p.runtime);
 */

/* Addresses in the process, 0 unknown. */
struct gp_py_place {
    uint64_t runtime, version, code_type;
    unsigned minor; /* by the name of the file, 0 unknown */
};

bool gp_py_find(pid_t pid, struct gp_py_place *p);
/* The same in the N bytes of one ELF file that is mapped at BASE. Any bytes may be passed. */
bool gp_py_find_elf(const uint8_t *file, size_t n, uint64_t base, struct gp_py_place *p);

#endif
