"""PyTorch as trials need it: where steps end, what the outermost modules, optimizers and batches are, what they hold, and whether
results differ. ``Program`` is what _trial_design.py calls so; ``install()`` hooks a process, once.

What is hooked: the step of each class of optimizers, calls of modules (until it is known how steps end; later the ``forward`` of the
outermost ones only), ``Tensor.backward`` and iterators of DataLoader. Each hook is a plain call while TorchDynamo traces, so that
nothing of it gets into a graph or breaks one.
"""

import contextlib
import copy
import functools
import inspect
import os
import random
import re
import sys
import threading
import time
import types

from . import _trial_changes

_OPTIMIZER, _MODULE, _SESSION, _RANGE, _BATCH = "optimizer", "module", "session", "range", "batch"
_DECIDE = {_OPTIMIZER: 8, _MODULE: 12, _SESSION: 4, _RANGE: 4, _BATCH: 24}
_SAMPLED = 500_000  # elements of a tensor that are compared, at most
_PATIENCE = 96  # calls of modules, after which no optimizer is waited for


def _compiling(torch):
    """The function that says whether TorchDynamo traces; it knows it, and leaves out what it guards."""
    found = getattr(getattr(torch, "compiler", None), "is_compiling", None)
    return found or getattr(getattr(torch, "_dynamo", None), "is_compiling", None) or (lambda: False)


class _Forward:
    """``module.forward`` of an outermost module. Copies and pickles as if it were not there."""

    def __init__(self, top):
        self.top = top
        functools.update_wrapper(self, top.plain)  # for those who look at its signature

    def __call__(self, *args, **keywords):
        return self.top.forward(*args, **keywords)

    def __deepcopy__(self, memo):
        module = memo.get(id(self.top.module), self.top.module)
        return types.MethodType(type(module).forward, module)

    def __reduce__(self):
        return types.MethodType, (type(self.top.module).forward, self.top.module)


class Top:
    """An outermost module. Changes put functions into ``wraps`` and ``inputs`` and call ``rebuild()``."""
    ORDER = ("compile", "graph", "autocast")  # from the inside

    def __init__(self, program, module):
        self.program, self.module = program, module
        self.plain = self.call = module.forward
        self.wraps = {}  # place in ORDER: function of a function, the same whenever it is called with the same one
        self.inputs = {}  # name: function of (args, keywords) that returns others
        self.grad = self.autocast = False

    def hook(self):
        self.plain = self.call = self.module.forward
        self.module.forward = _Forward(self)

    def unhook(self):
        if isinstance(self.module.__dict__.get("forward"), _Forward):
            self.module.__dict__.pop("forward")
            if self.plain is not self.module.forward and getattr(self.plain, "__func__", self) is not type(self.module).forward:
                self.module.forward = self.plain  # it had one of its own

    def rebuild(self):
        self.call = self.plain
        for place in self.ORDER:
            if place in self.wraps:
                self.call = self.wraps[place](self.call)

    def run(self, args, keywords):
        for change in self.inputs.values():
            args, keywords = change(args, keywords)
        return self.call(*args, **keywords)

    def forward(self, *args, **keywords):
        program = self.program
        if program.compiling():
            return self.plain(*args, **keywords)
        if program.inside or program.busy():
            return self.run(args, keywords)
        program.entered(self, args, keywords)
        program.inside = True
        try:
            result = program.guarded(lambda: self.run(args, keywords))
        finally:
            program.inside = False
        program.event(_MODULE, self.module)
        return result


class Program:
    """One process of a PyTorch program. ``runner`` is set when it is known how its steps end."""

    def __init__(self, torch, plan, ready):
        self.torch, self.plan = torch, plan
        self.compiling = _compiling(torch)
        self.ready = ready  # called once when steps were found; returns the runner
        self.runner = None
        self.step_name = self.step_kind = None
        self.inside = self.stepping = False  # a call of an outermost module; of an optimizer
        self.in_backward = 0
        self.tops, self.optimizers, self.batches = [], [], None
        self.optimizers_made = 0
        self.enabled = True
        self.captured = None
        self.zeroed = False  # gradients were set to zero instead of None
        self._want = False
        self._seen = {}  # (kind, id): [count, object]
        self._stack = []  # modules being called
        self._thread = None
        self._step = None
        self._global_hooks = ()
        self._replaced = []
        self._wait = torch.cuda.synchronize

    def again(self, plan, ready):
        """Another trial in the same process."""
        self.plan, self.ready, self.runner, self.enabled, self._step, self._thread = plan, ready, None, True, None, None
        self._seen, self.captured = {}, None
        self.watch_modules()

    def ended(self):
        """All is measured: hooks become plain calls."""
        self.enabled = False
        for top in self.tops:
            top.unhook()
        self.tops, self.optimizers, self.captured = [], [], None
        self._drop_watch()

    def replace(self, owner, name, new):
        self._replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, new)

    def leave(self):
        """PyTorch is as it was before ``watch()``."""
        type(self).ended(self)
        while self._replaced:
            setattr(*self._replaced.pop())

    # ---- what the design calls ----

    def mark(self):
        """Now, in the order of the work of the current stream; since() waits for the device, and says how many ns ago that was."""
        if not self.on_gpu():
            return time.perf_counter_ns()
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def since(self, mark):
        now = self.mark()
        if isinstance(mark, int):
            return time.perf_counter_ns() - mark
        self._wait()
        return mark.elapsed_time(now) * 1e6

    def on_gpu(self):
        cuda = self.torch.cuda
        return cuda.is_available() and cuda.is_initialized()

    def reset_peak(self):
        if self.on_gpu():
            self.torch.cuda.reset_peak_memory_stats()

    def peak_bytes(self):
        return self.torch.cuda.max_memory_allocated() if self.on_gpu() else None

    def choose(self, runner):
        from ._trial_hook import choose
        return (yield from choose(self, runner))

    def want_inputs(self):
        self.captured, self._want = None, True

    # ---- what the hooks call ----

    def busy(self):
        return not self.enabled or (self.runner is not None and (self.runner.busy or self.runner.done))

    def guarded(self, call):
        """CALL(); where that fails because of a change, the change goes off and CALL() is tried once more."""
        try:
            return call()
        except Exception as e:
            if isinstance(e, StopIteration) or not self.fault(e):
                raise
        return call()

    def fault(self, exception):
        found = self.runner is not None and self.runner.fault(exception)
        if found and self.on_gpu():
            with contextlib.suppress(Exception):
                self.torch.cuda.empty_cache()
        return found

    def entered(self, top, args, keywords):
        torch = self.torch
        top.grad = torch.is_grad_enabled()
        top.autocast = torch.is_autocast_enabled()
        if self._want and top is max(self.tops, key=lambda t: sum(p.numel() for p in t.module.parameters()), default=None):
            self._want = False
            try:
                newer = getattr(torch, "get_autocast_dtype", None)
                dtype = None if not top.autocast else newer("cuda") if newer else torch.get_autocast_gpu_dtype()
                self.captured = top, copy_of(torch, args), copy_of(torch, keywords), dtype
            except Exception as e:
                self.captured = f"inputs cannot be copied: {type(e).__name__}"

    def event(self, kind, key):
        """Something ended that may be a step."""
        if self.busy() or self.in_backward:
            return
        if self._step:
            if self._step == (kind, id(key)):
                self._ended()
            return
        if self._thread is None:
            self._thread = threading.get_ident()
        if self._thread == threading.get_ident():
            self._seen.setdefault((kind, id(key)), [0, key])[0] += 1
            self._decide(kind)

    def _ended(self):
        self.runner.step_ended()
        if self.runner.done:
            self.ended()

    def batch_seen(self):
        return self.count(_BATCH) > 0

    def count(self, kind):
        return sum(n for (k, _), (n, _) in self._seen.items() if k == kind)

    def _decide(self, kind):
        enough = 4 if kind == _OPTIMIZER and self.optimizers_made == 1 else _DECIDE[kind]
        if self.plan.get("by_call") or kind != (_RANGE if self.plan.get("marker") else kind) or self.count(kind) < enough:
            return
        if kind in (_MODULE, _SESSION, _BATCH) and self.optimizers_made and self.count(_MODULE) < _PATIENCE:
            return
        if kind in (_SESSION, _BATCH) and self.count(_MODULE):
            return
        seen = {k: v for k, v in self._seen.items() if k[0] == kind}
        most = max(n for n, _ in seen.values())
        # What comes once where others come several times ends the larger step; what came once long ago does not.
        step = min(reversed(list(seen)), key=lambda k: seen[k][0] if 16 * seen[k][0] >= most else most + 1)
        self._found(kind, step, seen[step][1])

    def _found(self, kind, step, what):
        name = type(what).__name__
        self.step_kind = kind
        self.step_name = {_OPTIMIZER: f"a step ends with {name}.step()", _MODULE: f"a step is a call of {name}",
                          _SESSION: "a step is an iteration of a gputrace session", _RANGE: f"a step ends with the range {what}",
                          _BATCH: "a step begins with a batch of a DataLoader"}[kind]
        self.settle_hooks()
        self._step = step
        self.runner = self.ready(self)
        if self.runner is None:
            self.ended()
        else:
            self.runner.steps = self._seen[step][0]

    def _drop_watch(self):
        for handle in self._global_hooks:
            handle.remove()
        self._global_hooks, self._stack = (), []

    def settle_hooks(self):
        """From here on only what is known to be outermost is hooked."""
        self._drop_watch()
        for (kind, _), (_, module) in self._seen.items():
            if kind == _MODULE and any(True for _ in module.parameters()):
                self.tops.append(Top(self, module))
                self.tops[-1].hook()

    # ---- calls of modules, as long as it is not known how steps end ----

    def watch_modules(self):
        module, compiling = self.torch.nn.modules.module, self.compiling

        def before(m, args):
            if not compiling():
                self._begin_call(m)

        def after(m, args, result):
            if not compiling():
                self._end_call(m)
        self._global_hooks = (module.register_module_forward_pre_hook(before), module.register_module_forward_hook(after))

    def _begin_call(self, m):
        if self.in_backward or self._thread not in (None, threading.get_ident()):
            return
        if m in self._stack:  # a call that failed did not end
            del self._stack[self._stack.index(m):]
        self._stack.append(m)

    def _end_call(self, m):
        if self._stack and self._stack[0] is m and not self.in_backward:
            self._stack.clear()
            self.event(_MODULE, m)
        elif m in self._stack:
            del self._stack[self._stack.index(m):]

    # ---- differences ----

    def difference(self, kind, turn):
        """(difference, note): what TURN(True) does to results. Leaves state and random numbers as they were."""
        return self._update_difference(turn) if kind == "update" else self._output_difference(turn)

    def _output_difference(self, turn):
        torch = self.torch
        if not isinstance(self.captured, tuple):
            return None, f"results were not compared: {self.captured or 'no call of an outermost module was seen'}"
        top, args, keywords, dtype = self.captured
        grad = top.grad and not hasattr(top.module, "reducer")  # without a backward pass, it would wait for one
        buffers, numbers = [(b, b.clone()) for b in top.module.buffers()], random_state(torch)

        def once():
            restore(torch, buffers, numbers)
            scope = torch.autocast("cuda", dtype) if dtype else contextlib.nullcontext()
            with torch.set_grad_enabled(grad), scope:
                result = top.run(copy_of(torch, args), copy_of(torch, keywords))
            return loss_of(torch, result), [sample(t).double().cpu() for t in tensors(torch, result) if t.is_floating_point()]
        modes, note = [(m, m.training) for m in top.module.modules()], None
        try:
            turn(False)
            off = once()
            if numbers_drawn(torch, numbers):  # each implementation of dropout has numbers of its own
                note = "results were compared in eval mode, as the module draws random numbers"
                top.module.eval()
                off = once()
            again = once()
            turn(True)
            on = once()
        finally:
            turn(False)
            for m, mode in modes:
                m.training = mode
            restore(torch, buffers, numbers)
        loss = abs(on[0] - off[0]) / abs(off[0]) if None not in (on[0], off[0]) and off[0] else None
        return {"loss_off": off[0], "loss_on": on[0], "loss_relative": loss, "outputs_relative": apart(torch, off[1], on[1]),
                "noise_relative": apart(torch, off[1], again[1])}, note

    def _update_difference(self, turn):
        torch, optimizer = self.torch, self.optimizers[-1]
        parameters = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
        if any(p.dtype != torch.float32 for p in parameters):
            return None, "updates were not compared: they are lost in the rounding of parameters that are not float32"
        need = sum(2 * p.numel() * p.element_size() for p in parameters)
        need += sum(t.numel() * t.element_size() for s in optimizer.state.values() for t in tensors(torch, s))
        if self.on_gpu() and need > torch.cuda.mem_get_info()[0] // 2:
            return None, f"updates were not compared: no memory for a copy of {need / 1e9:.1f} GB"
        before = [p.detach().clone() for p in parameters]
        state = {p: copy_of(torch, dict(optimizer.state[p])) for p in parameters if p in optimizer.state}

        def back():
            with torch.no_grad():
                for p, kept in zip(parameters, before):
                    p.copy_(kept)
            for p, kept in state.items():
                optimizer.state[p] = copy_of(torch, kept)

        def once(on):
            back()
            turn(on)
            optimizer.step()
            after = [(sample(p) - sample(b)).double().cpu() for p, b in zip(parameters, before)]
            turn(False)
            back()
            return after
        off, again, on = once(False), once(False), once(True)
        return {"update_relative": apart(torch, off, on), "noise_relative": apart(torch, off, again)}, None


# ---- trees of tensors ----

def map_tensors(torch, value, change):
    """VALUE with CHANGE(tensor) for each tensor in it; what is neither tensor nor container is deeply copied."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(torch, v, change) for v in value))
    if type(value) in (list, tuple):
        return type(value)(map_tensors(torch, v, change) for v in value)
    if type(value) is dict:
        return {k: map_tensors(torch, v, change) for k, v in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else copy.deepcopy(value)


def copy_of(torch, value):
    return map_tensors(torch, value, lambda t: t.detach().clone().requires_grad_(t.requires_grad))


def tensors(torch, value):
    """All tensors in VALUE, in their order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors(torch, v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors(torch, v)


def sample(tensor):
    """Elements of TENSOR at equal distances."""
    stride = tensor.numel() // _SAMPLED + 1
    return tensor.detach() if stride == 1 else tensor.detach().reshape(-1)[::stride]


def loss_of(torch, result):
    """The loss among the results of a module, as a number, or None."""
    found = result.get("loss") if isinstance(result, dict) else getattr(result, "loss", None)
    if found is None and isinstance(result, torch.Tensor) and result.numel() == 1:
        found = result
    return float(found.detach()) if isinstance(found, torch.Tensor) and found.numel() == 1 else None


def apart(torch, a, b):
    """The distance of two lists of tensors as a share of the length of the first; None where they cannot be compared."""
    if not a or len(a) != len(b) or any(x.shape != y.shape for x, y in zip(a, b)):
        return None
    length = sum(float((x * x).sum()) for x in a) ** 0.5
    distance = sum(float(((x - y) ** 2).sum()) for x, y in zip(a, b)) ** 0.5
    return distance / length if length else (0.0 if not distance else None)


def random_state(torch):
    numpy = sys.modules.get("numpy")
    cuda = torch.cuda.get_rng_state() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    return random.getstate(), torch.get_rng_state(), cuda, numpy.random.get_state() if hasattr(numpy, "random") else None


def numbers_drawn(torch, before):
    """Were random numbers of PyTorch drawn since the state BEFORE?"""
    return any(a is not None and not torch.equal(a, b) for a, b in zip(before[1:3], random_state(torch)[1:3]))


def restore(torch, buffers, numbers):
    with torch.no_grad():
        for buffer, kept in buffers:
            buffer.copy_(kept)
    random.setstate(numbers[0])
    torch.set_rng_state(numbers[1])
    if numbers[2] is not None:
        torch.cuda.set_rng_state(numbers[2])
    if numbers[3]:
        sys.modules["numpy"].random.set_state(numbers[3])


# ---- hooks ----

def _wrap_step(program, cls):
    """The step of a class of optimizers reports its end. Keeps the signature, which GradScaler reads."""
    plain = cls.__dict__.get("step")
    if not hasattr(plain, "hooked") or hasattr(plain, "gputrace"):
        return  # hooked: PyTorch's own mark of a step that it has wrapped; what it has not, it still will
    @functools.wraps(plain)
    def step(self, *args, **keywords):
        if program.compiling() or program.stepping or program.busy():
            return plain(self, *args, **keywords)
        if not any(o is self for o in program.optimizers):
            program.optimizers.append(self)
        program.stepping = True
        try:
            result = program.guarded(lambda: plain(self, *args, **keywords))
        finally:
            program.stepping = False
        program.event(_OPTIMIZER, self)
        return result
    step.gputrace = True
    program.replace(cls, "step", step)


def _hook_optimizers(program):
    base = program.torch.optim.Optimizer
    plain = base.__init__
    @functools.wraps(plain)
    def init(self, *args, **keywords):
        plain(self, *args, **keywords)
        program.optimizers_made += not program.busy()
        for cls in type(self).__mro__:
            if issubclass(cls, base) and cls is not base:
                _wrap_step(program, cls)
    program.replace(base, "__init__", init)
    zero = base.zero_grad
    usual = inspect.signature(zero).parameters["set_to_none"].default
    @functools.wraps(zero)
    def zero_grad(self, set_to_none=usual):
        if not set_to_none and not program.compiling():
            program.zeroed = True
            set_to_none = program.set_to_none
        return zero(self, set_to_none=set_to_none)
    program.set_to_none = False
    program.replace(base, "zero_grad", zero_grad)
    classes = [base]
    while classes:  # those that were there before us
        for cls in classes.pop().__subclasses__():
            _wrap_step(program, cls)
            classes.append(cls)


def _hook_backward(program):
    tensor = program.torch.Tensor
    plain = tensor.backward
    @functools.wraps(plain)
    def backward(self, *args, **keywords):
        if program.compiling() or program.busy():
            return plain(self, *args, **keywords)
        program.in_backward += 1
        try:
            return plain(self, *args, **keywords)
        except Exception as e:
            if not program.fault(e):
                raise  # otherwise the program goes on, with the gradients that there are
        finally:
            program.in_backward -= 1
    program.replace(tensor, "backward", backward)


def _hook_batches(program):
    loader = sys.modules.get("torch.utils.data.dataloader")
    base = getattr(loader, "_BaseDataLoaderIter", None)
    if not base:
        return
    plain = base.__next__
    @functools.wraps(plain)
    def following(self):
        if program.busy():
            return plain(self)
        batch = program.guarded(lambda: (program.batches or plain)(self))
        program.event(_BATCH, base)
        return batch
    program.plain_batch = plain
    program.replace(base, "__next__", following)


def _hook_ranges(program, marker):
    """Ends of ranges of torch.cuda.nvtx and record_function whose names the expression MARKER matches."""
    found, torch, open_ranges = re.compile(marker), program.torch, []
    def ended(name):
        if found.search(str(name)):
            program.event(_RANGE, marker)
    nvtx = getattr(torch.cuda, "nvtx", None)
    if nvtx:
        push, pop = nvtx.range_push, nvtx.range_pop
        def range_push(msg):
            open_ranges.append(msg)
            return push(msg)
        def range_pop():
            result = pop()
            if open_ranges:
                ended(open_ranges.pop())
            return result
        nvtx.range_push, nvtx.range_pop = range_push, range_pop
    cls = getattr(getattr(torch, "profiler", None), "record_function", None)
    if cls:
        leave = cls.__exit__
        def record_exit(self, *exception):
            leave(self, *exception)
            if not program.compiling():
                ended(self.name)
        cls.__exit__ = record_exit


def _hook_sessions(program):
    from . import _session
    program.replace(_session, "on_iteration", lambda: program.event(_SESSION, _session))


_installed = []


def install(torch, plan, ready):
    """Hook PyTorch in this process, once; returns the Program."""
    if _installed:
        program = _installed[0]
        program.again(plan, ready)
        return program
    program = Program(torch, plan, ready)
    _installed.append(program)
    _trial_changes.early(program)
    _hook(program)
    return program


def watch(torch, ready):
    """Find the steps of this process, without what changes need, until ``leave()``; returns the Program."""
    program = Program(torch, {}, ready)
    _hook(program)
    return program


def _hook(program):
    _hook_optimizers(program)
    _hook_backward(program)
    _hook_batches(program)
    if program.plan.get("marker"):
        _hook_ranges(program, program.plan["marker"])
    _hook_sessions(program)
    program.watch_modules()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: setattr(program, "enabled", False))
