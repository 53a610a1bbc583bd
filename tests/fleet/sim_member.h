/* sim_member.h -- the ranks of sim.h as members of a fleet, without a trace between. */
#ifndef GP_TESTS_FLEET_SIM_MEMBER_H
#define GP_TESTS_FLEET_SIM_MEMBER_H

#include "analyze/fleet/fleet.h"
#include "tests/fleet/sim.h"

static inline void sim_add(const struct sim *s, int32_t rank, struct gp_fleet *f)
{
    struct gp_strings names = {0};
    struct gp_fleet_step steps[SIM_STEPS];
    struct gp_fleet_member m = {.key = {rank, 1}, .device = rank % s->per_node, .steps = (uint64_t)s->steps};
    int64_t kernels[SIM_KERNELS] = {0}, compute = 0;
    m.gpu = gp_intern_cstr(&names, "NVIDIA H200");
    m.ns[GP_FLEET_COPY] = SIM_COPY_NS + sim_extra_ns(s, rank, SIM_COPY);
    m.ns[GP_FLEET_HOST] = SIM_HOST_NS + sim_extra_ns(s, rank, SIM_HOST);
    for (int32_t i = 0; i < s->steps; i++) {
        steps[i] = (struct gp_fleet_step){i + 3, m.ns[GP_FLEET_COPY] + m.ns[GP_FLEET_HOST]};
        for (int k = 0; k < SIM_KERNELS; k++) {
            int64_t ns = sim_kernel_ns(s, rank, s->first + i, k);
            kernels[k] += ns;
            steps[i].own_ns += ns;
            compute += ns;
        }
    }
    for (int k = 0; k < SIM_KERNELS; k++) {
        struct gp_fleet_kernel_time t = {gp_intern_cstr(&names, sim_names[k]), (uint64_t)s->steps,
                                         kernels[k] / s->steps, kernels[k] / s->steps};
        GP_VEC_PUSH(&m.kernels, t);
    }
    m.ns[GP_FLEET_COMPUTE] = compute / s->steps;
    m.ns[GP_FLEET_OWN] = m.ns[GP_FLEET_COMPUTE] + m.ns[GP_FLEET_COPY] + m.ns[GP_FLEET_HOST];
    m.ns[GP_FLEET_STEP] = SIM_STEP_NS + sim_extra_ns(s, rank, SIM_LINK);
    m.ns[GP_FLEET_COMMUNICATION] = m.ns[GP_FLEET_STEP] - m.ns[GP_FLEET_OWN];
    gp_fleet_add(f, &m, &names, steps, (size_t)s->steps);
    GP_VEC_FREE(&m.kernels);
    gp_strings_release(&names);
}

#endif
