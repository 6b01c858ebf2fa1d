/* spawner.c - the program's side of the spawner */
#include "node/shim/shim_internal.h"

#include "base/util.h"
#include "os/proc.h"

#include <signal.h>

struct spawner {
    pid_t pid;
    int sock;
};

int spawner_start(const struct spawner_options *opt, struct spawner **ret, struct err *e)
{
    int pair[2];
    pid_t pid;

    if (wire_pair(pair, e) < 0)
        return err_wrap(e, "start the spawner");
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        spawner_main(opt, pair[1]);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return err_errno(e, "start the spawner");
    }
    *ret = xcalloc(1, sizeof(**ret));
    **ret = (struct spawner){ .pid = pid, .sock = pair[0] };
    return 0;
}

void spawner_stop(struct spawner *s)
{
    struct wire_msg m = { .kind = SPAWNER_STOP };

    if (!s)
        return;
    (void)wire_send(s->sock, &m, NULL); /* gone already is fine */
    close(s->sock);
    (void)kill(s->pid, SIGCONT); /* somebody may have stopped it, and we wait */
    (void)proc_wait(s->pid);
    free(s);
}

int spawner_fd(const struct spawner *s)
{
    return s->sock;
}

int spawner_send(struct spawner *s, const struct wire_msg *m, struct err *e)
{
    return wire_send(s->sock, m, e);
}
