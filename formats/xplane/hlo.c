#include "formats/xplane/hlo.h"

#include <string.h>
#include "formats/base/buf.h"
#include "formats/base/json_write.h"
#include "formats/base/str.h"

#define TAG GP_WIRE_TAG
enum {
    HLO_MODULE = TAG(1, 2),         /* HloProto */
    MODULE_COMPUTATION = TAG(3, 2), /* HloModuleProto */
    MODULE_FRAMES = TAG(17, 2),
    COMPUTATION_INSTRUCTION = TAG(2, 2), /* HloComputationProto */
    COMPUTATION_ID = TAG(5, 0),
    COMPUTATION_ROOT = TAG(6, 0),
    NAME = TAG(1, 2), /* HloInstructionProto */
    OPCODE = TAG(2, 2),
    SHAPE = TAG(3, 2),
    METADATA = TAG(7, 2),
    PARAMETER = TAG(9, 0),
    FUSION_KIND = TAG(11, 2),
    CONVOLUTION = TAG(16, 2),
    CALL_TARGET = TAG(28, 2),
    DOT = TAG(30, 2),
    ID = TAG(35, 0),
    OPERANDS = TAG(36, 2),
    CALLED = TAG(38, 2),
    BACKEND = TAG(43, 2),
    OP_NAME = TAG(2, 2), /* OpMetadata */
    SOURCE_FILE = TAG(3, 2),
    SOURCE_LINE = TAG(4, 0),
    KERNEL_NAME = TAG(12, 2), /* of several instructions with equal code */
    STACK_FRAME = TAG(15, 0),
    SHAPE_TYPE = TAG(2, 0), /* ShapeProto */
    SHAPE_DIMENSIONS = TAG(3, 2),
    SHAPE_TUPLE = TAG(4, 2),
    FRAMES_FILE = TAG(1, 2), /* StackFrameIndexProto: numbers count from 1 */
    FRAMES_FUNCTION = TAG(2, 2),
    FRAMES_PLACE = TAG(3, 2),
    FRAMES_FRAME = TAG(4, 2),
    PLACE_FILE = TAG(1, 0),
    PLACE_FUNCTION = TAG(2, 0),
    PLACE_LINE = TAG(3, 0),
    FRAME_PLACE = TAG(1, 0),
    FRAME_PARENT = TAG(2, 0),
    LEFT_CONTRACTING = TAG(1, 2),      /* DotDimensionNumbers */
    KERNEL_OUTPUT_FEATURE = TAG(4, 0), /* ConvolutionDimensionNumbers */
    DIMENSIONS = 8,                    /* of a shape, that are kept */
    DEEPEST = 500,                     /* frames of a stack */
};

/* PrimitiveType. Bits of 0: not known. */
static const struct {
    const char *floating; /* or NULL */
    uint8_t bits;
} types[] = {
    [1] = {NULL, 8},     [2] = {NULL, 8},     [3] = {NULL, 16},  [4] = {NULL, 32},    [5] = {NULL, 64},
    [6] = {NULL, 8},     [7] = {NULL, 16},    [8] = {NULL, 32},  [9] = {NULL, 64},    [10] = {"fp16", 16},
    [11] = {"fp32", 32}, [12] = {"fp64", 64}, [15] = {NULL, 64}, [16] = {"bf16", 16}, [18] = {NULL, 128},
    [19] = {"fp8", 8},   [20] = {"fp8", 8},   [21] = {NULL, 4},  [22] = {NULL, 4},    [23] = {"fp8", 8},
    [24] = {"fp8", 8},   [25] = {"fp8", 8},   [28] = {"fp8", 8}, [29] = {"fp8", 8}};

/* What an operation costs. Those that are not in the table move data. */
enum cost { MOVES, ARITHMETIC, REDUCTION, PRODUCT, CALLS, UNKNOWN };
static const char *const opcodes[] = {
    [ARITHMETIC] = " abs add atan2 cbrt ceil cosine divide erf exponential exponential-minus-one floor log "
                   "log-plus-one logistic maximum minimum multiply negate power remainder round-nearest-afz "
                   "round-nearest-even rsqrt sign sine sqrt subtract tan tanh ",
    [REDUCTION] = " reduce ",
    [PRODUCT] = " dot convolution custom-call ",
    [CALLS] = " fusion call ",
    [UNKNOWN] = " while conditional sort fft map scatter triangular-solve cholesky reduce-window "
                "select-and-scatter ",
};

struct shape {
    uint32_t type; /* of a tuple: 0 */
    double elements, bytes;
    size_t n;
    uint64_t dims[DIMENSIONS];
};

struct instruction {
    uint64_t id, parameter, frame, line;
    struct gp_wire_field name, opcode, target, kind, op_name, file, kernel, backend;
    struct gp_wire shape, operands, called, dot, convolution;
    uint32_t computation;
    enum cost cost;
    bool whole;    /* a parameter: something reads all of it, */
    double slices; /* or only so many bytes */
};

struct computation {
    uint64_t id, root;
    size_t first, n; /* instructions */
    double flops;    /* < 0: not known */
    const char *type;
    bool products, inner; /* it is part of a fusion, or what a reduction does */
};

struct frame {
    uint64_t place, parent;
    uint32_t stack;
    bool seen;
};

struct reading {
    struct gp_hlo *h;
    struct gp_trace *t;
    uint32_t program;
    struct gp_map instruction_at, computation_at; /* by id */
    struct gp_map parameter_at;                   /* instructions, by number and computation */
    GP_VEC(struct instruction) instructions;
    GP_VEC(struct computation) computations;
    GP_VEC(gp_sid) files, functions;
    GP_VEC(struct gp_stack) places;
    GP_VEC(struct frame) frames;
    struct gp_buf text;
};

/* ---- messages ---- */

static uint64_t number_of(struct gp_wire w, uint32_t tag)
{
    uint64_t v = 0;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        if (f.tag == tag) v = f.value;
    return v;
}

static bool is_op(const struct instruction *i, const char *opcode)
{
    return gp_is(i->opcode.data, i->opcode.value, opcode);
}

static uint64_t parameter_key(uint32_t computation, uint64_t number)
{
    return (uint64_t)computation << 32 | (uint32_t)number;
}

static enum cost cost_of(const struct gp_wire_field *opcode)
{
    for (enum cost c = ARITHMETIC; c <= UNKNOWN; c++)
        if (gp_is_one_of(opcode->data, opcode->value, opcodes[c])) return c;
    return MOVES;
}

static void read_metadata(struct instruction *i, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == OP_NAME) i->op_name = f;
        if (f.tag == SOURCE_FILE) i->file = f;
        if (f.tag == SOURCE_LINE) i->line = f.value;
        if (f.tag == KERNEL_NAME) i->kernel = f;
        if (f.tag == STACK_FRAME) i->frame = f.value;
    }
}

static void read_instruction(struct reading *r, struct gp_wire w)
{
    struct instruction i = {.computation = (uint32_t)r->computations.n};
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == NAME) i.name = f;
        if (f.tag == OPCODE) i.opcode = f;
        if (f.tag == SHAPE) i.shape = gp_wire_message(&f);
        if (f.tag == METADATA) read_metadata(&i, gp_wire_message(&f));
        if (f.tag == PARAMETER) i.parameter = f.value;
        if (f.tag == FUSION_KIND) i.kind = f;
        if (f.tag == CONVOLUTION) i.convolution = gp_wire_message(&f);
        if (f.tag == CALL_TARGET) i.target = f;
        if (f.tag == DOT) i.dot = gp_wire_message(&f);
        if (f.tag == ID) i.id = f.value;
        if (f.tag == OPERANDS) i.operands = gp_wire_message(&f);
        if (f.tag == CALLED) i.called = gp_wire_message(&f);
        if (f.tag == BACKEND) i.backend = f;
    }
    i.cost = cost_of(&i.opcode);
    *gp_map_put(&r->instruction_at, i.id, 0) = (uint32_t)r->instructions.n;
    if (is_op(&i, "parameter"))
        *gp_map_put(&r->parameter_at, parameter_key(i.computation, i.parameter), 0) =
            (uint32_t)r->instructions.n;
    GP_VEC_PUSH(&r->instructions, i);
}

static struct shape shape_of(struct gp_wire w, int depth)
{
    enum { NESTED = 4 };
    struct shape s = {.elements = 1};
    double parts = 0;
    bool tuple = false;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        struct gp_wire dims = gp_wire_message(&f);
        if (f.tag == SHAPE_TYPE) s.type = (uint32_t)f.value;
        if (f.tag == SHAPE_TUPLE && depth < NESTED) {
            parts += shape_of(dims, depth + 1).bytes;
            tuple = true;
        }
        for (uint64_t d; f.tag == SHAPE_DIMENSIONS && gp_wire_varint(&dims, &d); s.n++) {
            s.elements *= (double)d;
            if (s.n < DIMENSIONS) s.dims[s.n] = d;
        }
    }
    if (s.type >= GP_COUNT(types)) s.type = 0;
    s.bytes = tuple ? parts : s.elements * types[s.type].bits / 8;
    return s;
}

/* The first member of a tuple, which the others serve. */
static struct shape result_of(const struct instruction *i)
{
    struct gp_wire w = i->shape;
    for (struct gp_wire_field f; gp_wire_next(&w, &f);)
        if (f.tag == SHAPE_TUPLE) return shape_of(gp_wire_message(&f), 0);
    return shape_of(i->shape, 0);
}

static const struct instruction *operand(const struct reading *r, struct gp_wire ids, size_t n)
{
    uint64_t id;
    for (size_t k = 0; gp_wire_varint(&ids, &id); k++) {
        const uint32_t *at = k == n ? gp_map_get(&r->instruction_at, id) : NULL;
        if (k == n) return at ? &r->instructions.at[*at] : NULL;
    }
    return NULL;
}

static struct shape operand_shape(const struct reading *r, const struct instruction *i, size_t n)
{
    const struct instruction *of = operand(r, i->operands, n);
    return of ? result_of(of) : (struct shape){0};
}

/* Only those before it: what is called stands before its caller. */
static struct computation *called_by(const struct reading *r, const struct instruction *i)
{
    uint64_t id;
    struct gp_wire w = i->called;
    const uint32_t *at = gp_wire_varint(&w, &id) ? gp_map_get(&r->computation_at, id) : NULL;
    return at && *at < i->computation ? &r->computations.at[*at] : NULL;
}

/* ---- work ---- */

/* The elements that one element of a product is summed over, of the left side's dimension D; 0: not known. */
static double contracted(const struct shape *left, uint64_t d)
{
    return d < left->n && d < DIMENSIONS ? (double)left->dims[d] : 0;
}

/* "lhs_contracting_dimensions":["1"] in the settings of a call of a library. */
static double contracted_by_call(const struct shape *left, const struct gp_wire_field *backend)
{
    static const char key[] = "\"lhs_contracting_dimensions\":[";
    const char *p = (const char *)backend->data, *end = p ? p + backend->value : NULL;
    for (double k = 1; p && (size_t)(end - p) > sizeof key; p++) {
        if (memcmp(p, key, sizeof key - 1) != 0) continue;
        for (p += sizeof key - 1; p + 2 < end && *p == '"' && gp_is_digit(p[1]) && p[2] == '"';) {
            k *= contracted(left, (uint64_t)(p[1] - '0'));
            p += 3 + (p + 3 < end && p[3] == ',');
        }
        return k;
    }
    return 0;
}

/* 2 x results x elements of the filter for each; the filter, or the results, may be what is searched. */
static double convolution_flops(const struct reading *r, const struct instruction *i)
{
    struct shape out = result_of(i), filter = operand_shape(r, i, 1);
    bool of_filter = gp_is(i->target.data, i->target.value, "__cudnn$convBackwardFilter");
    if (of_filter) filter = out, out = operand_shape(r, i, 1);
    if (gp_is(i->target.data, i->target.value, "__cudnn$convBackwardInput")) out = operand_shape(r, i, 0);
    double outputs = contracted(&filter, number_of(i->convolution, KERNEL_OUTPUT_FEATURE));
    return outputs > 0 ? 2 * out.elements * filter.elements / outputs : -1;
}

static double product_flops(const struct reading *r, const struct instruction *i, const char **type)
{
    struct shape left = operand_shape(r, i, 0);
    double k = 1;
    *type = types[left.type].floating;
    if (i->convolution.p) return convolution_flops(r, i);
    if (!i->dot.p) k = contracted_by_call(&left, &i->backend);
    struct gp_wire dot = i->dot;
    for (struct gp_wire_field f; gp_wire_next(&dot, &f);) {
        struct gp_wire dims = gp_wire_message(&f);
        for (uint64_t d; f.tag == LEFT_CONTRACTING && gp_wire_varint(&dims, &d);) k *= contracted(&left, d);
    }
    return k > 0 ? 2 * result_of(i).elements * k : -1;
}

/* < 0: not known. TYPE and PRODUCTS become those of what it calls, or of itself. */
static double flops_of(const struct reading *r, const struct instruction *i, const char **type,
                       bool *products)
{
    struct shape s = result_of(i);
    const struct computation *c;
    *type = types[s.type].floating;
    *products = i->cost == PRODUCT;
    switch (i->cost) {
    case ARITHMETIC: return *type ? s.elements : 0;
    case REDUCTION: return *type ? operand_shape(r, i, 0).elements : 0;
    case PRODUCT: return product_flops(r, i, type);
    case CALLS:
        if (!(c = called_by(r, i))) return -1;
        *type = c->type;
        *products = c->products;
        return c->flops;
    case UNKNOWN: return -1;
    default: return 0;
    }
}

/* Are its operands that are parameters read whole, or only slices of them? */
static void note_reads(struct reading *r, const struct instruction *i)
{
    bool slices = is_op(i, "slice") || is_op(i, "dynamic-slice") || is_op(i, "gather");
    struct gp_wire w = i->operands;
    uint64_t id;
    for (size_t k = 0; gp_wire_varint(&w, &id); k++) {
        const uint32_t *at = gp_map_get(&r->instruction_at, id);
        if (!at || !is_op(&r->instructions.at[*at], "parameter")) continue;
        if (slices && !k) r->instructions.at[*at].slices += result_of(i).bytes;
        else r->instructions.at[*at].whole |= k || !is_op(i, "dynamic-update-slice");
    }
}

static void sum_up(struct reading *r, struct computation *c)
{
    for (size_t k = c->first; k < c->first + c->n; k++) {
        const char *type;
        bool products;
        double flops = flops_of(r, &r->instructions.at[k], &type, &products);
        c->flops = flops < 0 || c->flops < 0 ? -1 : c->flops + flops;
        if (flops > 0 && (products || !c->products)) c->type = type;
        c->products |= products;
        struct computation *inner = called_by(r, &r->instructions.at[k]);
        if (inner && r->instructions.at[k].cost != UNKNOWN) inner->inner = true;
        note_reads(r, &r->instructions.at[k]);
    }
}

/* What a fusion reads of its operand N. */
static double read_of(const struct reading *r, const struct instruction *i, uint64_t n, double all)
{
    const struct computation *c = called_by(r, i);
    const uint32_t *at =
        c ? gp_map_get(&r->parameter_at, parameter_key((uint32_t)(c - r->computations.at), n)) : NULL;
    const struct instruction *p = at ? &r->instructions.at[*at] : NULL;
    return p && !p->whole && p->slices < all ? p->slices : all;
}

static double bytes_of(const struct reading *r, const struct instruction *i)
{
    const struct computation *c = i->cost == CALLS ? called_by(r, i) : NULL;
    const uint32_t *root = c ? gp_map_get(&r->instruction_at, c->root) : NULL;
    double sum = result_of(i).bytes;
    if (c) sum = shape_of(i->shape, 0).bytes;
    if (root && is_op(&r->instructions.at[*root], "dynamic-update-slice"))
        sum = operand_shape(r, &r->instructions.at[*root], 1).bytes;
    struct gp_wire w = i->operands;
    uint64_t id;
    for (uint64_t n = 0; gp_wire_varint(&w, &id); n++) {
        const uint32_t *at = gp_map_get(&r->instruction_at, id);
        double all = at ? result_of(&r->instructions.at[*at]).bytes : 0;
        sum += read_of(r, i, n, all);
    }
    return sum;
}

/* ---- stacks ---- */

static gp_sid text_at(const gp_sid *at, size_t n, uint64_t number)
{
    return number && number <= n ? at[number - 1] : 0;
}

static void read_frames(struct reading *r, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        struct gp_wire m = gp_wire_message(&f);
        gp_sid text = gp_trace_intern(r->t, f.data ? (const char *)f.data : "", f.data ? f.value : 0);
        if (f.tag == FRAMES_FILE) GP_VEC_PUSH(&r->files, text);
        if (f.tag == FRAMES_FUNCTION) GP_VEC_PUSH(&r->functions, text);
        if (f.tag == FRAMES_PLACE)
            GP_VEC_PUSH(&r->places,
                        ((struct gp_stack){
                            .name = text_at(r->functions.at, r->functions.n, number_of(m, PLACE_FUNCTION)),
                            .file = text_at(r->files.at, r->files.n, number_of(m, PLACE_FILE)),
                            .line = (uint32_t)number_of(m, PLACE_LINE)}));
        if (f.tag == FRAMES_FRAME)
            GP_VEC_PUSH(&r->frames,
                        ((struct frame){number_of(m, FRAME_PLACE), number_of(m, FRAME_PARENT), 0, false}));
    }
}

/* Outermost first. Frames that call each other in a ring end where they meet. */
static uint32_t stack_of(struct reading *r, uint64_t number)
{
    uint64_t chain[DEEPEST];
    size_t n = 0;
    uint32_t stack = 0;
    for (uint64_t at = number; at && at <= r->frames.n; at = r->frames.at[at - 1].parent) {
        stack = r->frames.at[at - 1].stack;
        if (r->frames.at[at - 1].seen || n == DEEPEST) break;
        r->frames.at[at - 1].seen = true;
        chain[n++] = at;
    }
    while (n) {
        struct frame *f = &r->frames.at[chain[--n] - 1];
        struct gp_stack s = {0};
        if (f->place && f->place <= r->places.n) s = r->places.at[f->place - 1];
        s.parent = stack;
        f->stack = stack = s.name ? gp_trace_stack(r->t, &s) : stack;
    }
    return stack;
}

/* ---- names ---- */

static gp_sid text_of(struct reading *r, const struct gp_wire_field *f)
{
    return f->data ? gp_trace_intern(r->t, (const char *)f->data, f->value) : 0;
}

/* As kernels are called: "fusion.31" is "fusion_31". */
static gp_sid kernel_name(struct reading *r, const struct gp_wire_field *f)
{
    r->text.n = 0;
    for (size_t i = 0; f->data && i < f->value; i++) {
        char c = (char)f->data[i];
        bool plain = gp_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        gp_buf_putc(&r->text, plain ? c : '_');
    }
    return r->text.n ? gp_trace_intern(r->t, r->text.data, r->text.n) : 0;
}

static uint64_t key_of(uint32_t program, bool kernel, gp_sid name)
{
    return (uint64_t)program << 33 | (uint64_t)kernel << 32 | name;
}

/* Of two stacks what both have. Parents come first. */
static uint32_t common(const struct gp_trace *t, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b) a = t->stacks.at[a].parent;
        else b = t->stacks.at[b].parent;
    return a;
}

static void put(struct reading *r, bool kernel, gp_sid name, struct gp_hlo_op op)
{
    if (!name) return;
    uint32_t *at = gp_map_put(&r->h->at, key_of(r->program, kernel, name), (uint32_t)r->h->ops.n);
    if (*at == r->h->ops.n) {
        GP_VEC_PUSH(&r->h->ops, op);
        return;
    }
    struct gp_hlo_op *old = &r->h->ops.at[*at];
    if (old->args != op.args) old->args = 0;
    old->stack = common(r->t, old->stack, op.stack);
}

static const char *category_of(const struct instruction *i, bool products)
{
    static const char *const kinds[][2] = {
        {"kLoop", "loop fusion"}, {"kInput", "input fusion"}, {"kOutput", "output fusion"}};
    if (products && i->cost == CALLS) return "convolution fusion";
    for (size_t k = 0; i->cost == CALLS && k < GP_COUNT(kinds); k++)
        if (gp_is(i->kind.data, i->kind.value, kinds[k][0])) return kinds[k][1];
    return i->cost == CALLS ? "custom fusion" : NULL;
}

static gp_sid args_of(struct reading *r, const struct instruction *i)
{
    const char *type = NULL;
    bool products = false;
    double flops = flops_of(r, i, &type, &products), bytes = bytes_of(r, i);
    bool alone = i->cost == CALLS || (products && flops > 0); /* one kernel does it */
    const char *category = category_of(i, products && flops > 0);
    struct gp_buf *b = &r->text;
    b->n = 0;
    gp_buf_puts(b, "{\"hlo_category\":");
    if (category) gp_json_put_string(b, category, strlen(category));
    else gp_json_put_string(b, i->opcode.data ? (const char *)i->opcode.data : "", i->opcode.value);
    if (alone && flops > 0 && flops < 0x1p62) {
        gp_buf_puts(b, ",\"flops\":");
        gp_buf_put_u64(b, (uint64_t)flops);
        if (type) {
            gp_buf_puts(b, ",\"flops_type\":");
            gp_json_put_string(b, type, strlen(type));
        }
    }
    if (alone && bytes > 0 && bytes < 0x1p62) {
        gp_buf_puts(b, ",\"bytes_accessed\":");
        gp_buf_put_u64(b, (uint64_t)bytes);
    }
    gp_buf_putc(b, '}');
    return gp_trace_intern(r->t, b->data, b->n);
}

/* Without frames there is one line, below what JAX calls the operation. */
static uint32_t line_of(struct reading *r, const struct instruction *i)
{
    uint32_t stack = stack_of(r, i->frame);
    if (stack || !i->file.value || !i->op_name.value) return stack;
    struct gp_stack s = {
        .name = text_of(r, &i->op_name), .file = text_of(r, &i->file), .line = (uint32_t)i->line};
    return gp_trace_stack(r->t, &s);
}

static void name_kernels(struct reading *r)
{
    static const char *const silent[] = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast"};
    GP_EACH(const struct instruction, i, r->instructions) {
        bool runs = !r->computations.at[i->computation].inner;
        for (size_t s = 0; runs && s < GP_COUNT(silent); s++) runs = !is_op(i, silent[s]);
        if (!runs) continue;
        struct gp_hlo_op op = {args_of(r, i), line_of(r, i)};
        put(r, false, text_of(r, &i->name), op);
        put(r, true, kernel_name(r, i->kernel.value ? &i->kernel : &i->name), op);
    }
}

static void read_module(struct reading *r, struct gp_wire w)
{
    for (struct gp_wire_field f; gp_wire_next(&w, &f);) {
        if (f.tag == MODULE_FRAMES) read_frames(r, gp_wire_message(&f));
        if (f.tag != MODULE_COMPUTATION) continue;
        struct computation c = {.first = r->instructions.n};
        struct gp_wire in = gp_wire_message(&f);
        for (struct gp_wire_field g; gp_wire_next(&in, &g);) {
            if (g.tag == COMPUTATION_INSTRUCTION) read_instruction(r, gp_wire_message(&g));
            if (g.tag == COMPUTATION_ID) c.id = g.value;
            if (g.tag == COMPUTATION_ROOT) c.root = g.value;
        }
        c.n = r->instructions.n - c.first;
        *gp_map_put(&r->computation_at, c.id, 0) = (uint32_t)r->computations.n;
        GP_VEC_PUSH(&r->computations, c);
        sum_up(r, &r->computations.at[r->computations.n - 1]);
    }
}

void gp_hlo_add(struct gp_hlo *h, struct gp_trace *t, uint64_t id, struct gp_wire proto)
{
    uint32_t known = (uint32_t)h->programs.n;
    struct reading r = {.h = h, .t = t, .program = *gp_map_put(&h->programs, id, known)};
    for (struct gp_wire_field f; gp_wire_next(&proto, &f);)
        if (f.tag == HLO_MODULE) read_module(&r, gp_wire_message(&f));
    name_kernels(&r);
    GP_RELEASE(gp_map_release, &r.instruction_at, &r.computation_at, &r.parameter_at);
    GP_RELEASE(gp_vec_free, &r.instructions, &r.computations, &r.files, &r.functions, &r.places, &r.frames);
    gp_buf_release(&r.text);
}

const struct gp_hlo_op *gp_hlo_find(const struct gp_hlo *h, uint64_t id, gp_sid op, gp_sid kernel)
{
    const uint32_t *program = gp_map_get(&h->programs, id), *at;
    if (!program) return NULL;
    at = op ? gp_map_get(&h->at, key_of(*program, false, op)) : NULL;
    if (!at) at = gp_map_get(&h->at, key_of(*program, true, kernel));
    return at ? &h->ops.at[*at] : NULL;
}

void gp_hlo_release(struct gp_hlo *h)
{
    gp_map_release(&h->programs);
    gp_map_release(&h->at);
    GP_VEC_FREE(&h->ops);
}
