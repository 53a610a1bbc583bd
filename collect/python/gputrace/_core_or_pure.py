"""The C extension where it was built, otherwise the same in Python: correct, but slower."""

import functools
import inspect
import logging
import os

try:
    if os.environ.get("GPUTRACE_PURE", "0") not in ("", "0"):
        raise ImportError("GPUTRACE_PURE is set")
    from . import _core as core
    fast = True
except ImportError as reason:
    from . import _pure as core
    fast = False
    logging.getLogger("gputrace").debug("ranges are slow: %s", reason)


def _decorate(range_, function):
    """What @range makes of a function: plain, generator and coroutine functions stay what they are."""
    enter, leave = range_.__enter__, range_.__exit__
    if inspect.iscoroutinefunction(function):
        async def wrapper(*args, **keywords):
            with range_:
                return await function(*args, **keywords)
    elif inspect.isasyncgenfunction(function):
        async def wrapper(*args, **keywords):
            with range_:
                async for item in function(*args, **keywords):
                    yield item
    elif inspect.isgeneratorfunction(function):
        def wrapper(*args, **keywords):
            with range_:
                return (yield from function(*args, **keywords))
    else:
        def wrapper(*args, **keywords):
            enter()
            try:
                return function(*args, **keywords)
            finally:
                leave(None, None, None)
    return functools.update_wrapper(wrapper, function)


core.decorator(_decorate)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=core.reset)
