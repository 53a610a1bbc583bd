/* Calls back from two functions, one of which is inlined, on lines that it names. */
typedef void planted_fn(void);

extern const int planted_lines[2];
const int planted_lines[2] = {__LINE__ + 4, __LINE__ + 12};

static inline __attribute__((always_inline)) int planted_inlined(planted_fn *call, volatile int *n)
{
    call();
    return ++*n;
}

int planted_outer(planted_fn *call, int n);
int planted_outer(planted_fn *call, int n)
{
    volatile int kept = n;
    int more = planted_inlined(call, &kept);
    return more + kept;
}

int main(void) { return 0; }
