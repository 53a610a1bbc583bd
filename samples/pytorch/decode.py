"""Generate text token by token with a key/value cache; with --graph each step is the replay of one CUDA graph, captured
with a range around every module.

--repeats N generates N times over and prints the time of a step, for measuring what a collector costs; with --kineto
torch.profiler records meanwhile, and its export is outside the time.
"""

import statistics

import torch

from sample import GPT, Decoder, Ranges, arguments, mark_modules, recording, span, synchronize, timed

args = arguments(__doc__, tokens=24, graph=False, repeats=1, layers=4)


def token(index):
    with span(f"token {index}"):
        decoder.advance()


with torch.inference_mode():
    decoder = Decoder(GPT(layers=args.layers).to(args.device, torch.bfloat16), args.device)
    if args.graph:
        mark_modules(decoder.model, backward=False)
        with span("capture"):
            decoder.capture()
    else:
        decoder.step()
    synchronize()
    before = Ranges.opened
    times = []
    with recording(args.kineto, record_shapes=args.repeats == 1):
        for _ in range(args.repeats):
            with span("generate"):
                times += timed(args.tokens, token)
steps = args.tokens * args.repeats
print(f"decode step_best_ns={min(times)} step_median_ns={int(statistics.median(times))} last_token={decoder.token.item()}")
print(f"expect ranges_least={Ranges.opened - before} processes=1" + (f" graph_launches={steps} uncaptured_graph_work=0 capture_paths_least={args.layers * 6}" if args.graph else ""))
