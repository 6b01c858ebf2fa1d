/* plugin_list.h - every job plugin: PLUGIN(x) is plugin_x in x.c, tested by test/x.c
 *
 * A plugin is such a file and a row here, nothing else: meson.build reads this list, too. The order is that of running:
 * Volcano's own order first, then ours by name. hcclrank comes last because it reads what the others wrote.
 */
// clang-format off
PLUGIN(env)
PLUGIN(svc)
PLUGIN(ssh)
PLUGIN(tensorflow)
PLUGIN(pytorch)
PLUGIN(mpi)
PLUGIN(ray)
PLUGIN(deepspeed)
PLUGIN(jax)
PLUGIN(wait)
PLUGIN(hcclrank)
