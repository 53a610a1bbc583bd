#include <string.h>
#include "collect/unwind/cfi.h"
#include "collect/unwind/unwind_priv.h"

/* Adds the page of AT to what can be read, if it can. */
static bool probe(struct gp_walk *w, uint64_t at)
{
    uint64_t page = at & ~UINT64_C(4095);
    if (w->probes >= w->u->probes_most) return false;
    w->probes++;
    w->t->reusable = false; /* it may be gone next time */
    if (!gp_page_is_there(at)) return false;
    if (w->end != page) w->begin = page;
    w->end = page + 4096;
    return true;
}

static inline bool readable(struct gp_walk *w, uint64_t at)
{
    if (at >= w->begin && at < w->end && w->end - at >= 8) return true;
    if (at < 4096 || at > UINT64_MAX - 4096) return false;
    if ((at < w->begin || at >= w->end) && !probe(w, at)) return false;
    return w->end - at >= 8 || probe(w, w->end);
}

/* A word that decides where the walk goes. */
static inline bool load(struct gp_walk *w, uint64_t at, uint64_t *value)
{
    struct gp_unwind_thread *t = w->t;
    if (!readable(w, at)) return false;
    *value = gp_stack_load(at);
    if (t->words_n == GP_UNWIND_WORDS) {
        t->reusable = false;
        return true;
    }
    t->words[t->words_n].at = at;
    t->words[t->words_n++].value = *value;
    return true;
}

static inline bool get(struct gp_walk *w, uint64_t reg, uint64_t *value)
{
    if (reg >= GP_UNWIND_REGISTERS || w->from[reg] == GP_FROM_NOWHERE) return false;
    if (w->from[reg] == GP_FROM_START) w->t->used |= UINT64_C(1) << reg;
    else if (w->from[reg] != GP_FROM_WALK) {
        if (!load(w, w->from[reg], &w->value[reg])) return false;
        w->from[reg] = GP_FROM_WALK;
    }
    *value = w->value[reg];
    return true;
}

static inline void put(struct gp_walk *w, unsigned reg, uint64_t value)
{
    w->value[reg] = value;
    w->from[reg] = GP_FROM_WALK;
}

static bool stop(struct gp_walk *w, enum gp_unwind_end end)
{
    w->t->end = end;
    return false;
}

/* The place of PC; a module cannot go away while one of its functions is on the stack. */
static inline const struct gp_unwind_place *find(struct gp_walk *w, uint64_t pc)
{
    struct gp_unwind_thread *t = w->t;
    struct gp_unwind_place *p = &t->places[w->place];
    if (t->places_n && pc - p->begin < p->end - p->begin) return p;
    for (uint32_t i = 0; i < t->places_n; i++) {
        p = &t->places[i];
        if (pc - p->begin >= p->end - p->begin) continue;
        w->place = i;
        return p;
    }
    if (t->places_n == GP_UNWIND_MODULES) t->reusable = false;
    else t->places_n++;
    w->place = t->places_n - 1;
    gp_places_find(&w->u->places, pc, &t->places[w->place]);
    return &t->places[w->place];
}

/* ---- code without CFI ---- */

static bool is_code(struct gp_walk *w, uint64_t ip)
{
    struct gp_place_segment s;
    const struct gp_unwind_place *p = find(w, ip);
    return p->tag && gp_place_is_there(&w->u->places, p) && gp_place_segment(p, ip, &s) && s.code;
}

/* A frame pointer leads to the caller's and to the return address, if it points a little way up the same
 * stack. What else the code saved is not known. */
static bool guess(struct gp_walk *w)
{
    enum { FRAME_MOST = 1 << 20 };
    struct gp_unwind_thread *t = w->t;
    uint64_t fp, sp = w->value[GP_REG_SP], ip, caller_fp;
    if (w->from[GP_REG_SP] != GP_FROM_NOWHERE && !get(w, GP_REG_SP, &sp)) return stop(w, GP_UNWIND_NO_CFI);
    if (!get(w, GP_REG_FP, &fp) || fp % 8 || fp < sp || fp - sp > FRAME_MOST)
        return stop(w, GP_UNWIND_NO_CFI);
    if (!load(w, fp, &caller_fp) || !load(w, fp + 8, &ip) || !is_code(w, ip - 1))
        return stop(w, GP_UNWIND_NO_CFI);
    for (unsigned r = 0; r < GP_UNWIND_REGISTERS; r++) w->from[r] = GP_FROM_NOWHERE;
    put(w, GP_REG_FP, caller_fp);
    put(w, GP_REG_PC, ip);
    put(w, GP_REG_SP, fp + 16);
#ifdef __aarch64__
    w->from[GP_REG_SP] = GP_FROM_NOWHERE; /* the record lies below what the frame holds, so that is no CFA */
#endif
    if (t->exact > t->n) t->exact = t->n;
    w->ip = ip;
    w->interrupted = false;
    return true;
}

/* ---- one frame ---- */

static uint64_t without_signature(uint64_t ip)
{
#ifdef __aarch64__
    register uint64_t x30 __asm__("x30") = ip;
    __asm__("hint #7" : "+r"(x30)); /* xpaclri, which older processors skip */
    return x30;
#else
    return ip;
#endif
}

/* The caller's registers are in place but for the address to return to. */
static inline bool enter_caller(struct gp_walk *w, uint64_t sp, uint64_t cfa, unsigned ra_reg, bool is_signal,
                                bool is_signed)
{
    uint64_t ip;
    if (cfa < sp && !is_signal && sp >= w->begin && cfa >= w->begin) return stop(w, GP_UNWIND_CORRUPT);
    if (!get(w, ra_reg, &ip)) return stop(w, GP_UNWIND_CORRUPT);
    if (is_signed) ip = without_signature(ip);
    if (!ip) return stop(w, GP_UNWIND_OUTERMOST);
    if (ip == w->ip && cfa == sp) return stop(w, GP_UNWIND_CORRUPT);
    put(w, GP_REG_PC, ip);
    w->ip = ip;
    w->interrupted = is_signal;
    return true;
}

static inline bool step_row(struct gp_walk *w, const struct gp_row *row)
{
    uint64_t base, sp = 0;
    if (row->kind == GP_ROW_OUTERMOST) return stop(w, GP_UNWIND_OUTERMOST);
    if (!get(w, row->reg, &base)) return stop(w, GP_UNWIND_CORRUPT);
    uint64_t cfa = base + (uint64_t)(int64_t)row->offset;
    if (row->kind == GP_ROW_DEREF && !load(w, cfa, &cfa)) return stop(w, GP_UNWIND_CORRUPT);
    if (w->from[GP_REG_SP] != GP_FROM_NOWHERE) get(w, GP_REG_SP, &sp);
    put(w, GP_REG_SP, cfa);
    for (unsigned i = 0; i < row->saved_n; i++) {
        const struct gp_row_saved *saved = &row->saved[i];
        uint64_t at = (saved->from_reg ? base : cfa) + (uint64_t)((int64_t)saved->at * 8);
        w->from[saved->reg] = at > GP_FROM_NOWHERE ? at : GP_FROM_NOWHERE;
    }
    return enter_caller(w, sp, cfa, row->ra_reg, row->signal, row->ra_signed);
}

static bool machine_reg(void *ctx, uint64_t reg, uint64_t *value) { return get(ctx, reg, value); }

static bool machine_load(void *ctx, uint64_t at, uint64_t *value) { return load(ctx, at, value); }

/* Where register R of the caller is, as RULE says; OLD has the registers of the callee. */
static void restore(struct gp_walk *w, struct gp_walk *old, unsigned r, const struct gp_cfi_rule *rule,
                    uint64_t cfa)
{
    struct gp_cfi_machine m = {machine_reg, machine_load, old};
    uint64_t v = 0;
    bool found = true;
    switch ((enum gp_cfi_kind)rule->kind) {
    case GP_CFI_SAME: return;
    case GP_CFI_UNDEFINED: found = false; break;
    case GP_CFI_OFFSET: v = cfa + (uint64_t)rule->n; break;
    case GP_CFI_VAL_OFFSET: v = cfa + (uint64_t)rule->n; break;
    case GP_CFI_REGISTER: found = get(old, (uint64_t)rule->n, &v); break;
    case GP_CFI_EXPR:
    case GP_CFI_VAL_EXPR: found = gp_cfi_eval(&m, rule->expr, rule->expr_n, &cfa, &v); break;
    }
    w->from[r] = GP_FROM_NOWHERE;
    if (!found) return;
    if (rule->kind != GP_CFI_OFFSET && rule->kind != GP_CFI_EXPR) put(w, r, v);
    else if (v > GP_FROM_NOWHERE) w->from[r] = v;
}

static bool step_full(struct gp_walk *w, const struct gp_cfi_row *row)
{
    struct gp_cfi_machine m = {machine_reg, machine_load, w};
    uint64_t cfa = 0, sp = 0;
    bool found = row->cfa.kind == GP_CFI_EXPR ? gp_cfi_eval(&m, row->cfa.expr, row->cfa.expr_n, NULL, &cfa)
                                              : row->cfa.kind == GP_CFI_OFFSET && get(w, row->cfa_reg, &cfa);
    if (!found) return stop(w, GP_UNWIND_CORRUPT);
    if (row->cfa.kind == GP_CFI_OFFSET) cfa += (uint64_t)row->cfa.n;
    if (w->from[GP_REG_SP] != GP_FROM_NOWHERE) get(w, GP_REG_SP, &sp);
    struct gp_walk old = *w;
    put(w, GP_REG_SP, cfa);
    for (unsigned r = 0; r < GP_UNWIND_REGISTERS; r++) restore(w, &old, r, &row->reg[r], cfa);
    w->begin = old.begin;
    w->end = old.end;
    w->probes = old.probes;
    return enter_caller(w, sp, cfa, row->ra_reg, row->signal, row->ra_signed);
}

#ifdef __aarch64__
/* The kernel's trampoline behind a signal handler has no CFI: the registers lie above the stack pointer. */
static bool step_trampoline(struct gp_walk *w)
{
    enum { CONTEXT = 128 + 176 + 8 };
    uint64_t sp;
    const uint32_t *code = (const uint32_t *)(uintptr_t)w->ip;
    if (!get(w, GP_REG_SP, &sp) || !readable(w, sp) || w->ip % 4) return false;
    if (code[0] != 0xd2801168 || code[1] != 0xd4000001) return false;
    for (unsigned r = 0; r <= 32; r++) w->from[r] = sp + CONTEXT + 8 * r;
    return enter_caller(w, sp, sp, GP_REG_PC, true, false);
}
#endif

static bool without_row(struct gp_walk *w, const struct gp_unwind_place *p)
{
#ifdef __aarch64__
    if (p->tag && is_code(w, w->ip) && step_trampoline(w)) return true;
    if (w->t->end == GP_UNWIND_CORRUPT) return false;
#else
    (void)p;
#endif
    return guess(w);
}

/* Finds the row in the module's table; a full one that does not fit into the short form is used as it is. */
static bool step_cold(struct gp_walk *w, const struct gp_unwind_place *p, uint64_t pc)
{
    struct gp_cfi_row full;
    struct gp_row row = {.kind = GP_ROW_NONE};
    struct gp_place_segment s;
    enum gp_cfi_found found = GP_CFI_BAD;
    if (!gp_place_is_there(&w->u->places, p)) return stop(w, GP_UNWIND_CORRUPT);
    if (gp_place_segment(p, p->hdr, &s)) found = gp_cfi_find(s.begin, s.end, p->hdr, pc, &full);
    if (found == GP_CFI_BAD) return stop(w, GP_UNWIND_CORRUPT);
    if (found == GP_CFI_FOUND && !gp_row_from(&full, &row)) return step_full(w, &full);
    gp_rows_put(&w->u->rows, pc, p->tag, &row);
    return row.kind == GP_ROW_NONE ? without_row(w, p) : step_row(w, &row);
}

bool gp_walk_step(struct gp_walk *w)
{
    union gp_row_words row;
    uint64_t pc = w->ip - !w->interrupted;
    const struct gp_unwind_place *p = find(w, pc);
    if (!p->hdr) return without_row(w, p);
    if (!gp_rows_get(&w->u->rows, pc, p->tag, &row)) return step_cold(w, p, pc);
    return row.row.kind == GP_ROW_NONE ? without_row(w, p) : step_row(w, &row.row);
}
