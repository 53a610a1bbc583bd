/* Another tool that listens to NVTX: counts what it hears, and prints that at the end. */
#include <stdio.h>
#include <stdlib.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

static unsigned pushes, pops, starts, stops, marks;

static int NVTX_API on_push(const nvtxEventAttributes_t *a)
{
    fprintf(stderr, "push %s\n", a->message.ascii);
    return (int)pushes++;
}

static int NVTX_API on_pop(void) { return (int)pops++; }

static nvtxRangeId_t NVTX_API on_start(const nvtxEventAttributes_t *a)
{
    (void)a;
    return ++starts;
}

static void NVTX_API on_stop(nvtxRangeId_t id)
{
    (void)id;
    stops++;
}

static void NVTX_API on_mark(const nvtxEventAttributes_t *a)
{
    fprintf(stderr, "mark %s %llu\n", a->message.ascii, (unsigned long long)a->payload.ullValue);
    marks++;
}

static void report(void) { fprintf(stderr, "heard %u %u %u %u %u\n", pushes, pops, starts, stops, marks); }

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *cb = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    if (!cb || !cb->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
    *table[NVTX_CBID_CORE_RangePushEx] = (NvtxFunctionPointer)on_push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)on_pop;
    *table[NVTX_CBID_CORE_RangeStartEx] = (NvtxFunctionPointer)on_start;
    *table[NVTX_CBID_CORE_RangeEnd] = (NvtxFunctionPointer)on_stop;
    *table[NVTX_CBID_CORE_MarkEx] = (NvtxFunctionPointer)on_mark;
    atexit(report);
    return 1;
}
