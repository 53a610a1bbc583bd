#include "tests/unit/collect/unwind/shapes.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace
{
struct held {
    std::string text;
    struct path *p;
    virtual int go(int n)
    {
        p->next(p);
        return n;
    }
    virtual ~held() = default;
};

int destroys(struct path *p, int n)
{
    held h;
    h.text = std::string(static_cast<size_t>(n % 50), 'x');
    h.p = p;
    return h.go(n) + static_cast<int>(h.text.size());
}

int catches(struct path *p, int n)
{
    try {
        throw std::runtime_error("planted");
    } catch (const std::exception &e) {
        p->next(p);
        return n + e.what()[0];
    }
}

int sorts(struct path *p, int n)
{
    int numbers[] = {n, 3, 2, 1};
    bool gone = false;
    std::function<bool(int, int)> less = [&](int a, int b) {
        if (!gone) gone = true, p->next(p);
        return a < b;
    };
    std::sort(numbers, numbers + 4, less);
    return numbers[0];
}
} // namespace

extern "C" const shape_fn shapes_cpp[] = {destroys, catches, sorts, nullptr};
