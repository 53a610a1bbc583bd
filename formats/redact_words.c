#include <ctype.h>
#include <string.h>
#include "formats/base/count.h"
#include "formats/base/str.h"
#include "formats/redact.h"

enum { LONGEST = 64 };

/* In lower case, without _; by their first character, each between blanks. */
static const char *const words[128] = {
    ['a'] = " abs ac2g accumulategrad acquire active adadelta adafactor adagrad adam adamax adamw "
            "adaptiveavgpool1d adaptiveavgpool2d add addbmm addcdiv addcmul addmm addmv addr alias all "
            "allclose allgather allgatherbase allgathercoalesced allgatherintotensor "
            "allgatherintotensorcoalesced allocated allocations allocator allreduce allreducecoalesced "
            "alltoall alltoallbase alltoallsingle alltoallv amax amin ampforeachnonfinitecheckandunscale "
            "ampupdatescale and any api arange are argmax argmin argsort asgd asin assertasync asstrided "
            "asynccputogpu at atan autograd avg avgpool1d avgpool2d avgpool3d ",
    ['b'] = " backward baddbmm band barrier basedataloaderiter batchnorm batchnormimplindex bernoulli bf16 "
            "bfloat16 bilinear binarycrossentropy binarycrossentropywithlogits bincount bits bitwiseand "
            "bitwisenot bitwiseor bmm bool bor broadcast broadcastto bucketize budget built bwd bxor by "
            "byte bytes ",
    ['c'] = " c c10 c10d call calls cat cdist ceil char chunk clamp clampmax clampmin clock clone coalesced "
            "collect compiled compiledfunction complex complex128 complex32 complex64 complexdouble "
            "complexfloat compute concat conj constantpadnd context contiguous conv1d conv2d conv3d "
            "convolution convtranspose1d convtranspose2d convtranspose3d copies copy copysign copyslices "
            "cos count cpu cpuop crossentropyloss ctcloss cuda cudadriver cudaevent cudaruntime cudasync "
            "cudnnattentionforward cudnnbatchnorm cudnnconvolution cumprod cumsum ",
    ['d'] = " dataloader default detach device diag diagonal dict distributeddataparallel div dot double "
            "dropout dtod dtoh ",
    ['e'] = " efficientattentionforward einsum elu embedding embeddingbag embeddingdense empty emptylike "
            "emptystrided energy engine enter eq erf error evaluatefunction event events exit exp expand "
            "expandas expm1 exponential eye ",
    ['f'] = " fill flashattentionforward flatten flip float float16 float32 float64 float8 float8e4m3fn "
            "float8e5m2 floor floordivide fmod foreachadd foreachaddcdiv foreachaddcmul foreachcopy "
            "foreachdiv foreachexp foreachlerp foreachmaximum foreachmul foreachneg foreachnorm foreachpow "
            "foreachsqrt foreachzero forward fp16 fp32 fp64 frac free from full fulllike function "
            "fusedadam fusedadamw fusedsgd fwd fwdbwd ",
    ['g'] = " gather gc ge gelu generator genericlist getattr glu gpu gpumemcpy gpumemset gpuuserannotation "
            "graphs gridsampler gridsampler2d groupnorm gru gt ",
    ['h'] = " half hardsigmoid hardswish hardtanh hardware hasattr here hipruntime htod huberloss ",
    ['i'] = " im2col in index indexadd indexcopy indexfill indexput indexselect init instancenorm instant "
            "int int16 int32 int64 int8 inverse irecv isalltrue isclose isend isfinite isinf isinstance "
            "isnan isnonzero ispinned item iter iteration ",
    ['j'] = " j ",
    ['k'] = " kernel kernels kldiv kthvalue ",
    ['l'] = " l1loss layernorm layout lbfgs le leakyrelu left len lerp liftfresh linalgvectornorm linear "
            "linspace list localscalardense lock log log10 log1p log2 logicaland logicalnot logicalor "
            "logsigmoid logsoftmax logsoftmaxbackwarddata logsumexp long lstm lt ",
    ['m'] = " main maskedfill maskedscatter maskedselect matmul max maximum maxpool1d maxpool2d "
            "maxpool2dwithindices maxpool3d mean median memory meshgrid method mhz min minimum mish "
            "mkldnnconvolution mm module monitoredbarrier movedim mseloss mtiaruntime mul multinomial "
            "multiprocessingdataloaderiter muon mv ",
    ['n'] = " nadam nantonum narrow nativebatchnorm nativedropout nativegroupnorm nativelayernorm "
            "nativemultiheadattention nccl ncclallgather ncclallreduce ncclalltoall ncclbcast "
            "ncclbroadcast ncclcommabort ncclcommcount ncclcommcudevice ncclcommderegister ncclcommdestroy "
            "ncclcommfinalize ncclcommgrow ncclcomminitall ncclcomminitrank ncclcomminitrankconfig "
            "ncclcomminitrankscalable ncclcommregister ncclcommshrink ncclcommsplit ncclcommuserrank "
            "ncclcommwindowderegister ncclcommwindowregister ncclgather ncclgetuniqueid ncclgroupend "
            "ncclgroupstart ncclmemalloc ncclmemfree ncclrecv ncclredopcreatepremulsum ncclredopdestroy "
            "ncclreduce ncclreducescatter ncclscatter ncclsend ne neg newempty newfull newones newzeros "
            "next nllloss nlllossforward nlllossnd none nonzero norm normal numpyt nvtx ",
    ['o'] = " object of on onehot ones oneslike optimizer optionaltensorlist others out overhead ",
    ['p'] = " pad permute pinmemory pixelshuffle pow power prelu premul print process processes prod "
            "product profiler profilerstep pythonfunction pytorch ",
    ['q'] = " qint32 qint8 quantile quint8 ",
    ['r'] = " radam rand randint randlike randn randnlike random randperm read real reasons received "
            "reciprocal recorded recording recv recvanysource reduce reducescatter reducescatterbase "
            "reducescattercoalesced reducescattertensor reducescattertensorcoalesced reflectionpad2d "
            "region release relu relu6 remainder repeat repeatinterleave reserved reshape reshapealias "
            "resize resolveconj resolveneg resulttype rlock rmsnorm rmsprop rnntanh roll round rprop rsqrt "
            "rsub ",
    ['s'] = " scalar scalarlist scalartensor scaleddotproductattention scaleddotproductattentionmath "
            "scaleddotproductcudnnattention scaleddotproductefficientattention "
            "scaleddotproductflashattention scatter scatteradd scatterreduce searchsorted second select "
            "selu send sent set setattr sgd sgn short sigmoid sign signed silu sin "
            "singleprocessdataloaderiter sleep slice slicescatter smoothl1loss softmax softmaxbackwarddata "
            "softmin softplus sort sparseadam split splitwithsizes sqrt square squeeze stack start starts "
            "std stdmean step stops stream string sub sum ",
    ['t'] = " t take takealongdim tan tanh temperature tensor tensorlist tensorsplit thread threads "
            "threshold tile time to tocopy topk torch total trace transpose tril triu truedivide tuple "
            "type typeas ",
    ['u'] = " uint16 uint32 uint64 uint8 unbind undefinedgrad unflatten unfold uniform unique unique2 "
            "unknown unsafesplit unsafeview unsigned unsqueeze unused upsamplebilinear2d upsamplenearest2d "
            "used userannotation utilization ",
    ['v'] = " value var varmean vdot view viewas viewascomplex viewasreal ",
    ['w'] = " w wait waits where whole windows write ",
    ['z'] = " zero zerograd zeroredundancyoptimizer zeros zeroslike ",
};

/* Units of the GPU that begin the names of its counters, before "__". */
static const char *const units[] = {"dram", "fbpa",  "fe",    "gpc",  "gpu", "gr",   "idc", "l1tex", "lts",
                                    "mcc",  "nvlrx", "nvltx", "pcie", "sm",  "smsp", "sys", "tpc"};

size_t gp_word_length(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n && (isalnum((unsigned char)s[i]) || s[i] == '_' || (unsigned char)s[i] >= 0x80)) i++;
    return i;
}

static bool is_number(const char *s, size_t n)
{
    size_t i = n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 2 : 0;
    bool hex = i != 0;
    while (i < n && (hex ? isxdigit((unsigned char)s[i]) : isdigit((unsigned char)s[i]))) i++;
    return i == n;
}

static bool is_known(const char *word, size_t n)
{
    const char *of = (unsigned char)*word < GP_COUNT(words) ? words[(unsigned char)*word] : NULL;
    return of && gp_is_one_of(word, n, of);
}

static bool is_counter(const char *s, size_t n)
{
    for (size_t i = 0; i < GP_COUNT(units); i++) {
        size_t k = strlen(units[i]);
        if (gp_begin(s, n, units[i]) && gp_begin(s + k, n - k, "__")) return true;
    }
    return false;
}

bool gp_word_public(const char *s, size_t n)
{
    static const char backward[] = "backward";
    char word[LONGEST];
    size_t k = 0;
    if (is_number(s, n) || is_counter(s, n)) return true;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '_') continue;
        if (k == LONGEST - 1) return false;
        word[k++] = (char)tolower((unsigned char)s[i]);
    }
    if (!k || is_known(word, k)) return true;
    while (k && isdigit((unsigned char)word[k - 1])) k--;
    size_t end = sizeof backward - 1;
    if (k <= end || memcmp(word + k - end, backward, end) != 0) return false;
    return is_known(word, k - end);
}

bool gp_words_public(const char *s, size_t n)
{
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        len = gp_word_length(s + i, n - i);
        if (len && !gp_word_public(s + i, len)) return false;
    }
    return true;
}
