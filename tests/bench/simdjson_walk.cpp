/* simdjson_walk.cpp -- the peer of the benchmarks: simdjson over a Kineto trace, and one walk over its events.
 *
 *     simdjson_walk FILE          load, parse by DOM, walk once: what a program that reads a trace must at least do
 *     simdjson_walk FILE demand   the same by On-Demand
 *     simdjson_walk FILE N        load once, then parse N times in memory; prints the times
 */
#include <simdjson.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace simdjson;

struct sums {
    size_t events = 0, name_bytes = 0, arg_bytes = 0;
    double time = 0;
};

static void walk_event(const dom::object &event, sums &s)
{
    s.events++;
    for (dom::key_value_pair field : event) {
        if (field.key == "ts" || field.key == "dur") {
            double t;
            if (!field.value.get(t)) s.time += t;
        } else if (field.key == "name") {
            std::string_view name;
            if (!field.value.get(name)) s.name_bytes += name.size();
        } else if (field.key == "args") {
            dom::object args;
            if (!field.value.get(args))
                for (dom::key_value_pair arg : args) s.arg_bytes += arg.key.size();
        }
    }
}

static int load_and_walk(const char *path)
{
    dom::parser parser;
    dom::element root;
    if (auto error = parser.load(path).get(root)) {
        fprintf(stderr, "simdjson_walk: %s: %s\n", path, error_message(error));
        return 2;
    }
    dom::array events;
    if (root.is_object()) events = root["traceEvents"];
    else events = root;
    sums s;
    for (dom::element event : events) walk_event(dom::object(event), s);
    printf("%zu events, names %zu bytes, arg names %zu bytes, times %g\n", s.events, s.name_bytes, s.arg_bytes, s.time);
    return 0;
}

/* What walk_event() adds up, parsed as it is asked for. */
static void demand_event(ondemand::object event, sums &s)
{
    s.events++;
    for (auto field : event) {
        std::string_view key = field.unescaped_key();
        ondemand::value value = field.value();
        if (key == "ts" || key == "dur") {
            double t;
            if (!value.get_double().get(t)) s.time += t;
        } else if (key == "name") {
            std::string_view name;
            if (!value.get_string().get(name)) s.name_bytes += name.size();
        } else if (key == "args") {
            ondemand::object args;
            if (!value.get_object().get(args))
                for (auto arg : args) s.arg_bytes += std::string_view(arg.unescaped_key()).size();
        }
    }
}

static int load_and_demand(const char *path)
{
    padded_string text = padded_string::load(path);
    ondemand::parser parser;
    ondemand::document root = parser.iterate(text);
    sums s;
    for (auto event : root["traceEvents"]) demand_event(event.get_object(), s);
    printf("%zu events, names %zu bytes, arg names %zu bytes, times %g\n", s.events, s.name_bytes, s.arg_bytes, s.time);
    return 0;
}

static double parse_ms(dom::parser &parser, const padded_string &text)
{
    auto begin = std::chrono::steady_clock::now();
    dom::element root;
    if (parser.parse(text).get(root)) exit(2);
    auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(end - begin).count();
}

/* "fresh": with a new parser, as a program does that reads a trace; "hot": with one whose memory is already there. */
static int parse_again_and_again(const char *path, int rounds)
{
    padded_string text = padded_string::load(path);
    dom::parser hot;
    parse_ms(hot, text);
    for (int i = 0; i < rounds; i++) {
        dom::parser fresh;
        printf("fresh %.4f ms\n", parse_ms(fresh, text));
        printf("hot %.4f ms\n", parse_ms(hot, text));
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: simdjson_walk FILE [demand|ROUNDS]\n", stderr);
        return 2;
    }
    if (argc > 2 && !strcmp(argv[2], "demand")) return load_and_demand(argv[1]);
    return argc > 2 ? parse_again_and_again(argv[1], atoi(argv[2])) : load_and_walk(argv[1]);
}
