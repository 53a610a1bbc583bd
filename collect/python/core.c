/* The fast part of the Python module gputrace: ranges, which go to whoever listens (gpuprof.h) and into sums
 * per name, and the calls that begin and end sessions. Uses Python's stable ABI of 3.10; everything here runs
 * under its lock. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>
#include <pthread.h>
#include <stdbool.h>
#include "collect/gpuprof.h"
#include "formats/base/clock.h"
#include "formats/base/declare.h"

#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080 /* limited API since 3.10; hidden in headers of 3.9 */
#endif

enum { MAX_METRICS = 16, MAX_NAMES = 4096 };

/* A number of the calls of a name. */
struct number {
    char *name;
    int rule;
    uint64_t count;
    double value; /* the sum, or the largest */
};

/* What a name has come to; never freed, at most MAX_NAMES of them and one for the rest. */
struct sums {
    struct sums *next;
    struct gpuprof_site site;
    PyObject *name;
    uint64_t count;
    int64_t total_ns, min_ns, max_ns;
    double squares; /* of ns */
    struct number numbers[MAX_METRICS];
    size_t n;
};

typedef struct {
    PyObject_HEAD PyObject *name;
    struct sums *sums;
    gpuprof_metric_t *metrics;
    size_t n;
} range_object;

/* A range that is open. */
struct frame {
    range_object *range; /* a reference, as is the task: a later one at the same address is another */
    PyObject *task;      /* of asyncio, or NULL */
    int64_t start_ns;    /* 0: the sums are off */
    uint64_t id;         /* of a range that is not on the stack of its thread; 0: it is, or nobody listened */
    int pushed;
    PyObject *token; /* of the hook, or NULL */
};

struct stack {
    struct frame *at;
    size_t n, cap;
};

static _Thread_local struct stack *mine __attribute__((tls_model("initial-exec")));

static struct {
    struct sums *first;
    size_t names;
    PyObject *by_name; /* name -> its range without numbers, which is kept */
    PyObject *type;    /* of ranges */
    struct sums *rest; /* for names beyond the limit */
    int summing;
    PyObject *enter, *leave;     /* hooks, or NULL */
    PyObject *decorate;          /* (range, function) -> function */
    PyObject *modules, *asyncio; /* sys.modules, and its key */
    PyObject *running_loop, *current_task;
    allocfunc alloc;
    freefunc release;
    pthread_key_t key;
} self = {.summing = 1};

/* ---- names ---- */

/* NAME as UTF-8 without NUL, whatever it holds; a new reference to bytes. */
static PyObject *to_bytes(PyObject *name)
{
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
    char *p;
    Py_ssize_t n;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &p, &n)) {
        Py_XDECREF(bytes);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!p[i]) p[i] = ' ';
    return bytes;
}

static struct sums *new_sums(PyObject *name, const char *text)
{
    struct sums *s = calloc(1, sizeof *s);
    char *copy = strdup(text);
    if (!s || !copy) {
        free(s);
        free(copy);
        PyErr_NoMemory();
        return NULL;
    }
    Py_INCREF(name);
    s->name = name;
    s->site.text = copy;
    s->next = self.first;
    return self.first = s;
}

/* A range of NAME, which adds to SUMS. */
static range_object *new_range(PyObject *name, struct sums *sums)
{
    range_object *r = (range_object *)self.alloc((PyTypeObject *)self.type, 0);
    if (!r) return NULL;
    Py_INCREF(name);
    r->name = name;
    r->sums = sums;
    return r;
}

/* The range of NAME without numbers: a new reference to the one that is kept, as ranges have no state of
 * their own. Where there are too many names, one that adds to the sums of the rest. */
static range_object *find_range(PyObject *name)
{
    PyObject *known = PyDict_GetItemWithError(self.by_name, name), *bytes;
    if (known) {
        Py_INCREF(known);
        return (range_object *)known;
    }
    if (PyErr_Occurred()) return NULL;
    if (self.names == MAX_NAMES) return new_range(name, self.rest);
    if (!(bytes = to_bytes(name))) return NULL;
    struct sums *s = new_sums(name, PyBytes_AsString(bytes));
    range_object *r = s ? new_range(name, s) : NULL;
    Py_DECREF(bytes);
    if (!r || PyDict_SetItem(self.by_name, name, (PyObject *)r)) {
        Py_XDECREF((PyObject *)r);
        return NULL;
    }
    self.names++;
    return r;
}

/* ---- the stack of a thread ---- */

static void free_stack(void *p)
{
    struct stack *s = p;
    free(s->at);
    free(s);
}

static struct frame *new_frame(void)
{
    if (!mine) {
        mine = calloc(1, sizeof *mine);
        if (mine) pthread_setspecific(self.key, mine);
    }
    if (mine && mine->n == mine->cap) {
        size_t cap = mine->cap ? mine->cap * 2 : 32;
        struct frame *at = realloc(mine->at, cap * sizeof *at);
        if (!at) return NULL;
        mine->at = at;
        mine->cap = cap;
    }
    return mine ? &mine->at[mine->n++] : NULL;
}

/* The task of asyncio that runs, a new reference; NULL: none. */
static PyObject *task(void)
{
    if (!self.running_loop) {
        PyObject *asyncio = PyDict_GetItemWithError(self.modules, self.asyncio);
        if (!asyncio) return NULL;
        self.running_loop = PyObject_GetAttrString(asyncio, "_get_running_loop");
        self.current_task = PyObject_GetAttrString(asyncio, "current_task");
        PyErr_Clear(); /* it is being imported */
        if (!self.running_loop || !self.current_task) {
            Py_CLEAR(self.running_loop);
            Py_CLEAR(self.current_task);
            return NULL;
        }
    }
    PyObject *loop = PyObject_CallNoArgs(self.running_loop), *t = NULL;
    if (loop && loop != Py_None) t = PyObject_CallFunctionObjArgs(self.current_task, loop, NULL);
    PyErr_Clear();
    Py_XDECREF(loop);
    if (t != Py_None) return t;
    Py_DECREF(t);
    return NULL;
}

/* ---- ranges ---- */

static void add(struct sums *s, int64_t ns)
{
    if (!s->count || ns < s->min_ns) s->min_ns = ns;
    if (ns > s->max_ns) s->max_ns = ns;
    s->count++;
    s->total_ns += ns;
    s->squares += (double)ns * (double)ns;
}

static struct number *find_number(struct sums *s, const gpuprof_metric_t *m)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->numbers[i].rule == m->rule && !strcmp(s->numbers[i].name, m->name)) return &s->numbers[i];
    char *copy = s->n < MAX_METRICS ? strdup(m->name) : NULL;
    if (!copy) return NULL;
    s->numbers[s->n] = (struct number){.name = copy, .rule = m->rule};
    return &s->numbers[s->n++];
}

/* The numbers of one more call; those beyond the limit of a name are left out. */
static void add_numbers(struct sums *s, const gpuprof_metric_t *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct number *to = find_number(s, &m[i]);
        if (!to) continue;
        bool more = to->rule != GPUPROF_MAX || !to->count || m[i].value > to->value;
        if (to->rule != GPUPROF_MAX) to->value += m[i].value;
        else if (more) to->value = m[i].value;
        to->count++;
    }
}

static PyObject *enter(range_object *r)
{
    const gpuprof_table_t *t = gpuprof_table_();
    PyObject *in_task = task(), *token = NULL;
    if (self.enter && !(token = PyObject_CallFunctionObjArgs(self.enter, r, NULL))) {
        Py_XDECREF(in_task);
        return NULL;
    }
    struct frame *f = new_frame();
    if (!f) {
        Py_XDECREF(in_task);
        Py_XDECREF(token);
        return PyErr_NoMemory();
    }
    Py_INCREF(r); /* the frame's */
    *f = (struct frame){.range = r, .task = in_task, .token = token};
    if (t) {
        uint64_t id = gpuprof_id_(t, &r->sums->site);
        if (in_task) f->id = t->start(id, r->metrics, r->n);
        else t->push(id, r->metrics, r->n);
        f->pushed = !in_task;
    }
    f->start_ns = self.summing ? gp_now_ns() : 0;
    Py_INCREF(r);
    return (PyObject *)r;
}

/* The latest frame of R in this task: nearly always the last one. */
static size_t find_frame(const range_object *r)
{
    const struct frame *last = mine && mine->n ? &mine->at[mine->n - 1] : NULL;
    if (!last) return SIZE_MAX;
    if (last->range == r && !last->task) return mine->n - 1;
    PyObject *in_task = task();
    size_t i = mine->n;
    while (i && (mine->at[i - 1].range != r || mine->at[i - 1].task != in_task)) i--;
    Py_XDECREF(in_task);
    return i ? i - 1 : SIZE_MAX;
}

static PyObject *leave(range_object *r)
{
    int64_t end_ns = self.summing ? gp_now_ns() : 0;
    size_t i = find_frame(r);
    if (i == SIZE_MAX)
        return PyErr_Format(PyExc_RuntimeError, "range %R ends on a thread or task that it did not begin on",
                            r->name);
    struct frame f = mine->at[i];
    memmove(&mine->at[i], &mine->at[i + 1], (--mine->n - i) * sizeof f);
    const gpuprof_table_t *t = gpuprof_table_();
    if (t && f.id) t->stop(f.id);
    else if (t && f.pushed) t->pop();
    if (f.start_ns && end_ns) add(r->sums, end_ns - f.start_ns);
    if (r->n && f.start_ns && end_ns) add_numbers(r->sums, r->metrics, r->n);
    PyObject *done = NULL;
    bool failed =
        f.token && self.leave && !(done = PyObject_CallFunctionObjArgs(self.leave, r, f.token, NULL));
    Py_XDECREF(done);
    Py_XDECREF(f.token);
    Py_XDECREF(f.task);
    Py_DECREF(f.range); /* the caller has another */
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyObject *range_enter(PyObject *r, GP_UNUSED PyObject *unused) { return enter((range_object *)r); }

static PyObject *range_exit(PyObject *r, GP_UNUSED PyObject *const *args, GP_UNUSED Py_ssize_t n)
{
    return leave((range_object *)r);
}

/* {name: value or (value, "sum"|"max"|"mean")} */
static int set_metrics(range_object *r, PyObject *metrics)
{
    static const char *const rules[] = {"sum", "max", "mean"};
    PyObject *key, *value;
    Py_ssize_t at = 0;
    if (!metrics || metrics == Py_None) return 0;
    if (!PyDict_Check(metrics) || PyDict_Size(metrics) > MAX_METRICS) {
        PyErr_Format(PyExc_TypeError, "metrics: a dict of at most %d numbers", MAX_METRICS);
        return -1;
    }
    r->metrics = calloc((size_t)PyDict_Size(metrics) + 1, sizeof *r->metrics);
    while (r->metrics && PyDict_Next(metrics, &at, &key, &value)) {
        gpuprof_metric_t *m = &r->metrics[r->n];
        PyObject *number = value, *rule = NULL;
        if (PyTuple_Check(value) && PyTuple_Size(value) == 2) {
            number = PyTuple_GetItem(value, 0);
            rule = PyTuple_GetItem(value, 1);
        }
        PyObject *text = PyUnicode_Check(key) ? to_bytes(key) : NULL;
        m->value = PyFloat_AsDouble(number);
        while (rule && PyUnicode_Check(rule) && m->rule < 3 &&
               PyUnicode_CompareWithASCIIString(rule, rules[m->rule]))
            m->rule++;
        if (!text || PyErr_Occurred() || m->rule == 3 || (rule && !PyUnicode_Check(rule))) {
            Py_XDECREF(text);
            PyErr_SetString(
                PyExc_TypeError,
                "metrics: names are text, values are numbers or (number, \"sum\"|\"max\"|\"mean\")");
            return -1;
        }
        m->name = strdup(PyBytes_AsString(text));
        Py_DECREF(text);
        r->n += m->name != NULL;
    }
    return r->metrics ? 0 : (PyErr_NoMemory(), -1);
}

static void range_free(PyObject *o)
{
    range_object *r = (range_object *)o;
    PyTypeObject *type = Py_TYPE(o);
    for (size_t i = 0; i < r->n; i++) free((char *)(uintptr_t)r->metrics[i].name);
    free(r->metrics);
    Py_XDECREF(r->name);
    self.release(o);
    Py_DECREF(type);
}

/* flops= and bytes= are metrics that have a name of their own. */
static PyObject *merge(PyObject *metrics, PyObject *flops, PyObject *bytes)
{
    PyObject *all = metrics && metrics != Py_None ? PyDict_New() : NULL;
    if (!all && !flops && !bytes) return NULL;
    if (!all) all = PyDict_New();
    if (all && metrics && metrics != Py_None && PyDict_Update(all, metrics)) Py_CLEAR(all);
    if (all && flops && flops != Py_None) PyDict_SetItemString(all, "flops", flops);
    if (all && bytes && bytes != Py_None) PyDict_SetItemString(all, "bytes", bytes);
    return all;
}

static PyObject *range_with(PyObject *name, PyObject *metrics)
{
    range_object *plain = find_range(name);
    if (!plain || !metrics) return (PyObject *)plain;
    range_object *r = new_range(name, plain->sums);
    Py_DECREF((PyObject *)plain);
    if (r && set_metrics(r, metrics)) {
        Py_DECREF((PyObject *)r);
        r = NULL;
    }
    return (PyObject *)r;
}

/* @range without a name */
static PyObject *decorate(PyObject *function, PyObject *metrics)
{
    PyObject *own = PyObject_GetAttrString(function, "__qualname__");
    if (!own) {
        PyErr_Clear();
        own = PyObject_Str((PyObject *)Py_TYPE(function));
    }
    PyObject *r = own ? range_with(own, metrics) : NULL;
    PyObject *o = r ? PyObject_CallFunctionObjArgs(self.decorate, r, function, NULL) : NULL;
    Py_XDECREF(own);
    Py_XDECREF(r);
    return o;
}

static PyObject *range_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"name", "flops", "bytes", "metrics", NULL};
    PyObject *name, *flops = NULL, *bytes = NULL, *metrics = NULL, *o = NULL;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$OOO:range", names, &name, &flops, &bytes, &metrics))
        return NULL;
    PyObject *all = merge(metrics, flops, bytes);
    if (PyErr_Occurred()) o = NULL;
    else if (PyUnicode_Check(name)) o = range_with(name, all);
    else if (PyCallable_Check(name) && self.decorate) o = decorate(name, all);
    else PyErr_Format(PyExc_TypeError, "range: the name is text, or the function to decorate, not %R", name);
    Py_XDECREF(all);
    return o;
}

/* range(...) as it is called: with only a name, which is common, no arguments are packed. */
static PyObject *call_range(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *keywords)
{
    (void)module;
    if (n == 1 && !keywords && PyUnicode_Check(args[0])) return (PyObject *)find_range(args[0]);
    PyObject *packed = PyTuple_New(n), *named = keywords ? PyDict_New() : NULL, *o = NULL;
    for (Py_ssize_t i = 0; packed && i < n; i++) {
        Py_INCREF(args[i]);
        PyTuple_SetItem(packed, i, args[i]);
    }
    for (Py_ssize_t i = 0; named && i < PyTuple_Size(keywords); i++)
        if (PyDict_SetItem(named, PyTuple_GetItem(keywords, i), args[n + i])) Py_CLEAR(named);
    if (packed && (named || !keywords)) o = PyObject_Call(self.type, packed, named);
    Py_XDECREF(packed);
    Py_XDECREF(named);
    return o;
}

/* A range as a decorator. */
static PyObject *range_call(PyObject *r, PyObject *args, PyObject *keywords)
{
    PyObject *function;
    (void)keywords;
    if (!PyArg_ParseTuple(args, "O:range", &function)) return NULL;
    if (!PyCallable_Check(function))
        return PyErr_Format(PyExc_TypeError, "range: can decorate a function, not %R", function);
    return PyObject_CallFunctionObjArgs(self.decorate, r, function, NULL);
}

static PyObject *range_name(PyObject *r, GP_UNUSED void *unused)
{
    Py_INCREF(((range_object *)r)->name);
    return ((range_object *)r)->name;
}

static PyObject *range_repr(PyObject *r)
{
    return PyUnicode_FromFormat("gputrace.range(%R)", ((range_object *)r)->name);
}

static PyMethodDef range_methods[] = {
    {"__enter__", range_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))range_exit, METH_FASTCALL, NULL},
    {0},
};

static PyGetSetDef range_members[] = {{"name", range_name, NULL, "its name", NULL}, {0}};

static const char range_doc[] =
    "range(name, *, flops=None, bytes=None, metrics=None)\n--\n\n"
    "A named part of the program, as a context manager that may be kept, nested and reused by any number of\n"
    "threads and tasks, or as a decorator of functions, methods and coroutines: @range, @range(name).\n"
    "flops, bytes and metrics {name: value or (value, \"sum\"|\"max\"|\"mean\")} are numbers of one call.";

static PyType_Slot range_slots[] = {
    {Py_tp_doc, (void *)range_doc}, {Py_tp_new, range_new},
    {Py_tp_dealloc, range_free},    {Py_tp_call, range_call},
    {Py_tp_repr, range_repr},       {Py_tp_methods, range_methods},
    {Py_tp_getset, range_members},  {0, NULL},
};

static PyType_Spec range_spec = {"gputrace.range", sizeof(range_object), 0, Py_TPFLAGS_DEFAULT, range_slots};

/* ---- functions ---- */

static PyObject *mark(PyObject *module, PyObject *args)
{
    PyObject *name;
    unsigned long long value = 0;
    const gpuprof_table_t *t = gpuprof_table_();
    (void)module;
    if (!PyArg_ParseTuple(args, "U|K:mark", &name, &value)) return NULL;
    range_object *r = find_range(name);
    if (!r) return NULL;
    uint64_t number = value;
    if (t) t->mark(gpuprof_id_(t, &r->sums->site), &number, NULL, 0);
    Py_DECREF((PyObject *)r);
    Py_RETURN_NONE;
}

/* (error, reason) */
static PyObject *result(int error) { return Py_BuildValue("is", error, gpuprof_reason(error)); }

static PyObject *record(PyObject *module, PyObject *args)
{
    int on, error;
    (void)module;
    if (!PyArg_ParseTuple(args, "p:record", &on)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = on ? gpuprof_on() : gpuprof_off();
    Py_END_ALLOW_THREADS;
    return result(error);
}

static PyObject *attach(PyObject *module, PyObject *args)
{
    gpuprof_options_t o = {NULL};
    int error;
    (void)module;
    if (!PyArg_ParseTuple(args, "|z:attach", &o.library)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = gpuprof_attach(&o);
    Py_END_ALLOW_THREADS;
    return result(error);
}

static PyObject *enabled(GP_UNUSED PyObject *module, GP_UNUSED PyObject *unused)
{
    return PyBool_FromLong(gpuprof_enabled());
}

/* begin(name, path, flags) -> (error, reason, session, late), where session is for end(). */
static PyObject *begin(PyObject *module, PyObject *args)
{
    const char *name, *path;
    int flags, error;
    gpuprof_session_t session;
    (void)module;
    if (!PyArg_ParseTuple(args, "ssi:begin", &name, &path, &flags)) return NULL;
    memset(&session, 0, sizeof session);
    if (strlen(path) >= sizeof session.path)
        return PyErr_Format(PyExc_ValueError, "the path of the trace is too long");
    strcpy(session.path, path);
    Py_BEGIN_ALLOW_THREADS;
    error = gpuprof_begin(&session, name, flags);
    Py_END_ALLOW_THREADS;
    return Py_BuildValue("isy#i", error, gpuprof_reason(error), (const char *)&session,
                         (Py_ssize_t)sizeof session, session.late);
}

/* end(session) -> (error, reason, path, start_ns, end_ns) */
static PyObject *end(PyObject *module, PyObject *args)
{
    const char *bytes;
    Py_ssize_t n;
    gpuprof_session_t session;
    int error;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#:end", &bytes, &n)) return NULL;
    if (n != sizeof session) return PyErr_Format(PyExc_ValueError, "not a session");
    memcpy(&session, bytes, sizeof session);
    Py_BEGIN_ALLOW_THREADS;
    error = gpuprof_end(&session);
    Py_END_ALLOW_THREADS;
    return Py_BuildValue("issLL", error, gpuprof_reason(error), session.path, (long long)session.start_ns,
                         (long long)session.end_ns);
}

/* {name: value}, by the rule of each */
static PyObject *numbers_of(const struct sums *s)
{
    PyObject *all = PyDict_New();
    for (size_t i = 0; all && i < s->n; i++) {
        const struct number *k = &s->numbers[i];
        if (!k->count) continue;
        double v = k->rule == GPUPROF_MEAN ? k->value / (double)k->count : k->value;
        PyObject *value = PyFloat_FromDouble(v);
        if (!value || PyDict_SetItemString(all, k->name, value)) Py_CLEAR(all);
        Py_XDECREF(value);
    }
    return all;
}

/* sums() -> [(name, count, total_ns, min_ns, max_ns, sum of squares, metrics)], the latest name first */
static PyObject *sums(PyObject *module, PyObject *unused)
{
    PyObject *list = PyList_New(0);
    (void)module;
    (void)unused;
    for (const struct sums *s = self.first; list && s; s = s->next) {
        if (!s->count) continue;
        PyObject *row =
            Py_BuildValue("OKLLLdN", s->name, (unsigned long long)s->count, (long long)s->total_ns,
                          (long long)s->min_ns, (long long)s->max_ns, s->squares, numbers_of(s));
        if (!row || PyList_Append(list, row)) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

static PyObject *reset(GP_UNUSED PyObject *module, GP_UNUSED PyObject *unused)
{
    for (struct sums *s = self.first; s; s = s->next) {
        s->count = 0;
        s->total_ns = s->min_ns = s->max_ns = 0;
        s->squares = 0;
        for (size_t i = 0; i < s->n; i++) {
            s->numbers[i].count = 0;
            s->numbers[i].value = 0;
        }
    }
    Py_RETURN_NONE;
}

static PyObject *summing(GP_UNUSED PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "p:summing", &self.summing)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *listening(GP_UNUSED PyObject *module, GP_UNUSED PyObject *unused)
{
    const gpuprof_table_t *t = gpuprof_table_();
    if (t && !t->version) t = gpuprof_find_();
    return PyUnicode_FromString(!t ? "nobody" : t->begin ? "gpuprof" : "NVTX");
}

static void set(PyObject **to, PyObject *value)
{
    PyObject *old = *to;
    *to = value == Py_None ? NULL : value;
    Py_XINCREF(*to);
    Py_XDECREF(old);
}

/* hooks(enter, leave): enter(range) -> token, leave(range, token) -> None, or None for none. */
static PyObject *hooks(PyObject *module, PyObject *args)
{
    PyObject *in, *out;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO:hooks", &in, &out)) return NULL;
    set(&self.enter, in);
    set(&self.leave, out);
    Py_RETURN_NONE;
}

static PyObject *decorator(GP_UNUSED PyObject *module, PyObject *function)
{
    set(&self.decorate, function);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"range", (PyCFunction)(void (*)(void))call_range, METH_FASTCALL | METH_KEYWORDS, range_doc},
    {"mark", mark, METH_VARARGS, NULL},
    {"record", record, METH_VARARGS, NULL},
    {"attach", attach, METH_VARARGS, NULL},
    {"enabled", enabled, METH_NOARGS, NULL},
    {"begin", begin, METH_VARARGS, NULL},
    {"end", end, METH_VARARGS, NULL},
    {"sums", sums, METH_NOARGS, NULL},
    {"reset", reset, METH_NOARGS, NULL},
    {"summing", summing, METH_VARARGS, NULL},
    {"listening", listening, METH_NOARGS, NULL},
    {"hooks", hooks, METH_VARARGS, NULL},
    {"decorator", decorator, METH_O, NULL},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition), *other;
    if (!module || self.by_name) return module;
    pthread_key_create(&self.key, free_stack);
    self.by_name = PyDict_New();
    other = PyUnicode_FromString("(other names)");
    self.rest = other ? new_sums(other, "(other names)") : NULL;
    Py_XDECREF(other);
    self.modules = PyImport_GetModuleDict();
    self.asyncio = PyUnicode_InternFromString("asyncio");
    self.type = PyType_FromSpec(&range_spec);
    if (self.type) self.alloc = (allocfunc)PyType_GetSlot((PyTypeObject *)self.type, Py_tp_alloc);
    if (self.type) self.release = (freefunc)PyType_GetSlot((PyTypeObject *)self.type, Py_tp_free);
    if (self.by_name && self.rest && self.modules && self.asyncio && self.type) return module;
    Py_DECREF(module);
    return NULL;
}
