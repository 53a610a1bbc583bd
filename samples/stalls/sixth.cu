/* sixth.cu -- another ten kernels, each with one known fault, and its fix.
 *
 *     sixth --list
 *     sixth NAME [--fixed | --both] [--steps N] [--seconds S]
 *
 * frame.h has the steps and what is printed. The comment FAULT marks the line at fault. */
#include "data.h"

/* ---- revenue ---- */

enum { ORDERS = 1 << 24 };

/* An order as it is stored: 64 bytes. */
struct order {
    unsigned number, customer, product, shop;
    float price, cost, weight, volume;
    unsigned ordered, shipped, arrived, paid;
    float quantity, discount, tax, fee;
};

static __global__ void take_orders(order *in, float *price, float *quantity, float *discount)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    order o = {};
    o.number = i;
    o.price = price[i] = mixed(i) / 4294967296.0f;
    o.quantity = quantity[i] = mixed(~i) % 16 + 1;
    o.discount = discount[i] = mixed(i ^ 0x5a5a5a5a) % 8 / 16.0f;
    in[i] = o;
}

/* What each order earns. A lane has an order, and needs three of its 16 fields. */
static __global__ void earned(const order *__restrict__ in, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i].price * (1 - in[i].discount) * in[i].quantity; // FAULT revenue
}

/* Each field has an array of its own. */
static __global__ void earned_fixed(const float *__restrict__ price, const float *__restrict__ quantity,
                                    const float *__restrict__ discount, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = price[i] * (1 - discount[i]) * quantity[i];
}

static work revenue()
{
    order *in = zeros<order>(ORDERS);
    float *price = zeros<float>(ORDERS), *quantity = zeros<float>(ORDERS), *discount = zeros<float>(ORDERS);
    float *out = zeros<float>(ORDERS);
    take_orders<<<ORDERS / 256, 256>>>(in, price, quantity, discount);
    auto launch = [=](bool fixed) {
        if (!fixed) earned<<<ORDERS / 256, 256>>>(in, out);
        if (fixed) earned_fixed<<<ORDERS / 256, 256>>>(price, quantity, discount, out);
    };
    return {launch, arithmetic(2), copying(5), [=] { return difference(launch, out, ORDERS); }};
}

/* ---- motion ---- */

enum { PICTURE = 1024, MACROBLOCK = 16, REACH = 32, WINDOW = MACROBLOCK + REACH, ROOM_AROUND = PICTURE + REACH };

static __global__ void draw(unsigned char *at, int n, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) at[i] = mixed(i ^ seed);
}

/* Where each block of 16 x 16 pixels was in the picture before: a thread compares it at one of 32 x 32 places. The lanes of a
 * warp take places one below the other, whose rows lie 48 words apart in shared memory, in two banks; in the fix, places side
 * by side. */
template <bool BELOW>
static __global__ void __launch_bounds__(REACH * REACH) compared(const unsigned char *now, const unsigned char *before, int *out)
{
    __shared__ int here[MACROBLOCK][MACROBLOCK], window[WINDOW][WINDOW], best;
    int t = threadIdx.x, top = blockIdx.y * MACROBLOCK, left = blockIdx.x * MACROBLOCK;
    int down = BELOW ? t % REACH : t / REACH, right = BELOW ? t / REACH : t % REACH, sum = 0;
    if (t < MACROBLOCK * MACROBLOCK)
        here[t / MACROBLOCK][t % MACROBLOCK] = now[(top + t / MACROBLOCK) * PICTURE + left + t % MACROBLOCK];
    for (int i = t; i < WINDOW * WINDOW; i += REACH * REACH)
        window[i / WINDOW][i % WINDOW] = before[(top + i / WINDOW) * ROOM_AROUND + left + i % WINDOW];
    if (t == 0) best = 0x7fffffff;
    __syncthreads();
    for (int y = 0; y < MACROBLOCK; y++)
#pragma unroll
        for (int x = 0; x < MACROBLOCK; x++)
            sum += abs(here[y][x] - window[down + y][right + x]); // FAULT motion
    atomicMin(&best, sum * REACH * REACH + down * REACH + right);
    __syncthreads();
    if (t == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = best;
}

static work motion()
{
    int side = PICTURE / MACROBLOCK, pixels = PICTURE * PICTURE, around = ROOM_AROUND * ROOM_AROUND;
    unsigned char *now = zeros<unsigned char>(pixels), *before = zeros<unsigned char>(around);
    draw<<<(pixels + 255) / 256, 256>>>(now, pixels, 0);
    draw<<<(around + 255) / 256, 256>>>(before, around, 0x33333333);
    int *out = zeros<int>(side * side);
    dim3 blocks(side, side);
    auto launch = [=](bool fixed) {
        if (!fixed) compared<true><<<blocks, REACH * REACH>>>(now, before, out);
        if (fixed) compared<false><<<blocks, REACH * REACH>>>(now, before, out);
    };
    return {launch, copying(7), arithmetic(3), [=] { return difference(launch, out, side * side); }};
}

/* ---- kinetics ---- */

enum { SPECIES = 24, CELLS = 1 << 18, TIMES = 64 };

struct rates {
    float of[SPECIES];
};

/* What 24 species in each cell come to, of which each turns into the next, by steps of Runge and Kutta. The launch bounds ask
 * for as many threads as a multiprocessor holds, which leaves each 32 registers for 72 values; in the fix, for none. */
template <int BLOCKS> static __global__ void __launch_bounds__(256, BLOCKS) reacted(const float *in, rates rate, float *out)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    float amount[SPECIES], at[SPECIES], next[SPECIES];
#pragma unroll
    for (int i = 0; i < SPECIES; i++) at[i] = next[i] = amount[i] = in[i * CELLS + cell];
#pragma unroll 1
    for (int time = 0; time < TIMES; time++) {
#pragma unroll
        for (int stage = 0; stage < 4; stage++) {
            float share = stage == 0 || stage == 3 ? 1 / 6.0f : 1 / 3.0f, ahead = stage < 2 ? 0.5f : 1;
            float last = at[SPECIES - 1] * rate.of[SPECIES - 1];
#pragma unroll
            for (int i = 0; i < SPECIES; i++) {
                float turned = at[i] * rate.of[i], change = last - turned; // FAULT kinetics
                last = turned;
                next[i] += share * change;          // FAULT kinetics
                at[i] = amount[i] + ahead * change; // FAULT kinetics
            }
        }
#pragma unroll
        for (int i = 0; i < SPECIES; i++) at[i] = amount[i] = next[i]; // FAULT kinetics
    }
#pragma unroll
    for (int i = 0; i < SPECIES; i++) out[i * CELLS + cell] = amount[i];
}

static work kinetics()
{
    size_t n = (size_t)SPECIES * CELLS;
    float *in = numbers(n), *out = zeros<float>(n);
    rates rate;
    for (int i = 0; i < SPECIES; i++) rate.of[i] = 0.01f + i * 0.002f;
    auto launch = [=](bool fixed) {
        if (!fixed) reacted<8><<<CELLS / 256, 256>>>(in, rate, out);
        if (fixed) reacted<1><<<CELLS / 256, 256>>>(in, rate, out);
    };
    return {launch, arithmetic(3), copying(8), [=] { return difference(launch, out, n); }};
}

/* ---- reservoirs ---- */

enum { RESERVOIRS = 1 << 15, DAYS = 2048 };

/* How much water leaves each reservoir each day, by a thread for each. The output may lie where the input does, for all that
 * the compiler knows, so each day waits for its own rain. */
static __global__ void drained(const float *rain, const float *loss, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float level = 0.5f;
    for (int day = 0; day < DAYS; day++) {
        level += rain[(size_t)day * RESERVOIRS + i] - 0.5f * loss[(size_t)day * RESERVOIRS + i]; // FAULT reservoirs
        float flow = 0.125f * fmaxf(level, 0);
        level -= flow;
        out[(size_t)day * RESERVOIRS + i] = flow;
    }
}

/* It does not, and the rain of 16 days is asked for at once. */
static __global__ void drained_fixed(const float *__restrict__ rain, const float *__restrict__ loss, float *__restrict__ out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float level = 0.5f;
    for (int first = 0; first < DAYS; first += 16) {
        float gain[16];
#pragma unroll
        for (int k = 0; k < 16; k++) {
            size_t at = (size_t)(first + k) * RESERVOIRS + i;
            gain[k] = rain[at] - 0.5f * loss[at];
        }
#pragma unroll
        for (int k = 0; k < 16; k++) {
            level += gain[k];
            float flow = 0.125f * fmaxf(level, 0);
            level -= flow;
            out[(size_t)(first + k) * RESERVOIRS + i] = flow;
        }
    }
}

static work reservoirs()
{
    size_t n = (size_t)RESERVOIRS * DAYS;
    float *rain = numbers(n), *loss = numbers(2 * n) + n, *out = zeros<float>(n);
    auto launch = [=](bool fixed) {
        if (!fixed) drained<<<RESERVOIRS / 256, 256>>>(rain, loss, out);
        if (fixed) drained_fixed<<<RESERVOIRS / 256, 256>>>(rain, loss, out);
    };
    return {launch, arithmetic(4), copying(8), [=] { return difference(launch, out, n); }};
}

/* ---- spelling ---- */

enum { WORDS = 1 << 19, LONGEST = 48, LETTERS = 26, SPELLERS = 128, ROOM_OF_WORD = 400 };

struct typed {
    int letter[LONGEST];
};

static __global__ void write_words(unsigned char *letter)
{
    unsigned word = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < LONGEST; k++) letter[k * WORDS + word] = mixed(word * LONGEST + k) % LETTERS;
}

/* How many letters must change to make each word of a list what was typed. A thread keeps a row of the table in shared memory.
 * It has room for words of 400 letters, so a multiprocessor has one block of 128 threads; the fix has room for the 48 there are. */
static __global__ void spelled(const unsigned char *__restrict__ letter, typed text, unsigned char *out)
{
    extern __shared__ int row[];
    int word = blockIdx.x * SPELLERS + threadIdx.x, *mine = row + threadIdx.x, left = 0;
    for (int k = 0; k < LONGEST; k++) mine[k * SPELLERS] = k + 1;
    for (int i = 0; i < LONGEST; i++) {
        int here = letter[i * WORDS + word], corner = i;
        left = i + 1;
#pragma unroll 8
        for (int k = 0; k < LONGEST; k++) {
            int above = mine[k * SPELLERS];
            left = min(min(above, left) + 1, corner + (text.letter[k] != here)); // FAULT spelling
            mine[k * SPELLERS] = left;
            corner = above;
        }
    }
    out[word] = left;
}

static work spelling()
{
    unsigned char *letter = zeros<unsigned char>((size_t)WORDS * LONGEST), *out = zeros<unsigned char>(WORDS);
    typed text;
    for (int k = 0; k < LONGEST; k++) text.letter[k] = mixed(~k) % LETTERS;
    int most = ROOM_OF_WORD * SPELLERS * sizeof(int), enough = LONGEST * SPELLERS * sizeof(int);
    CHECK(cudaFuncSetAttribute(spelled, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
    write_words<<<WORDS / 256, 256>>>(letter);
    auto launch = [=](bool fixed) {
        if (!fixed) spelled<<<WORDS / SPELLERS, SPELLERS, most>>>(letter, text, out);
        if (fixed) spelled<<<WORDS / SPELLERS, SPELLERS, enough>>>(letter, text, out);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, out, WORDS); }};
}

/* ---- shapes ---- */

enum { SHAPES = 1 << 20, KINDS = 4, PROBES = 128 };

struct shape {
    float x, y, z, size;
    int kind, number;
};

/* How near each shape is to the nearest of 128 probes. The shapes of a warp are of four kinds, and it takes one kind after the
 * other; in the fix, the shapes lie sorted by kind. */
static __global__ void approached(const shape *in, const float4 *probe, float *out)
{
    shape s = in[blockIdx.x * blockDim.x + threadIdx.x];
    float least = 1e30f;
    for (int k = 0; k < PROBES; k++) {
        float x = probe[k].x - s.x, y = probe[k].y - s.y, z = probe[k].z - s.z, apart;
        if (s.kind == 0) {
            apart = sqrtf(x * x + y * y + z * z) - s.size; // FAULT shapes
        } else if (s.kind == 1) {
            float a = fmaxf(fabsf(x) - s.size, 0), b = fmaxf(fabsf(y) - s.size, 0), c = fmaxf(fabsf(z) - s.size, 0); // FAULT shapes
            apart = sqrtf(a * a + b * b + c * c); // FAULT shapes
        } else if (s.kind == 2) {
            float ring = sqrtf(x * x + y * y) - s.size;          // FAULT shapes
            apart = sqrtf(ring * ring + z * z) - 0.25f * s.size; // FAULT shapes
        } else {
            float off = sqrtf(x * x + y * y) - s.size, up = fabsf(z) - s.size;                 // FAULT shapes
            apart = sqrtf(fmaxf(off, 0) * fmaxf(off, 0) + fmaxf(up, 0) * fmaxf(up, 0) + 1e-6f); // FAULT shapes
        }
        least = fminf(least, apart);
    }
    out[s.number] = least;
}

static work shapes()
{
    std::vector<shape> mixed_up(SHAPES), sorted;
    for (unsigned i = 0; i < SHAPES; i++) {
        auto unit = [=](unsigned k) { return mixed(i * 8 + k) / 4294967296.0f; };
        mixed_up[i] = {4 * unit(0), 4 * unit(1), 4 * unit(2), 0.05f + 0.1f * unit(3), (int)(mixed(i * 8 + 4) % KINDS), (int)i};
    }
    for (int kind = 0; kind < KINDS; kind++)
        std::copy_if(mixed_up.begin(), mixed_up.end(), std::back_inserter(sorted), [=](const shape &s) { return s.kind == kind; });
    shape *in[2] = {on_gpu(mixed_up), on_gpu(sorted)};
    float4 *probe = (float4 *)numbers(4 * PROBES);
    float *out = zeros<float>(SHAPES);
    auto launch = [=](bool fixed) { approached<<<SHAPES / 256, 256>>>(in[fixed], probe, out); };
    return {launch, copying(6), arithmetic(2), [=] { return difference(launch, out, SHAPES); }};
}

/* ---- hough ---- */

enum { DOTS = 1 << 19, ANGLES = 180, OFFSETS = 2048, PARTS_OF_DOTS = 16 };

struct directions {
    float2 to[ANGLES];
};

static __device__ inline int offset_of(float2 dot, float2 to) { return (int)((dot.x * to.x + dot.y * to.y + 1.5f) * (OFFSETS / 3)); }

/* Each dot votes for the lines through it, by 180 angles, in global memory. */
static __global__ void voted(const float2 *dot, directions direction, unsigned *votes)
{
    float2 mine = dot[blockIdx.x * blockDim.x + threadIdx.x];
    for (int a = 0; a < ANGLES; a++)
        atomicAdd(&votes[a * OFFSETS + offset_of(mine, direction.to[a])], 1); // FAULT hough
}

/* A block counts the votes for one angle in shared memory, for a sixteenth of the dots. */
static __global__ void voted_fixed(const float2 *dot, directions direction, unsigned *votes)
{
    __shared__ unsigned count[OFFSETS];
    float2 to = direction.to[blockIdx.x];
    for (int i = threadIdx.x; i < OFFSETS; i += blockDim.x) count[i] = 0;
    __syncthreads();
    int first = blockIdx.y * (DOTS / PARTS_OF_DOTS);
    for (int i = threadIdx.x; i < DOTS / PARTS_OF_DOTS; i += blockDim.x) atomicAdd(&count[offset_of(dot[first + i], to)], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < OFFSETS; i += blockDim.x)
        if (count[i]) atomicAdd(&votes[blockIdx.x * OFFSETS + i], count[i]);
}

static work hough()
{
    float2 *dot = (float2 *)numbers(2 * DOTS);
    unsigned *votes = zeros<unsigned>(ANGLES * OFFSETS);
    directions direction;
    for (int a = 0; a < ANGLES; a++) {
        double angle = a * 3.14159265358979 / ANGLES;
        direction.to[a] = make_float2(std::cos(angle), std::sin(angle));
    }
    auto launch = [=](bool fixed) {
        if (!fixed) voted<<<DOTS / 256, 256>>>(dot, direction, votes);
        if (fixed) voted_fixed<<<dim3(ANGLES, PARTS_OF_DOTS), 256>>>(dot, direction, votes);
    };
    return {launch, arithmetic(3), copying(9), [=] { return difference(launch, votes, ANGLES * OFFSETS); }};
}

/* ---- concordance ---- */

enum { GOODS = 8192, BEST_SELLERS = 32, MOST_REVIEWS = 4096, PART_OF_REVIEWS = 1024 };

/* The reviews that a block compares, from first to last, are of a product whose reviews go from begin to end. */
struct share_of_work {
    int begin, end, first, last;
};

/* With how many reviews of its product each review agrees: of the two, the one with the higher price has the higher rating.
 * A block has a product, and the few with most reviews come last; in the fix, a block has at most 1,024 reviews. */
static __global__ void agreed(const share_of_work *share, const float2 *review, int *out)
{
    share_of_work mine = share[blockIdx.x];
    for (int i = mine.first + threadIdx.x; i < mine.last; i += blockDim.x) {
        float2 here = review[i];
        int count = 0;
        for (int k = mine.begin; k < mine.end; k++)
            count += (review[k].x < here.x) == (review[k].y < here.y); // FAULT concordance
        out[i] = count;
    }
}

static work concordance()
{
    std::vector<share_of_work> whole, parts;
    int reviews = 0;
    for (int p = 0; p < GOODS; p++) {
        int begin = reviews;
        reviews += p < GOODS - BEST_SELLERS ? 512 + (int)(mixed(p) % 256) : MOST_REVIEWS;
        whole.push_back({begin, reviews, begin, reviews});
        for (int first = begin; first < reviews; first += PART_OF_REVIEWS)
            parts.push_back({begin, reviews, first, std::min(first + PART_OF_REVIEWS, reviews)});
    }
    int blocks[2] = {(int)whole.size(), (int)parts.size()}, *out = zeros<int>(reviews);
    share_of_work *share[2] = {on_gpu(whole), on_gpu(parts)};
    float2 *review = (float2 *)numbers(2 * (size_t)reviews);
    auto launch = [=](bool fixed) { agreed<<<blocks[fixed], 256>>>(share[fixed], review, out); };
    return {launch, arithmetic(2), copying(9), [=] { return difference(launch, out, reviews); }};
}

/* ---- bitonic ---- */

enum { LISTS = 1 << 16, ITEMS = 1024 };

/* Sorts lists of 1,024 keys, by a block for each. Threads show each other their keys in shared memory, and meet twice at each
 * of 55 steps. In the fix, they shuffle where both are in a warp, and 15 steps are left. */
template <bool SHUFFLE> static __global__ void __launch_bounds__(ITEMS) sorted(const unsigned *in, unsigned *out)
{
    __shared__ unsigned shown[ITEMS];
    int t = threadIdx.x;
    size_t at = (size_t)blockIdx.x * ITEMS + t;
    unsigned mine = in[at], other;
    for (int size = 2; size <= ITEMS; size *= 2)
        for (int apart = size / 2; apart > 0; apart /= 2) {
            if (SHUFFLE && apart < 32) {
                other = __shfl_xor_sync(~0u, mine, apart);
            } else {
                shown[t] = mine;
                __syncthreads(); // FAULT bitonic
                other = shown[t ^ apart];
                __syncthreads(); // FAULT bitonic
            }
            bool smaller = ((t & size) == 0) == ((t & apart) == 0);
            mine = smaller ? min(mine, other) : max(mine, other);
        }
    out[at] = mine;
}

static work bitonic()
{
    size_t n = (size_t)LISTS * ITEMS;
    unsigned *in = (unsigned *)numbers(n), *out = zeros<unsigned>(n); /* the bits of positive numbers */
    auto launch = [=](bool fixed) {
        if (!fixed) sorted<false><<<LISTS, ITEMS>>>(in, out);
        if (fixed) sorted<true><<<LISTS, ITEMS>>>(in, out);
    };
    return {launch, copying(9), arithmetic(3), [=] { return difference(launch, out, n); }};
}

/* ---- shares ---- */

enum { SECRETS = 1 << 22, TERMS = 16, HOLDERS = 8, PRIME = 65521 };

static __global__ void choose(unsigned *term)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < TERMS; k++) term[k * SECRETS + i] = mixed(k * SECRETS + i) % PRIME;
}

/* Divides secrets among eight holders: each gets the value of a polynomial at a place of his own, modulo a prime. The prime is
 * an argument, so each term takes a division; in the fix, the compiler knows it. */
template <unsigned KNOWN_PRIME> static __global__ void divided(const unsigned *term, unsigned prime, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, mine[TERMS], modulus = KNOWN_PRIME ? KNOWN_PRIME : prime;
#pragma unroll
    for (int k = 0; k < TERMS; k++) mine[k] = term[k * SECRETS + i];
    for (unsigned holder = 0; holder < HOLDERS; holder++) {
        unsigned place = 4099 * holder + 17, sum = 0;
#pragma unroll
        for (int k = 0; k < TERMS; k++)
            sum = (sum * place + mine[k]) % modulus; // FAULT shares
        out[holder * SECRETS + i] = sum;
    }
}

static work shares()
{
    unsigned *term = zeros<unsigned>((size_t)TERMS * SECRETS), *out = zeros<unsigned>((size_t)HOLDERS * SECRETS);
    choose<<<SECRETS / 256, 256>>>(term);
    auto launch = [=](bool fixed) {
        if (!fixed) divided<0><<<SECRETS / 256, 256>>>(term, PRIME, out);
        if (fixed) divided<PRIME><<<SECRETS / 256, 256>>>(term, PRIME, out);
    };
    return {launch, arithmetic(3), copying(8), [=] { return difference(launch, out, (size_t)HOLDERS * SECRETS); }};
}

static const struct {
    const char *name;
    work (*prepare)();
} programs[] = {
    {"revenue", revenue}, {"motion", motion}, {"kinetics", kinetics},       {"reservoirs", reservoirs}, {"spelling", spelling},
    {"shapes", shapes},   {"hough", hough},   {"concordance", concordance}, {"bitonic", bitonic},       {"shares", shares},
};

int main(int argc, char **argv)
{
    std::vector<std::string> names;
    for (auto &p : programs) names.push_back(p.name);
    return run_program(argc, argv, names, [](const std::string &name) {
        return std::find_if(std::begin(programs), std::end(programs), [&](auto &p) { return name == p.name; })->prepare();
    });
}
