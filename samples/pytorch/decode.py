"""Generate text token by token with a key/value cache; with --graph each step is the replay of one CUDA graph.

--repeats N generates N times over and prints the time of a step, for measuring what a collector costs; with --kineto
torch.profiler records meanwhile, and its export is outside the time.
"""

import statistics

import torch

from sample import GPT, Ranges, arguments, recording, span, synchronize, timed

args = arguments(__doc__, tokens=24, graph=False, repeats=1, layers=4)
CONTEXT = 256


class Decoder:
    """One sequence: the last token, its place, and the caches, all in place, so that a graph can be replayed."""

    def __init__(self, model, device, width=512, heads=8):
        shape = (1, heads, CONTEXT, width // heads)
        self.model = model
        self.caches = [
            (torch.zeros(shape, device=device, dtype=torch.bfloat16), torch.zeros(shape, device=device, dtype=torch.bfloat16))
            for _ in model.blocks
        ]
        self.token = torch.zeros(1, 1, device=device, dtype=torch.long)
        self.position = torch.zeros(1, device=device, dtype=torch.long)
        self.replay = None

    def step(self):
        logits = self.model(self.token, self.caches, self.position)
        self.token.copy_(logits[:, -1].argmax(-1, keepdim=True))
        self.position.add_(1).remainder_(CONTEXT)

    def capture(self):
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        self.replay = graph.replay

    def run(self, index):
        with span(f"token {index}"):
            (self.replay or self.step)()


with torch.inference_mode():
    decoder = Decoder(GPT(layers=args.layers).to(args.device, torch.bfloat16), args.device)
    if args.graph:
        decoder.capture()
    else:
        decoder.step()
    synchronize()
    before = Ranges.opened
    times = []
    with recording(args.kineto, record_shapes=args.repeats == 1):
        for _ in range(args.repeats):
            with span("generate"):
                times += timed(args.tokens, decoder.run)
steps = args.tokens * args.repeats
print(f"decode step_best_ns={min(times)} step_median_ns={int(statistics.median(times))} last_token={decoder.token.item()}")
print(f"expect ranges_least={Ranges.opened - before} processes=1" + (f" graph_launches={steps}" if args.graph else ""))
