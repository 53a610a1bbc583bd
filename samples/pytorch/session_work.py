"""What the session_*.py scripts measure: a small network on the GPU where PyTorch finds one, otherwise on the CPU, and plain
arithmetic where there is no PyTorch, so that every script runs everywhere and says what it lacks."""

try:
    import torch
except ImportError:
    torch = None

device = "cuda" if torch and torch.cuda.is_available() else "cpu"


def make_step(width=1024, batch=256):
    """A function that trains once."""
    if not torch:
        return lambda: sum(i * i for i in range(width))
    model = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    data = torch.randn(batch, width, device=device)

    def step():
        with torch.profiler.record_function("forward"):
            loss = model(data).square().mean()
        with torch.profiler.record_function("backward"):
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def make_product(n=4096):
    """A function and its arguments: one matrix product."""
    if not torch:
        return (lambda a, b: a * b), 3, 4
    n = n if device == "cuda" else 256
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    return torch.mm, torch.randn(n, n, device=device, dtype=kind), torch.randn(n, n, device=device, dtype=kind)


def make_sum(n=1 << 26):
    """A function and its arguments: one addition of two vectors."""
    if not torch:
        return (lambda a, b: a + b), 3, 4
    n = n if device == "cuda" else 1 << 16
    return torch.add, torch.randn(n, device=device), torch.randn(n, device=device)
