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

/* errno belongs to the thread. */
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
extern const uint8_t gp_detour_begins[], gp_detour_ends[];

size_t gp_detour_room(void) { return (size_t)(gp_detour_ends - gp_detour_begins); }

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

/* Interrupted calls: EINTR, and what the kernel has for those that it would make again. */
static bool is_interrupted(int64_t result)
{
    enum { RESTART_FIRST = 512, RESTART_LAST = 516 };
    return result == -EINTR || (result <= -RESTART_FIRST && result >= -RESTART_LAST);
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

static bool write_words(pid_t tid, uint64_t at, const void *from, size_t n)
{
    for (size_t i = 0; i < n; i += sizeof(long)) {
        long word = 0;
        memcpy(&word, (const char *)from + i, n - i < sizeof word ? n - i : sizeof word);
        if (ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)(at + i), (void *)word)) return false;
    }
    return true;
}

/* In the frame: the data, the context, and the FP state, which is aligned. */
bool gp_detour_start(pid_t tid, const struct gp_waiting *w, const struct gp_process_code *c,
                     const char *library)
{
    struct user_regs_struct r;
    struct data data = {.dlopen = c->dlopen,
                        .dlsym = c->dlsym,
                        .error_location = c->error_location,
                        .symbol = "InitializeInjectionDormant"};
    size_t context = (sizeof data + 15) & ~(size_t)15, fp = (context + KERNEL_CONTEXT + 63) & ~(size_t)63;
    _Alignas(64) uint8_t frame[GP_DETOUR_FRAME] = {0};
    ucontext_t u = {.uc_flags = SAVED_FLAGS};
    if (strlen(library) >= sizeof data.library || ptrace(PTRACE_GETREGS, tid, NULL, &r) ||
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
    memcpy(data.library, library, strlen(library));
    memcpy(frame, &data, sizeof data);
    memcpy(frame + context, &u, KERNEL_CONTEXT);
    r.rip = c->room;
    r.rsp = at;
    r.orig_rax = UINT64_MAX; /* no call is in progress */
    r.eflags &= ~(unsigned long long)DIRECTION;
    return write_words(tid, c->room, gp_detour_begins, gp_detour_room()) &&
           write_words(tid, at, frame, fp + fp_n) && !ptrace(PTRACE_SETREGS, tid, NULL, &r);
}

#endif
