#include "collect/attach/attach_priv.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>

/* What the instructions find at their stack pointer; they know these offsets. */
struct data {
    uint64_t dlopen, dlsym, error_location, context; /* CONTEXT: where the registers are saved */
    char symbol[32], library[512];
};
_Static_assert(offsetof(struct data, symbol) == 32 && offsetof(struct data, library) == 64, "offsets");

/* Interrupted calls: EINTR, and what the kernel has for those that it would make again. */
static bool is_interrupted(int64_t result)
{
    enum { RESTART_FIRST = 512, RESTART_LAST = 516 };
    return result == -EINTR || (result <= -RESTART_FIRST && result >= -RESTART_LAST);
}

static bool write_words(pid_t tid, uint64_t at, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(long)) {
        long word = 0;
        memcpy(&word, (const char *)from + i, n - i < sizeof word ? n - i : sizeof word);
        if (ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)(at + i), (void *)word)) return false;
    }
    return true;
}

/* The instructions. They leave errno as it was, which belongs to the thread. Hidden, or the linker of aarch64
 * takes one end for the other. */
extern const uint8_t gp_detour_begins[] __attribute__((visibility("hidden")));
extern const uint8_t gp_detour_ends[] __attribute__((visibility("hidden")));

size_t gp_detour_room(void) { return (size_t)(gp_detour_ends - gp_detour_begins); }

static bool fill(struct data *d, const struct gp_process_code *c, const char *library)
{
    *d = (struct data){.dlopen = c->dlopen,
                       .dlsym = c->dlsym,
                       .error_location = c->error_location,
                       .symbol = "InitializeInjectionDormant"};
    if (strlen(library) >= sizeof d->library) return false;
    memcpy(d->library, library, strlen(library));
    return true;
}

#if defined __x86_64__

enum {
    RED_ZONE = 128,
    KERNEL_CONTEXT = 304, /* bytes of the kernel's struct ucontext */
    IN_FX = 464,          /* where an area of FP state says what is in it */
    FX_BYTES = 512,
    SAVED_FLAGS = 7, /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
    DIRECTION = 1 << 10,
    USER_CODE = 0x33 /* 64-bit */
};
static const uint32_t MAGIC_1 = 0x46505853, MAGIC_2 = 0x46505845;

__asm__(".pushsection .rodata\n"
        "gp_detour_begins:\n"
        "   mov %rsp, %rbx\n"
        "   call *16(%rbx)\n"
        "   mov (%rax), %r12d\n"
        "   lea 64(%rbx), %rdi\n"
        "   mov $2, %esi\n" /* RTLD_NOW */
        "   call *(%rbx)\n"
        "   test %rax, %rax\n"
        "   jz 1f\n"
        "   mov %rax, %rdi\n"
        "   lea 32(%rbx), %rsi\n"
        "   call *8(%rbx)\n"
        "   test %rax, %rax\n"
        "   jz 1f\n"
        "   call *%rax\n"
        "1: call *16(%rbx)\n"
        "   mov %r12d, (%rax)\n"
        "   mov 24(%rbx), %rsp\n"
        "   mov $15, %eax\n" /* rt_sigreturn */
        "   syscall\n"
        "   ud2\n"
        "gp_detour_ends:\n"
        ".popsection\n");

long gp_detour_call(const uint8_t *before)
{
    uint32_t call;
    memcpy(&call, before + 2, sizeof call);
    return before[1] == 0xb8 && before[6] == 0x0f ? (long)call : -1; /* mov $call, %eax; syscall */
}

/* call to a place, or through a register or memory in its forms of 2, 3, 6 and 7 bytes. */
bool gp_detour_is_call(const uint8_t *before)
{
    static const unsigned through[] = {6, 5, 2, 1};
    for (size_t i = 0; i < sizeof through / sizeof *through; i++)
        if (before[through[i]] == 0xff && (before[through[i] + 1] & 0x38) == 0x10) return true;
    return before[3] == 0xe8;
}

/* The FP state as the kernel would save it for a handler. Returns its size, 0: unknown. */
static size_t save_fp(pid_t tid, uint8_t *to, size_t size)
{
    struct iovec area = {to, (size - sizeof MAGIC_2) & ~(size_t)7};
    uint64_t kinds;
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &area) || area.iov_len < FX_BYTES) return 0;
    memcpy(&kinds, to + IN_FX, sizeof kinds);
    struct {
        uint32_t magic, extended_bytes;
        uint64_t kinds;
        uint32_t bytes, padding[7];
    } in_fx = {MAGIC_1, (uint32_t)(area.iov_len + sizeof MAGIC_2), kinds, (uint32_t)area.iov_len, {0}};
    _Static_assert(sizeof in_fx == FX_BYTES - IN_FX, "as the kernel has it");
    memcpy(to + IN_FX, &in_fx, sizeof in_fx);
    memcpy(to + area.iov_len, &MAGIC_2, sizeof MAGIC_2);
    return area.iov_len + sizeof MAGIC_2;
}

/* The call is made again where it has been interrupted without a result. */
static void save_registers(ucontext_t *u, const struct user_regs_struct *r, long call)
{
    bool again = is_interrupted((int64_t)r->rax);
    // clang-format off
    const unsigned long long g[] = {
        r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rdi, r->rsi, r->rbp, r->rbx, r->rdx,
        again ? (unsigned long long)call : r->rax, r->rcx, r->rsp, again ? r->rip - 2 : r->rip, r->eflags,
        r->cs | r->ss << 48};
    // clang-format on
    _Static_assert(REG_R8 == 0 && REG_CSGSFS == 18, "their order");
    memcpy(u->uc_mcontext.gregs, g, sizeof g);
}

/* In the frame: the data, the context, and the FP state, which is aligned. */
bool gp_detour_start(pid_t tid, const struct gp_waiting *w, const struct gp_process_code *c,
                     const char *library)
{
    struct user_regs_struct r;
    struct data data;
    size_t context = (sizeof data + 15) & ~(size_t)15, fp = (context + KERNEL_CONTEXT + 63) & ~(size_t)63;
    _Alignas(64) uint8_t frame[GP_DETOUR_FRAME] = {0};
    ucontext_t u = {.uc_flags = SAVED_FLAGS};
    if (!fill(&data, c, library) || ptrace(PTRACE_GETREGS, tid, NULL, &r) ||
        ptrace(PTRACE_GETSIGMASK, tid, (void *)(uintptr_t)sizeof(uint64_t), &u.uc_sigmask))
        return false;
    bool still = ((long)r.orig_rax == w->call || r.orig_rax == SYS_restart_syscall) && r.rsp == w->sp &&
                 r.rip == w->pc && r.cs == USER_CODE;
    size_t fp_n = still ? save_fp(tid, frame + fp, sizeof frame - fp) : 0;
    if (!fp_n) return false;
    uint64_t at = (w->sp - RED_ZONE - fp - fp_n) & ~UINT64_C(63);
    save_registers(&u, &r, w->call);
    u.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)(at + fp);
    data.context = at + context;
    memcpy(frame, &data, sizeof data);
    memcpy(frame + context, &u, KERNEL_CONTEXT);
    r.rip = c->room;
    r.rsp = at;
    r.orig_rax = UINT64_MAX; /* no call is in progress */
    r.eflags &= ~(unsigned long long)DIRECTION;
    return write_words(tid, c->room, gp_detour_begins, gp_detour_room()) &&
           write_words(tid, at, frame, fp + fp_n) && !ptrace(PTRACE_SETREGS, tid, NULL, &r);
}

#elif defined __aarch64__

enum { FRAME_INFO = 128 /* the kernel's siginfo, before its context */ };

__asm__(".pushsection .rodata\n"
        ".balign 4\n"
        "gp_detour_begins:\n"
        "   mov x19, sp\n"
        "   ldr x9, [x19, #16]\n"
        "   blr x9\n"
        "   ldr w20, [x0]\n"
        "   add x0, x19, #64\n"
        "   mov w1, #2\n" /* RTLD_NOW */
        "   ldr x9, [x19]\n"
        "   blr x9\n"
        "   cbz x0, 1f\n"
        "   add x1, x19, #32\n"
        "   ldr x9, [x19, #8]\n"
        "   blr x9\n"
        "   cbz x0, 1f\n"
        "   blr x0\n"
        "1: ldr x9, [x19, #16]\n"
        "   blr x9\n"
        "   str w20, [x0]\n"
        "   ldr x9, [x19, #24]\n"
        "   mov sp, x9\n"
        "   mov x8, #139\n" /* rt_sigreturn */
        "   svc #0\n"
        "   .inst 0\n" /* not defined */
        "gp_detour_ends:\n"
        ".popsection\n");

static uint32_t instruction(const uint8_t *at)
{
    uint32_t i;
    memcpy(&i, at, sizeof i);
    return i;
}

long gp_detour_call(const uint8_t *before)
{
    uint32_t move = instruction(before); /* mov x8, #call; svc #0 */
    bool known = (move & 0xffe0001f) == 0xd2800008 && instruction(before + 4) == 0xd4000001;
    return known ? (long)(move >> 5 & 0xffff) : -1;
}

bool gp_detour_is_call(const uint8_t *before)
{
    uint32_t i = instruction(before + 4); /* bl, or blr and its forms that check the address */
    return (i & 0xfc000000) == 0x94000000 || (i & 0xfefff000) == 0xd63f0000;
}

/* As the kernel would save it for a handler. A call of the system leaves nothing in longer vectors. */
static bool save_fp(pid_t tid, uint8_t *to)
{
    struct user_fpsimd_struct fp;
    struct iovec area = {&fp, sizeof fp};
    struct fpsimd_context c = {.head = {FPSIMD_MAGIC, sizeof c}};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &area)) return false;
    c.fpsr = fp.fpsr;
    c.fpcr = fp.fpcr;
    memcpy(c.vregs, fp.vregs, sizeof c.vregs);
    memcpy(to, &c, sizeof c);
    return true;
}

/* The kernel has gone back to the call that it would make again; an interrupted one is over. */
static void save_registers(mcontext_t *m, const struct user_regs_struct *r, const struct gp_waiting *w)
{
    bool over = r->pc == w->pc && is_interrupted((int64_t)r->regs[0]);
    memcpy(m->regs, r->regs, sizeof m->regs);
    if (over) m->regs[0] = w->args[0];
    m->sp = r->sp;
    m->pc = over ? r->pc - 4 : r->pc;
    m->pstate = r->pstate;
}

/* In the frame: the data, and what the kernel writes for a handler. */
bool gp_detour_start(pid_t tid, const struct gp_waiting *w, const struct gp_process_code *c,
                     const char *library)
{
    struct user_regs_struct r;
    struct iovec general = {&r, sizeof r};
    struct data data;
    size_t context = (sizeof data + 15) & ~(size_t)15, fp = offsetof(mcontext_t, __reserved);
    size_t used = offsetof(ucontext_t, uc_mcontext) + fp + sizeof(struct fpsimd_context) + 16;
    _Alignas(16) uint8_t frame[GP_DETOUR_FRAME] = {0};
    ucontext_t u = {0};
    int no_call = -1;
    struct iovec call = {&no_call, sizeof no_call};
    if (!fill(&data, c, library) || ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &general) ||
        ptrace(PTRACE_GETSIGMASK, tid, (void *)(uintptr_t)sizeof(uint64_t), &u.uc_sigmask) ||
        !save_fp(tid, (uint8_t *)u.uc_mcontext.__reserved))
        return false;
    bool still = r.sp == w->sp && (r.pc == w->pc || r.pc == w->pc - 4) && (long)r.regs[8] == w->call;
    if (!still || gp_process_is_critical(c, r.regs[30]))
        return false; /* its caller need not be on the stack */
    uint64_t at = (w->sp - context - FRAME_INFO - used) & ~UINT64_C(15);
    save_registers(&u.uc_mcontext, &r, w);
    data.context = at + context;
    memcpy(frame, &data, sizeof data);
    memcpy(frame + context + FRAME_INFO, &u, used);
    r.pc = c->room;
    r.sp = at;
    return write_words(tid, c->room, gp_detour_begins, gp_detour_room()) &&
           write_words(tid, at, frame, context + FRAME_INFO + used) &&
           !ptrace(PTRACE_SETREGSET, tid, (void *)NT_ARM_SYSTEM_CALL, &call) &&
           !ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &general);
}

#endif
