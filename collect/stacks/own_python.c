#include "collect/stacks/own_python.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

/* As PY_VERSION_HEX. */
static uint32_t version_of(void)
{
    const unsigned long *number = dlsym(RTLD_DEFAULT, "Py_Version");
    const char *(*text)(void) = NULL;
    void *symbol = dlsym(RTLD_DEFAULT, "Py_GetVersion");
    unsigned major, minor;
    if (number) return (uint32_t)*number;
    memcpy(&text, &symbol, sizeof text);
    return text && sscanf(text(), "%u.%u", &major, &minor) == 2 ? major << 24 | minor << 16 : 0;
}

static bool load_function(void *(**to)(void), const char *name)
{
    void *symbol = dlsym(RTLD_DEFAULT, name);
    memcpy(to, &symbol, sizeof *to);
    return symbol != NULL;
}

/* It may be there and only just begin: then there is no interpreter yet. */
bool gp_own_python_find(struct gp_own_python *py, const char **why)
{
    const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    uint64_t interpreter;
    *why = NULL;
    if (!runtime) return false;
    py->runtime = (uint64_t)(uintptr_t)runtime;
    py->code_type = (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
    py->memory = gp_remote_open(&py->process, getpid());
    uint8_t table[GP_PY_TABLE_BYTES];
    if (!gp_remote_get(&py->memory, py->runtime, table, sizeof table)) {
        *why = "the system does not allow it to read its own memory";
        return false;
    }
    if (!gp_py_layout(&py->layout, version_of(), table, sizeof table)) {
        *why = "this version of Python is not supported, only " GP_PY_VERSIONS;
        return false;
    }
    if (!(load_function(&py->attached, "PyThreadState_GetUnchecked") ||
          load_function(&py->attached, "_PyThreadState_UncheckedGet")) ||
        !load_function(&py->own, "PyGILState_GetThisThreadState")) {
        *why = "this Python does not export the states of its threads";
        return false;
    }
    return gp_remote_get(&py->memory, py->runtime + py->layout.runtime_head, &interpreter, 8) &&
           gp_is_address(interpreter);
}
