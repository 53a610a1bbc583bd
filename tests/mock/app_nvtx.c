/* What libraries say in NVTX beside names: a pretended NCCL, whose schemas have the shape of NCCL's since
 * 2.25, and events with every kind of attribute. */
#include "mock.h"

#include <stdio.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ENUM_ID = NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + 24, RANKS = 4 };
static const uint64_t COMM = UINT64_C(0xfedcba9876543210);
static nvtxDomainHandle_t nccl;

/* A launch, and time enough for it to lie in the ranges around it. */
static void launch(const char *kernel)
{
    struct mock_event e = {.op = MOCK_LAUNCH, .stream = 7, .kernel = kernel};
    struct timespec t = {0, 10000};
    if (mock_do(&e)) exit(9);
    nanosleep(&t, NULL);
}

/* ---- NCCL ---- */

enum call { INIT_RANK, ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER, SEND, RECV, N_CALLS };

struct args {
    uint64_t comm;
    size_t bytes;
    int peer;
};

struct reduction {
    uint64_t comm;
    size_t bytes;
    int op;
};

struct init {
    uint64_t comm;
    int ranks, rank, device;
};

static void register_schema(enum call call, const nvtxPayloadSchemaEntry_t *entries, size_t n, size_t bytes)
{
    const nvtxPayloadSchemaAttr_t schema = {
        .fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID,
        .type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
        .entries = entries,
        .numEntries = n,
        .payloadStaticSize = bytes,
        .schemaId = (uint64_t)NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + call,
    };
    nvtxPayloadSchemaRegister(nccl, &schema);
}

static void register_all(void)
{
    static const nvtxPayloadEnum_t ops[] = {{"Sum", 0, 0}, {"Product", 1, 0}, {"Max", 2, 0}};
    const nvtxPayloadEnumAttr_t attr = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE | NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID,
        .entries = ops,
        .numEntries = sizeof ops / sizeof *ops,
        .sizeOfEnum = sizeof(int),
        .schemaId = ENUM_ID,
    };
    /* On the stack: they are gone when the function returns. */
    nvtxPayloadSchemaEntry_t entries[] = {
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_UINT64, .name = "NCCL communicator ID"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_SIZE,
         .name = "Message size [bytes]",
         .offset = offsetof(struct args, bytes)},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "Peer rank", .offset = offsetof(struct args, peer)},
        {0},
    };
    const nvtxPayloadSchemaEntry_t init[] = {
        entries[0],
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "No. of ranks"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "Rank"},
        {.type = NVTX_PAYLOAD_ENTRY_TYPE_INT, .name = "CUDA device"},
    };
    nvtxPayloadEnumRegister(nccl, &attr);
    register_schema(INIT_RANK, init, 4, sizeof(struct init));
    register_schema(ALL_GATHER, entries, 2, sizeof(struct args));
    register_schema(SEND, entries, 3, sizeof(struct args));
    register_schema(RECV, entries, 3, sizeof(struct args));
    entries[2].name = "Root";
    register_schema(BROADCAST, entries, 3, sizeof(struct args));
    entries[2].name = "Reduction operation";
    entries[2].type = ENUM_ID;
    register_schema(ALL_REDUCE, entries, 3, sizeof(struct reduction));
    register_schema(REDUCE_SCATTER, entries, 3, sizeof(struct reduction));
}

/* As NCCL pushes a range: a registered name, and one payload or none. */
static void push(const char *name, const nvtxPayloadData_t *payload)
{
    nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                               .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                               .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
    a.message.registered = nvtxDomainRegisterStringA(nccl, name);
    if (payload) {
        a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
        a.reserved0 = 1;
        a.payload.ullValue = (uintptr_t)payload;
    }
    nvtxDomainRangePushEx(nccl, &a);
}

/* KERNEL NULL: launched later, by the group. */
static void call(enum call call, size_t bytes, int other, const char *kernel)
{
    static const char *const names[N_CALLS] = {[ALL_GATHER] = "ncclAllGather",
                                               [ALL_REDUCE] = "ncclAllReduce",
                                               [BROADCAST] = "ncclBroadcast",
                                               [REDUCE_SCATTER] = "ncclReduceScatter",
                                               [SEND] = "ncclSend",
                                               [RECV] = "ncclRecv"};
    const struct args args = {COMM, bytes, other};
    const nvtxPayloadData_t payload = {(uint64_t)NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + call, sizeof args,
                                       &args};
    push(names[call], &payload);
    if (kernel) launch(kernel);
    nvtxDomainRangePop(nccl);
}

static void group(const char *name, const char *kernel)
{
    push(name, NULL);
    if (kernel) launch(kernel);
    nvtxDomainRangePop(nccl);
}

/* nccl: a communicator of 4 ranks; an all-reduce of 4096 bytes, an all-gather of 1000 from each, a
 * reduce-scatter of 512 to each, a broadcast of 300; a group of three all-reduces of 100, 200 and 300 bytes
 * in one kernel; an exchange of 700 and 900 bytes with rank 3; and an all-reduce of 4096 outside of what NCCL
 * says. nccl stuck: and one that does not end before the process does, 1.5 s later. nccl long: one of 900 ms,
 * of which NCCL says nothing. */
int mock_nccl(int argc, char **argv)
{
    static const char all_reduce[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
    const char *rank = getenv("RANK"), *how = argc > 2 ? argv[2] : "";
    cuInit(0);
    nccl = nvtxDomainCreateA("NCCL");
    register_all();
    const struct init init = {COMM, RANKS, rank ? atoi(rank) : 1, 0};
    const nvtxPayloadData_t made = {(uint64_t)NVTX_PAYLOAD_SCHEMA_ID_STATIC_START + INIT_RANK, sizeof init,
                                    &init};
    push("ncclCommInitRankConfig", NULL);
    nvtxRangePopPayload(nccl, &made, 1);
    call(ALL_REDUCE, 4096, 0, all_reduce);
    call(ALL_GATHER, 1000, 0, "ncclDevKernel_AllGather_RING_LL");
    call(REDUCE_SCATTER, 512, 2, "ncclDevKernel_ReduceScatter_Max_f32_RING_LL");
    call(BROADCAST, 300, 0, "ncclDevKernel_Broadcast_RING_LL");
    group("ncclGroupStart", NULL);
    for (size_t i = 1; i <= 3; i++) call(ALL_REDUCE, 100 * i, 0, NULL);
    group("ncclGroupEnd", all_reduce);
    group("ncclGroupStart", NULL);
    call(SEND, 700, 3, NULL);
    call(RECV, 900, 3, NULL);
    group("ncclGroupEnd", "ncclDevKernel_SendRecv");
    launch(all_reduce);
    if (!*how) return 0;
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    struct mock_event last = {.op = MOCK_LAUNCH, .stream = 9, .kernel = all_reduce, .bytes = 900000000};
    if (!strcmp(how, "stuck")) {
        push("ncclAllReduce", NULL);
        last.op = MOCK_STUCK;
    }
    mock_do(&last);
    if (!strcmp(how, "stuck")) nvtxDomainRangePop(nccl);
    nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 500000000}, NULL);
    return 0;
}

/* ---- attributes ---- */

static void push_with(nvtxDomainHandle_t d, const char *name, nvtxEventAttributes_t a)
{
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    nvtxDomainRangePushEx(d, &a);
    nvtxDomainRangePop(d);
}

/* args: a range for each kind of payload; categories, with and without names; a colour; a payload of a type
 * that nobody registered, and one whose pointer leads nowhere. */
int mock_args(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cuInit(0);
    nvtxDomainHandle_t d = nvtxDomainCreateA("lib");
    nvtxDomainNameCategoryA(d, 5, "input");
    nvtxNameCategoryW(5, L"r\u00e9seau");
    push_with(NULL, "u64",
              (nvtxEventAttributes_t){.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
                                      .payload.ullValue = UINT64_MAX});
    push_with(NULL, "i64",
              (nvtxEventAttributes_t){.payloadType = NVTX_PAYLOAD_TYPE_INT64, .payload.llValue = -3});
    push_with(NULL, "f64",
              (nvtxEventAttributes_t){.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE, .payload.dValue = 0.5});
    push_with(NULL, "u32",
              (nvtxEventAttributes_t){.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32, .payload.uiValue = 7});
    push_with(NULL, "i32",
              (nvtxEventAttributes_t){.payloadType = NVTX_PAYLOAD_TYPE_INT32, .payload.iValue = -7});
    push_with(NULL, "f32",
              (nvtxEventAttributes_t){.payloadType = NVTX_PAYLOAD_TYPE_FLOAT, .payload.fValue = 0.25F});
    push_with(NULL, "named", (nvtxEventAttributes_t){.category = 5});
    push_with(d, "named", (nvtxEventAttributes_t){.category = 5});
    push_with(d, "unnamed",
              (nvtxEventAttributes_t){.category = 6, .colorType = NVTX_COLOR_ARGB, .color = 0xff00ff7f});
    const nvtxPayloadData_t bad[] = {{1 << 25, 8, &d}, {NVTX_PAYLOAD_ENTRY_TYPE_INT, 4, NULL}};
    nvtxRangePushPayload(d, bad, 2);
    nvtxRangePopPayload(d, bad, 2);
    push_with(d, "plain", (nvtxEventAttributes_t){0});
    launch("_Z1kv");
    return 0;
}

/* torch: two training steps under PyTorch's emit_nvtx(record_shapes=True). */
int mock_torch(int argc, char **argv)
{
    static unsigned op_id;
    (void)argc;
    (void)argv;
    if (cuInit(0)) return 1;
    for (unsigned step = 0; step < 2; step++) {
        char text[256];
        snprintf(text, sizeof text, "train, op_id = %u", ++op_id);
        nvtxRangePushA(text);
        snprintf(text, sizeof text,
                 "aten::linear, seq = %u, op_id = %u, sizes = [[64, 512], [2048, 512], [2048]]", 10 + step,
                 op_id + 1);
        nvtxRangePushA(text);
        snprintf(text, sizeof text,
                 "aten::addmm, seq = %u, op_id = %u, sizes = [[2048], [64, 512], [512, 2048], [], []], "
                 "input_op_ids = [(0,-1), (0,-1), (%u,0), (0,-1), (0,-1)]",
                 10 + step, op_id + 2, op_id + 1);
        nvtxRangePushA(text);
        launch("_Z4gemmv");
        nvtxRangePop();
        nvtxRangePop();
        op_id += 2;
        snprintf(text, sizeof text, "AddmmBackward0, seq = %u, op_id = %u, sizes = [[64, 2048]]", 10 + step,
                 ++op_id);
        nvtxRangePushA(text);
        snprintf(text, sizeof text, "aten::mm, op_id = %u, sizes = [[64, 2048], [2048, 512]]", ++op_id);
        nvtxRangePushA(text);
        launch("_Z4gemmv");
        nvtxRangePop();
        nvtxRangePop();
        nvtxRangePop();
    }
    return 0;
}
