"""The table of changes that a trial can make: each has what it needs, how it goes on and off at the end of a step, what it may change
in results, the line that makes it permanent, and the rules of trace-suggest that ask for it (``changes()``, ``PROCESSES``).

Functions get the ``Program`` of _trial_torch.py. ``off`` may be called twice, and after an ``on`` that failed.
"""

import functools
import gc
import operator
import os
import re
import sys

from ._trial_design import Change

_FUSED = ("Adam", "AdamW", "SGD", "Adagrad")


def _setting():
    """(function that sets an attribute of an owner, function that makes all that were set what they were)."""
    old = {}
    def put(owner, name, value):
        old.setdefault((id(owner), name), (owner, name, getattr(owner, name)))
        setattr(owner, name, value)
    def restore(program):
        while old:
            setattr(*old.popitem()[1])
    return put, restore


# ---- what is needed ----

def _when(holds, otherwise):
    return lambda program: None if holds(program) else otherwise


def _needs(*checks):
    """The first reason of CHECKS against it."""
    return lambda program: next((reason for reason in (check(program) for check in checks) if reason), None)


def _modules(program):
    return (m for top in program.tops for m in top.module.modules())


def _is_float(program):
    return any(p.dtype == program.torch.float32 for top in program.tops for p in top.module.parameters())


_gpu = _when(lambda p: p.on_gpu(), "no GPU is in use")
_tensor_cores = _when(lambda p: p.torch.cuda.get_device_capability() >= (8, 0), "the GPU has no tensor cores for it")
_has_top = _when(lambda p: p.tops, "no call of an outermost module was seen")
_floats = _when(_is_float, "no parameter is float32")
_grad = _when(lambda p: any(t.grad for t in p.tops), "nothing is trained")
_no_grad = _when(lambda p: not any(t.grad for t in p.tops), "its modules are trained")
_not_autocast = _when(lambda p: not any(t.autocast for t in p.tops), "its modules run under autocast already")
_convolutions = _when(lambda p: any(type(m).__name__.startswith("Conv") for m in _modules(p)), "no module is a convolution")
_loader = _when(lambda p: p.batch_seen(), "no DataLoader hands out batches in this process")


def _not_compiled(program):
    for top in program.tops:
        if hasattr(top.module, "_orig_mod") or getattr(top.module, "_compiled_call_impl", None):
            return "the module is compiled already"
    return None if hasattr(program.torch, "compile") else "this PyTorch has no torch.compile"


# ---- flags ----

def _flags(*paths):
    """(on, off, check that the first is off) of flags of torch, such as backends.cudnn.benchmark."""
    put, restore = _setting()
    def on(program):
        for path in paths:
            owner, name = path.rsplit(".", 1)
            put(operator.attrgetter(owner)(program.torch), name, True)
    return on, restore, _when(lambda p: not operator.attrgetter(paths[0])(p.torch), "it is on already")


def _tf32():
    on, off, is_off = _flags("backends.cuda.matmul.allow_tf32", "backends.cudnn.allow_tf32")
    return Change("tf32", on, off, "torch.backends.cuda.matmul.allow_tf32 = True", "products of float32 keep 10 bits of the fraction",
                  _needs(_gpu, _tensor_cores, _has_top, _floats, is_off), "precision", "outputs", 0.05,
                  rules=("tensor_cores", "low_precision", "gemm_roof"))


def _benchmark():
    on, off, is_off = _flags("backends.cudnn.benchmark")
    return Change("benchmark", on, off, "torch.backends.cudnn.benchmark = True", "another algorithm rounds otherwise",
                  _needs(_gpu, _has_top, _convolutions, is_off), None, "outputs", 0.01,
                  rules=("gemm_roof", "small_grid", "wave_quantisation"))


# ---- wrapped calls of the outermost modules ----

def _wrapping(place, make):
    """(on, off) that put MAKE(program, top) at a PLACE of each outermost module. What it made is kept, so that nothing is compiled
    or captured twice; a top that MAKE returns None for is left alone."""
    made = {}
    def on(program):
        for top in program.tops:
            if id(top) not in made:
                made[id(top)] = make(program, top)
            if made[id(top)]:
                top.wraps[place] = made[id(top)]
                top.rebuild()
    def off(program):
        for top in program.tops:
            if place in top.wraps:
                del top.wraps[place]
                top.rebuild()
    return on, off


def _once(function):
    """FUNCTION of a function, called once for each."""
    done = {}
    def of(inner):
        if inner not in done:
            done[inner] = function(inner)
        return done[inner]
    return of


def _bf16():
    def make(program, top):
        def wrap(inner):
            def call(*args, **keywords):
                with program.torch.autocast("cuda", program.torch.bfloat16):
                    return inner(*args, **keywords)
            return call
        return _once(wrap)
    return Change("bf16", *_wrapping("autocast", make), "with torch.autocast(\"cuda\", torch.bfloat16): output = model(input)",
                  "products in bfloat16 keep 7 bits of the fraction, and so do outputs",
                  _needs(_gpu, _tensor_cores, _has_top, _floats, _not_autocast), "precision", "outputs", 0.1,
                  rules=("tensor_cores", "low_precision"))


def _compile(name, rules=(), **options):
    def make(program, top):
        return _once(lambda inner: program.torch.compile(inner, **options))
    told = ", ".join(f"{k}={v!r}" for k, v in options.items())
    return Change(name, *_wrapping("compile", make), f"model = torch.compile(model{', ' + told if told else ''})",
                  "fused kernels round otherwise", _needs(_gpu, _has_top, _not_compiled), "compile", "outputs", 0.05,
                  rules=rules, only_named=bool(options))


def _repeated(program):
    """The blocks that stand several times in a ModuleList or Sequential of an outermost module."""
    found = []
    for m in _modules(program):
        if type(m).__name__ in ("ModuleList", "Sequential"):
            kinds = [type(child) for child in m.children()]
            found += [child for child in m.children() if kinds.count(type(child)) >= 3 and any(True for _ in child.children())]
    return found


def _compile_blocks():
    made = {}
    def on(program):
        for block in _repeated(program):
            if block not in made:
                made[block] = program.torch.compile(block.forward)
            block.forward = made[block]
    def off(program):
        for block in made:
            block.__dict__.pop("forward", None)
    blocks = _when(_repeated, "no block stands three times in a ModuleList or Sequential")
    hooked = _when(lambda p: not any("forward" in b.__dict__ for b in _repeated(p)), "its blocks have a forward of their own")
    return Change("compile=blocks", on, off, "for block in model.layers: block.compile()", "fused kernels round otherwise",
                  _needs(_gpu, _has_top, _not_compiled, blocks, hooked), "compile", "outputs", 0.05, rules=("compile", "recompilation"),
                  only_named=True)


def _shape_key(program, args, keywords):
    from ._trial_torch import tensors
    return tuple((tuple(t.shape), t.dtype, t.device) for t in tensors(program.torch, (args, keywords)))


def _only_tensors(torch, value):
    if isinstance(value, (list, tuple, dict)):
        return all(_only_tensors(torch, v) for v in (value.values() if isinstance(value, dict) else value))
    return value is None or isinstance(value, (bool, int, float, str, torch.Tensor))


def _graph():
    """CUDA graphs of inference: one per shape of the inputs, whose tensors are copied into those of the graph."""
    from ._trial_torch import copy_of, tensors
    def capture(torch, inner, args, keywords):
        held = copy_of(torch, (args, keywords))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                inner(*held[0], **held[1])
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = inner(*held[0], **held[1])
        return graph, list(tensors(torch, held)), result
    def make(program, top):
        graphs, torch = {}, program.torch
        def wrap(inner):
            def call(*args, **keywords):
                key = _shape_key(program, args, keywords)
                if key not in graphs:
                    if not _only_tensors(torch, (args, keywords)):
                        raise RuntimeError("inputs hold more than tensors and numbers, such as a cache")
                    graphs[key] = capture(torch, inner, args, keywords)
                graph, held, result = graphs[key]
                for to, value in zip(held, tensors(torch, (args, keywords))):
                    to.copy_(value, non_blocking=True)
                graph.replay()
                return result
            return call
        return _once(wrap)
    return Change("graph", *_wrapping("graph", make), "with torch.cuda.graph(g): output = model(static_input)  # then g.replay()",
                  "the output is overwritten by the next call", _needs(_gpu, _has_top, _no_grad, _not_autocast), "compile", "outputs", 1e-3,
                  rules=("cuda_graph", "small_graphs"))


def _graphed_callables():
    def make(program, top):
        captured = program.captured
        if captured[0] is not top:
            return None
        hooked = top.module.forward
        try:
            program.torch.cuda.make_graphed_callables(top.module, captured[1])
            graphed = top.module.forward  # what it has put there, which knows the parameters
        finally:
            top.module.forward = hooked
        return lambda inner: graphed
    on, off = _wrapping("graph", make)
    plain = _when(lambda p: isinstance(p.captured, tuple) and p.captured[1] and not p.captured[2],
                  "no call with positional tensors only was seen")
    return Change("graphed_callables", on, off, "model = torch.cuda.make_graphed_callables(model, (sample_input,))",
                  "random numbers are others", _needs(_gpu, _has_top, _grad, _not_autocast, plain), "compile",
                  rules=("cuda_graph",), only_named=True)


# ---- layouts and optimizers ----

def _channels_last():
    def convert(program, last):
        torch = program.torch
        form = torch.channels_last if last else torch.contiguous_format
        four = lambda t: t.contiguous(memory_format=form) if isinstance(t, torch.Tensor) and t.dim() == 4 else t
        for top in program.tops:
            top.module.to(memory_format=form)
            top.inputs.pop("channels_last", None)
            if last:
                top.inputs["channels_last"] = lambda args, keywords: (tuple(map(four, args)), {k: four(v) for k, v in keywords.items()})
        for optimizer in program.optimizers:
            for p in (p for group in optimizer.param_groups for p in group["params"]):
                p.grad = four(p.grad) if p.grad is not None else None
                for name, value in optimizer.state.get(p, {}).items():
                    optimizer.state[p][name] = four(value)
    return Change("channels_last", lambda p: convert(p, True), lambda p: convert(p, False),
                  "model = model.to(memory_format=torch.channels_last)  # and its inputs", "another algorithm rounds otherwise",
                  _needs(_gpu, _has_top, _convolutions), None, "outputs", 0.02, rules=("layout_churn",))


def _optimizer_kind(kind):
    """fused or foreach; the counters of steps move to where the other implementation has them."""
    kept = {}
    def fitting(optimizer):
        return kind in optimizer.defaults and any(c.__name__ in _FUSED for c in type(optimizer).__mro__)
    def on(program):
        for o in filter(fitting, program.optimizers):
            if o not in kept:
                kept[o] = ([(g.get("fused"), g.get("foreach")) for g in o.param_groups],
                           getattr(o, "_step_supports_amp_scaling", None))
            for group in o.param_groups:
                group["fused"], group["foreach"] = (True, False) if kind == "fused" else (False, True)
            finish(o, kind == "fused")
    def off(program):
        for o in list(kept):
            groups, scaling = kept.pop(o)
            for group, (fused, foreach) in zip(o.param_groups, groups):
                group["fused"], group["foreach"] = fused, foreach
            finish(o, bool(groups[0][0]))
            if scaling is None and hasattr(o, "_step_supports_amp_scaling"):
                del o._step_supports_amp_scaling
    def finish(o, fused):
        for group in o.param_groups:
            for p in group["params"]:
                count = o.state.get(p, {}).get("step")
                if hasattr(count, "to") and not group.get("capturable"):
                    o.state[p]["step"] = count.to(p.device if fused else "cpu")
        o._need_device_dtype_check_for_fused = fused
        if fused:
            o._step_supports_amp_scaling = True  # GradScaler then leaves unscaling to it, and does not wait
    def needs(program):
        known = [o for o in program.optimizers if fitting(o)]
        if not known:
            return f"no optimizer that has {kind}="
        group = known[0].param_groups[0]
        if any(g.get(kind) for o in known for g in o.param_groups):
            return "it is on already"
        if kind == "foreach" and group.get("foreach") is None and not group.get("fused"):
            return "it is what PyTorch chooses on a GPU"
        if any(not p.is_cuda for o in known for g in o.param_groups for p in g["params"]):
            return "its parameters are not on a GPU"
        return "its optimizer is differentiable" if group.get("differentiable") else None
    permanent = f"torch.optim.Adam(..., {kind}=True)"
    return Change(kind, on, off, permanent, "updates round otherwise", _needs(_gpu, needs), "optimizer", "update", 0.05,
                  rules=("optimizer",) if kind == "fused" else (), only_named=kind != "fused")


def _set_to_none():
    switch = lambda to: lambda program: setattr(program, "set_to_none", to)
    return Change("set_to_none", switch(True), switch(False), "optimizer.zero_grad(set_to_none=True)",
                  "parameters without gradients are not updated", _when(lambda p: p.zeroed, "gradients are set to None already"),
                  rules=("zero_fill",))


# ---- attention, experts, checkpointing ----

def _configs(program):
    """The configurations of transformers' models, each once."""
    found = {id(c): c for c in (getattr(m, "config", None) for m in _modules(program)) if c is not None}
    return list(found.values())


def _configured(name, attribute, value, permanent, rules):
    """Implementations that transformers' models look up at each call."""
    put, restore = _setting()
    def on(program):
        for c in _configs(program):
            if getattr(c, attribute, None) is not None:
                put(c, attribute, value)
    def needs(program):
        current = {getattr(c, attribute, None) for c in _configs(program)} - {None}
        if not current:
            return "no module has a configuration of transformers with it"
        return "it is on already" if current == {value} else None
    return Change(name, on, restore, permanent, "another kernel rounds otherwise", _needs(_has_top, needs), name.split("=")[0], "outputs",
                  0.05, rules=rules, only_named=True)


def _implementations(kind, values, rules):
    """The changes of transformers' models called KIND=VALUE; the first of VALUES is what RULES ask for."""
    word = "attn" if kind == "attention" else kind
    return [_configured(f"{kind}={v}", f"_{word}_implementation", v,
                        f"model.set_{word}_implementation({v!r})",
                        rules if v == values[0] else ()) for v in values]


def _sdp(value):
    """One backend of F.scaled_dot_product_attention instead of PyTorch's choice."""
    words = {"flash": "flash", "efficient": "mem_efficient", "math": "math", "cudnn": "cudnn"}
    backend = "MATH" if value == "math" else f"{value.upper()}_ATTENTION"
    kept = {}
    def on(program):
        cuda = program.torch.backends.cuda
        for name, word in words.items():
            enabled = getattr(cuda, f"{word}_sdp_enabled", None)
            if enabled:
                kept.setdefault(word, enabled())
                getattr(cuda, f"enable_{word}_sdp")(name == value)
    def off(program):
        while kept:
            word, old = kept.popitem()
            getattr(program.torch.backends.cuda, f"enable_{word}_sdp")(old)

    used = _when(lambda p: p.attention_seen, "F.scaled_dot_product_attention was not called")
    return Change(f"sdp={value}", on, off, f"with torch.nn.attention.sdpa_kernel(SDPBackend.{backend}): ...",
                  "another kernel rounds otherwise", _needs(_gpu, used), "sdp", "outputs", 0.05, only_named=True)


def _checkpointing():
    put, restore = _setting()
    def on(program):
        program.no_checkpoint = True
        for m in _modules(program):  # of transformers, which do other things then, too
            if getattr(m, "gradient_checkpointing", None) is True:
                put(m, "gradient_checkpointing", False)
    def off(program):
        program.no_checkpoint = False
        restore(program)
    return Change("no_checkpointing", on, off, "model.gradient_checkpointing_disable()",
                  "nothing but the memory that activations take",
                  _when(lambda p: p.checkpoint_seen, "torch.utils.checkpoint was not called"), rules=("recompute",))


# ---- the host ----

def _gc():
    def on(program):
        gc.collect()
        gc.freeze()
        gc.disable()
    def off(program):
        gc.unfreeze()
        gc.enable()
    return Change("gc", on, off, "gc.collect(); gc.freeze(); gc.disable()", "cycles of objects stay in memory",
                  _when(lambda p: gc.isenabled(), "it is off already"), rules=("garbage_collection",))


def _replacing(owner, names, make):
    """(on, off) that replace attributes NAMES of OWNER(torch) by MAKE(program, the one that was there)."""
    put, restore = _setting()
    def on(program):
        place = owner(program.torch)
        for name in names:
            if hasattr(place, name):
                put(place, name, make(program, getattr(place, name)))
    return on, restore


def _no_waits():
    on, off = _replacing(lambda torch: torch.cuda, ("synchronize",), lambda program, plain: lambda device=None: None)
    return Change("no_waits", on, off, "# leave out torch.cuda.synchronize()", "whatever relied on the wait", _gpu,
                  rules=("blocking_sync",))


def _reads():
    """Values that are read from the GPU are those that the same line read before."""
    def make(program, plain):
        last = {}
        @functools.wraps(plain)
        def read(self, *args, **keywords):
            if not self.is_cuda or program.compiling() or program.busy():
                return plain(self, *args, **keywords)
            frame = sys._getframe(1)
            key = frame.f_code, frame.f_lasti, tuple(self.shape)
            if key not in last:
                last[key] = plain(self, *args, **keywords)
            return last[key]
        return read
    names = ("item", "tolist", "cpu", "__float__", "__int__", "__bool__")
    return Change("reads", *_replacing(lambda torch: torch.Tensor, names, make),
                  "# read values of the GPU later or less often (.item(), .cpu(), float(), if)",
                  "each value is that of the first read of its line: what if nobody waited, an upper end", _gpu, what_if=True,
                  rules=("scalar_read", "round_trip"))


def _pinned():
    def make(program, plain):
        @functools.wraps(plain)
        def to(self, *args, **keywords):
            if self.is_cuda or program.compiling() or self.is_pinned() or not _to_gpu(plain, args, keywords):
                return plain(self, *args, **keywords)
            return plain(self.pin_memory(), *args, **{**keywords, "non_blocking": True})
        return to
    return Change("pinned", *_replacing(lambda torch: torch.Tensor, ("to", "cuda"), make),
                  "DataLoader(..., pin_memory=True); x.to(device, non_blocking=True)", "nothing; here each tensor is pinned anew, which "
                  "costs the host a copy", _gpu, "copies", rules=("pageable_copy", "synchronous_copy"))


def _to_gpu(plain, args, keywords):
    if plain.__name__ == "cuda":
        return True
    target = keywords.get("device", args[0] if args else None)
    kind = getattr(target, "type", None) or ("cuda" if isinstance(target, int) and not isinstance(target, bool) else target)
    return len(args) < 3 and isinstance(kind, str) and kind.startswith("cuda")


def _prefetch():
    """Each batch is copied by a stream of its own while the step before it runs."""
    from ._trial_torch import map_tensors
    ahead = {}  # iterator: (batch, end of its copy)
    def fetch(program, iterator):
        torch, batch = program.torch, program.plain_batch(iterator)
        with torch.cuda.stream(ahead.setdefault("stream", torch.cuda.Stream())):
            return map_tensors(torch, batch, lambda t: t if t.is_cuda else t.pin_memory().to("cuda", non_blocking=True))
    def following(program, iterator):
        if ahead["on"] and iterator not in ahead:
            ahead[iterator] = fetch(program, iterator)
        if iterator not in ahead:
            return program.plain_batch(iterator)
        program.torch.cuda.current_stream().wait_stream(ahead["stream"])
        batch = ahead.pop(iterator)
        if isinstance(batch, StopIteration):
            raise batch
        map_tensors(program.torch, batch, lambda t: t.record_stream(program.torch.cuda.current_stream()))
        if ahead["on"]:
            try:
                ahead[iterator] = fetch(program, iterator)
            except StopIteration as e:
                ahead[iterator] = e
        return batch
    def on(program):
        ahead["on"] = True
        program.batches = lambda iterator: following(program, iterator)
    def off(program):
        ahead["on"] = False  # a batch that is there already is handed out first
    return Change("prefetch", on, off, "# copy the next batch on a stream of its own while a step runs", "nothing",
                  _needs(_gpu, _loader), "copies", rules=("copy_overlap",))


def _validation():
    def switch(check):
        return lambda program: program.torch.distributions.Distribution.set_default_validate_args(check)
    return Change("no_validation", switch(False), switch(True), "torch.distributions.Distribution.set_default_validate_args(False)",
                  "wrong arguments of distributions are not noticed", _when(lambda p: p.distribution_seen, "no distribution was made"),
                  rules=("scalar_read",))


def _batch(factor):
    """More or fewer items per step, in times per item: two batches of the DataLoader joined or one cut in two; without one, inputs
    repeated or cut along their first dimension."""
    from ._trial_torch import map_tensors, tensors
    rest = {}  # iterator: the second half of its last batch
    def resized(torch, value, change):
        return map_tensors(torch, value, lambda t: change(t) if t.dim() else t)
    def loaded(program, iterator):
        torch, batch = program.torch, rest.pop(iterator, None)
        if batch is None:
            batch = program.plain_batch(iterator)
            if factor > 1:
                second = tensors(torch, program.plain_batch(iterator))
                return map_tensors(torch, batch, lambda t: torch.cat([t, other]) if (other := next(second)).dim() else t)
            rest[iterator] = resized(torch, batch, lambda t: t[t.shape[0] // 2:])
            batch = resized(torch, batch, lambda t: t[:t.shape[0] // 2])
        return batch
    def on(program):
        torch = program.torch
        if _losses(program):
            change = lambda t: torch.cat([t] * factor) if factor > 1 else t[:int(t.shape[0] * factor)]
            for top in program.tops:
                top.inputs[name] = lambda args, keywords: resized(torch, (args, keywords), change)
        else:
            program.batches = lambda iterator: loaded(program, iterator)
    def off(program):
        program.batches = None
        for top in program.tops:
            top.inputs.pop(name, None)
    def _losses(program):
        return not program.batch_seen() and isinstance(program.captured, tuple) and "labels" in program.captured[2]
    def needs(program):
        if program.batch_seen():
            return None
        if not _losses(program):
            return "it needs a DataLoader, or a module that is called with labels="
        first = {t.shape[0] for t in tensors(program.torch, program.captured[1:3]) if t.dim()}
        if len(first) > 1:
            return "inputs differ in their first dimension"
        return "a step has one item" if factor < 1 and min(first) < 2 else None
    name = f"batch={'x2' if factor > 1 else 'half'}"
    return Change(name, on, off, f"batch_size {'doubled' if factor > 1 else 'halved'} (times are per item)",
                  "training sees other batches", _needs(_has_top, needs), "batch", scale=factor, rules=("batching",) if factor > 1 else (),
                  only_named=True)


# ---- what is hooked before the program imports it ----

def early(program):
    """Functions that programs import by name are replaced before they do."""
    import torch.utils.checkpoint as module
    import torch.utils.data.dataloader  # noqa: F401
    torch, plain = program.torch, module.checkpoint
    program.no_checkpoint = program.checkpoint_seen = program.attention_seen = program.distribution_seen = False
    @functools.wraps(plain)
    def checkpoint(function, *args, **keywords):
        if program.compiling():
            return plain(function, *args, **keywords)
        program.checkpoint_seen = True
        if not program.no_checkpoint:
            return plain(function, *args, **keywords)
        for own in ("use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop"):
            keywords.pop(own, None)
        return function(*args, **keywords)
    module.checkpoint = checkpoint
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        _notice(program, torch.nn.functional, "scaled_dot_product_attention", "attention_seen")
    _notice(program, torch.distributions.Distribution, "__init__", "distribution_seen")


def _notice(program, owner, name, mark):
    """The first call of OWNER.NAME is noted; then the function is as it was."""
    plain = getattr(owner, name)
    @functools.wraps(plain)
    def noticing(*args, **keywords):
        if not program.compiling():
            setattr(program, mark, True)
            if getattr(owner, name) is noticing:
                setattr(owner, name, plain)
        return plain(*args, **keywords)
    setattr(owner, name, noticing)


# ---- one's own ----

def statement(text):
    """The change of ``--set 'name=statement // statement'``; statements run with the globals of the program's main module."""
    found = re.fullmatch(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*=(.*?)\s//\s(.*)", text, re.DOTALL)
    if not found:
        raise ValueError(f"'{text}' is not of the form 'name=statement // statement'")
    name, on, off = (part.strip() for part in found.groups())
    def run(source):
        code = compile(source, f"<--set {name}>", "exec")
        def call(program):
            space = sys.modules["__main__"].__dict__
            space.setdefault("torch", program.torch)
            exec(code, space)
        return call
    return Change(name, run(on), run(off), on, "whatever it does", compare="outputs", tolerance=float("inf"), named=True)


# ---- the table ----

def changes():
    """A fresh table: changes keep what they made for the tops of one program."""
    return [_tf32(), _bf16(), _optimizer_kind("fused"), _optimizer_kind("foreach"), _set_to_none(), _no_waits(), _reads(), _gc(),
            _pinned(), _prefetch(), _validation(), _benchmark(), _channels_last(), _checkpointing(),
            *_implementations("attention", ("sdpa", "eager", "flash_attention_2"), ("attention",)),
            *_implementations("experts", ("grouped_mm", "batched_mm", "eager"), ("experts",)),
            *map(_sdp, ("flash", "efficient", "cudnn", "math")), _batch(2), _batch(0.5), _graph(),
            _compile("compile", ("compile", "fusion", "python_gap", "epilogue")), _compile_blocks(),
            _compile("compile=reduce-overhead", ("cuda_graph",), mode="reduce-overhead"),
            _compile("compile=max-autotune", mode="max-autotune"),
            _graphed_callables()]


def _workers(number):
    def apply(torch):
        loader = torch.utils.data.DataLoader
        plain = loader.__init__
        @functools.wraps(plain)
        def init(self, *args, **keywords):
            if len(args) < 6 and not keywords.get("num_workers"):
                keywords.update(num_workers=number, persistent_workers=number > 0)
            plain(self, *args, **keywords)
        loader.__init__ = init
    return Change(f"workers={number}", apply, None, f"DataLoader(..., num_workers={number}, persistent_workers=True)",
                  "the order of random numbers in data sets", rules=("input_stall",))


def _variables(name, told, rules=(), **values):
    permanent = "; ".join(f"export {k}={v}" for k, v in values.items())
    return Change(name, None, None, permanent, told, rules=rules, variables=values)


def processes():
    """Changes that need a process of their own, with ``variables`` of the environment or ``on(torch)``, called after its import."""
    half = max(1, (os.cpu_count() or 2) // 2)
    return [_workers(min(8, half)),
            _variables("allocator=expandable", "where memory lies", ("allocation",), PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"),
            _variables("allocator=async", "where memory lies", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync"),
            _variables("threads=1", "sums on the host round otherwise", OMP_NUM_THREADS="1"),
            _variables("threads=half", "sums on the host round otherwise", OMP_NUM_THREADS=str(half))]


def environment(text):
    """The change of ``--env NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"'{text}' is not of the form NAME=VALUE")
    return _variables(text, "whatever it does", **{name: value})


def select(names, table):
    """The changes of TABLE called NAMES, in their order; a name that stands before a = names all of them ("compile")."""
    chosen = []
    for name in names:
        found = [c for c in table if c.name == name] or [c for c in table if c.name.split("=")[0] == name]
        if not found:
            raise ValueError(f"no change is called '{name}': --changes=list lists them")
        chosen += [c for c in found if c not in chosen]
    for change in chosen:
        change.named = True
    return chosen


def listing():
    """The table as text for people."""
    lines = []
    for mode, table in (("steps", changes()), ("processes", processes())):
        lines.append(f"measured by {mode}:")
        for c in table:
            rules = f"  (trace-suggest: {', '.join(c.rules)})" if c.rules else ""
            lines.append(f"  {c.name:<26} {c.permanent.splitlines()[0]}{rules}")
            lines.append(f"  {'':<26} may change: {c.may_change}")
    return "\n".join(lines) + "\n"
