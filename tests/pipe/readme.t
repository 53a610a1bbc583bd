#!/bin/sh
# Every command of README.md, run as it stands there on the mock GPU, a stand-in for PyTorch and committed traces, and what it prints
# held against what README.md shows. Those that install and build are run by install.t.
# `tests/pipe/readme.t --update` writes what they print into README.md.
test_description='README.md: its commands do what it says'
[ "${1:-}" != --update ] || { update=--update && shift; }
. "${GP_SOURCE:-$(dirname "$0")/../..}/tests/tap/setup.sh"
. "$GP_SOURCE/tests/pipe/mock.sh"
. "$GP_SOURCE/tests/pipe/python.sh"
readme="python3 $GP_SOURCE/tests/pipe/readme.py"
PYTHONPATH=$GP_SOURCE/tests/python/fake_torch
PYTHONDONTWRITEBYTECODE=1
TMPDIR=$PWD
MOCK_CUDA=$mock/libcuda.so.1
export PYTHONPATH PYTHONDONTWRITEBYTECODE TMPDIR MOCK_CUDA

ln -s "$samples" samples
pair() { ln -s "$samples/pairs/$1.trace" "$2.trace"; }
pair small_forloop before && pair small_fused after && pair small main && pair small branch
pair small_forloop a1 && pair small_forloop_2 a2 && pair small_fused b1 && pair small_fused_2 b2
ln -s "$samples/h200/eager.json.gz" trace.json.gz
for rank in 0 1; do ln -s "$samples/h200/ddp.rank$rank.json.gz" rank$rank.json.gz; done
mkdir bin
printf '#!/bin/sh\nshift\nexec "$@"\n' >bin/ssh
printf '#!/bin/sh\nexec %s launch 20 1 1\n' "$app" >app
chmod +x bin/ssh app
PATH=$PWD/bin:$PATH
cat >train.py <<'END'
import ctypes, os, torch
class Event(ctypes.Structure):
    _fields_ = [("op", ctypes.c_int), ("stream", ctypes.c_uint32), ("kernel", ctypes.c_void_p),
                ("grid", ctypes.c_uint32), ("count", ctypes.c_uint32), ("bytes", ctypes.c_uint64)]
cuda, libc = ctypes.CDLL(os.environ["MOCK_CUDA"]), ctypes.CDLL(None)
libc.strdup.restype = ctypes.c_void_p
event = Event(0, 7, libc.strdup(b"step_kernel"), 1, 0, 0)
cuda.cuInit(0)
class Net(torch.nn.Module):
    def forward(self, x):
        torch.spend(2e6 if torch.backends.cuda.matmul.allow_tf32 else 6e6)
        return torch.Tensor(1.0)
net = Net()
optimizer = torch.optim.Adam(net.parameters())
for i in range(1000):
    optimizer.zero_grad()
    net(torch.Tensor(2.0)).backward()
    if i < 10: cuda.mock_do(ctypes.byref(event))
    optimizer.step()
END

test_expect_success 'each ends as it should and prints what is shown' '
    $readme "$GP_SOURCE/README.md" ${update:---check} Install >out || { grep -v "as shown\$" out; return 1; }
    test "$(grep -c "as shown\$" out)" -ge 15
'

test_expect_success 'those that install or build are the ones that other tests run' '
    grep "^elsewhere: " out | sed "s/^elsewhere: //" >left && $readme "$GP_SOURCE/README.md" Install | grep -v "^trace2flame" >install &&
    test_cmp install left && grep "readme.py.* Install" "$GP_SOURCE/tests/setup/check_release.sh" "$GP_SOURCE/tests/pipe/install.t"
'

test_expect_success 'planted: another output, another exit status, an empty file, and silence are found' '
    printf "%s\n" "\`\`\`" "\$ echo a  # b" "a" "\$ echo b" "a" "\$ false" "\$ : > f" "\$ true" "\`\`\`" >page.md &&
    ! $readme page.md --check >out && grep -c ": as shown" out | grep -Fx 1 &&
    grep "page.md:4: echo b: prints something else" out && grep "page.md:6: false: exit status 1, not 0" out &&
    grep "page.md:7: .* leaves f empty" out && grep "page.md:8: true: prints nothing" out &&
    ! $readme page.md --update >out && sed -n 5p page.md | grep -Fx b
'

test_done
