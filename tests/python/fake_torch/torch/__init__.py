"""A stand-in for PyTorch: modules, optimizers and a GPU whose time is simulated, so that what each setting costs is known. Importing it
makes time.perf_counter_ns() the simulated clock; nothing sleeps."""

import random
import sys
import time
import types

_now = [0]
_rng = random.Random(int(__import__("os").environ.get("FAKE_SEED", "1")))
time.perf_counter_ns = lambda: int(_now[0])
__version__ = "2.11.0"
float32, bfloat16, channels_last, contiguous_format = "torch.float32", "torch.bfloat16", "channels_last", "contiguous_format"


def spend(ns, noise=0.01):
    """The device and the host are busy for NS, about."""
    _now[0] += ns * (1 + _rng.gauss(0, noise))


def _module(name, **members):
    found = types.ModuleType(f"torch.{name}")
    found.__dict__.update(members)
    sys.modules[f"torch.{name}"] = found
    return found


class Tensor:
    is_cuda, dtype, device = True, float32, "cuda"

    def __init__(self, value=0.0, shape=(4,)):
        self.value, self.shape, self.grad, self.requires_grad = value, shape, None, False

    def item(self):
        spend(200_000)
        return self.value

    __float__ = lambda self: float(self.value)
    numel = lambda self: 1
    element_size = lambda self: 4
    is_floating_point = lambda self: True
    dim = lambda self: len(self.shape)
    detach = double = cpu = lambda self: self
    clone = lambda self: Tensor(self.value, self.shape)

    def requires_grad_(self, on=True):
        self.requires_grad = on
        return self

    def __getitem__(self, where):
        return Tensor(self.value, (len(range(*where.indices(self.shape[0]))), *self.shape[1:]))

    def copy_(self, other):
        self.value = other.value

    def sum(self):
        return self.value

    def __mul__(self, other):
        return Tensor(self.value * other.value)

    def __sub__(self, other):
        return Tensor(self.value - other.value)

    def __pow__(self, n):
        return Tensor(self.value ** n)

    def backward(self):
        if settings.get("backward_fails"):
            raise RuntimeError("CUDA out of memory")


settings = {}  # what programs of the tests set


class _Hooks:
    def __init__(self):
        self.before, self.after = [], []


_hooks = _Hooks()


class _Handle:
    def __init__(self, where, what):
        self.where, self.what = where, what
        where.append(what)

    def remove(self):
        self.where.remove(self.what)


class Module:
    training = True

    def __init__(self):
        self._children, self._own = [], [Tensor(1.0)]

    def eval(self):
        for m in self.modules():
            m.training = False

    def __call__(self, *args, **keywords):
        for hook in list(_hooks.before):
            hook(self, args)
        result = self.forward(*args, **keywords)
        for hook in list(_hooks.after):
            hook(self, args, result)
        return result

    def modules(self):
        yield self
        for child in self._children:
            yield from child.modules()

    def parameters(self):
        return iter([p for m in self.modules() for p in m._own])

    def children(self):
        return iter(self._children)

    def buffers(self):
        return iter(())

    def to(self, memory_format=None):
        settings["format"] = memory_format
        return self


class Conv2d(Module):
    def forward(self, x):
        return x


class Optimizer:
    def __init__(self, parameters, **defaults):
        self.defaults = {"fused": None, "foreach": None, **defaults}
        self.param_groups = [{"params": list(parameters), **self.defaults}]
        self.state = {}
        type(self).step.hooked = True  # as PyTorch marks a step that it has wrapped

    def zero_grad(self, set_to_none=True):
        spend(0 if set_to_none else 400_000)


class Adam(Optimizer):
    def step(self, closure=None):
        if settings.get("step_fails"):
            raise RuntimeError("no kernel")
        spend(200_000 if self.param_groups[0]["fused"] else 1_200_000)


class SGD(Optimizer):
    def step(self, closure=None):
        spend(500_000)


class _Context:
    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass


class Event:
    def __init__(self, enable_timing):
        pass

    def record(self):
        self.at = _now[0]

    def elapsed_time(self, other):
        return (other.at - self.at) / 1e6


no_grad = autocast = set_grad_enabled = _Context
nn = _module("nn", Module=Module, Conv2d=Conv2d)
nn.modules = _module("nn.modules")
nn.modules.module = _module("nn.modules.module", register_module_forward_pre_hook=lambda h: _Handle(_hooks.before, h),
                            register_module_forward_hook=lambda h: _Handle(_hooks.after, h))
nn.functional = _module("nn.functional")
distributions = _module("distributions", Distribution=type("Distribution", (), {"__init__": lambda self: None}))
optim = _module("optim", Optimizer=Optimizer, Adam=Adam, SGD=SGD)
cuda = _module("cuda", Event=Event, is_available=lambda: True, is_initialized=lambda: True, synchronize=lambda device=None: spend(10_000),
               _is_in_bad_fork=lambda: False, empty_cache=lambda: None, get_device_capability=lambda: (9, 0),
               get_device_name=lambda: "simulated GPU", reset_peak_memory_stats=lambda: None,
               max_memory_allocated=lambda: 3_000_000_000 if backends.cudnn.benchmark else 2_000_000_000,
               mem_get_info=lambda: (1 << 40, 1 << 40), get_rng_state=lambda: settings.get("drawn", 0),
               set_rng_state=lambda state: settings.update(drawn=state))
cuda.nvtx = types.SimpleNamespace(range_push=lambda name: 1, range_pop=lambda: 0)
backends = _module("backends")
backends.cuda = _module("backends.cuda")
backends.cuda.matmul = types.SimpleNamespace(allow_tf32=False)
backends.cudnn = types.SimpleNamespace(allow_tf32=True, benchmark=False)
get_rng_state, set_rng_state = lambda: 0, lambda state: None
equal = lambda a, b: a == b
cat = lambda tensors: Tensor(tensors[0].value, (sum(t.shape[0] for t in tensors), *tensors[0].shape[1:]))
is_grad_enabled, is_autocast_enabled = lambda: settings.get("grad", True), lambda: False


class _BaseDataLoaderIter:
    def __iter__(self):
        return self

    def __next__(self):
        return settings.get("load", lambda: [0] * 8)()


utils = _module("utils")
utils.data = _module("utils.data")
utils.checkpoint = _module("utils.checkpoint", checkpoint=lambda function, *args, **keywords: function(*args))
utils.data.dataloader = _module("utils.data.dataloader", _BaseDataLoaderIter=_BaseDataLoaderIter)
