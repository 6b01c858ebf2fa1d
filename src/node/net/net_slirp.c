/* net_slirp.c - egress for users who cannot change the host's network: slirp4netns
 *
 * It puts a tap device into the pods' namespace and passes on, as an ordinary program with sockets, what comes out of
 * it. It takes packets from the tap's own address only, so the pods hide behind that. It ends when its exit descriptor
 * does, also when we are killed; else we wait for it, so that nothing is left when we have ended.
 */
#include "node/net/net_internal.h"

#include "base/util.h"
#include "node/net/net_nat.h"
#include "os/proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/ip.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { READY_MS = 3000, END_MS = 3000, NOBODY = 65534, HOST_MAX = 256 };

struct slirp {
    char program[256], tap[IF_NAMESIZE], ns[40], ready[16], exit[16];
    int ns_fd, ready_fd, exit_fd, words;
    bool is_root, outlives;
};

/* After fork: system calls only. */
static _Noreturn void become_slirp(const struct slirp *s)
{
    const char *const argv[] = { "slirp4netns", "--configure", "--disable-host-loopback", "--ready-fd", s->ready,
                                 "--exit-fd",   s->exit,       "--netns-type=path",       s->ns,        s->tap,
                                 NULL };
    int keep[] = { s->ns_fd, s->ready_fd, s->exit_fd };
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL); /* cannot fail */
    if (!s->outlives) /* else it is the exit descriptor alone, which one that was stopped does not see */
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setsid() < 0) /* not for the terminal's Ctrl-C */
        _exit(1);
    /* By which other runs know that it is not root (net_nat.h). */
    if (s->is_root && setresgid(NOBODY, NOBODY, NOBODY) < 0)
        _exit(1);
    for (size_t i = 0; i < ARRAY_LEN(keep); i++)
        (void)fcntl(keep[i], F_SETFD, 0); /* a number of our own */
    if (dup2(s->words, 1) >= 0 && dup2(s->words, 2) >= 0)
        (void)execv(s->program, (char *const *)argv); /* the pipe closes if it failed */
    _exit(1);
}

static bool slirp_is_ready(int fd)
{
    struct pollfd p = { fd, POLLIN, 0 };
    char c;
    int n;

    do
        n = poll(&p, 1, READY_MS);
    while (n < 0 && errno == EINTR);
    return n == 1 && read(fd, &c, 1) == 1;
}

static int slirp_complain(const struct slirp *s, struct err *e)
{
    autobuf words = { 0 };
    struct str rest, line, last = STR("it did not start");

    proc_words(s->words, &words);
    rest = str_trim(buf_view(&words));
    while (str_split(&rest, '\n', &line))
        last = line;
    return err_set(e, ERR_IO, "slirp4netns: %.*s", STR_ARG(last));
}

static int slirp_start(struct slirp *s, int ready, struct net_slirp *ret, struct err *e)
{
    pid_t pid = fork();

    if (pid == 0)
        become_slirp(s);
    close(s->ready_fd); /* or it would never be seen closed */
    close(s->exit_fd);
    if (pid < 0)
        return err_errno(e, "start slirp4netns");
    *ret = (struct net_slirp){ .pid = pid, .fd = (int)syscall(SYS_pidfd_open, pid, 0) };
    return slirp_is_ready(ready) ? 0 : slirp_complain(s, e);
}

void net_slirp_leave(struct net_slirp *s)
{
    if (s->pid > 0 && s->fd >= 0)
        close(s->fd);
    *s = (struct net_slirp){ 0 };
}

void net_slirp_wait(struct net_slirp *s)
{
    if (s->pid > 0)
        (void)proc_wait_gone(s->pid, END_MS);
    net_slirp_leave(s);
}

/* By which the host's services would be reached: slirp4netns speaks for the pods as a program of the host. Those that it
 * gets later are not among them. */
static size_t host_addresses(uint32_t ret[HOST_MAX])
{
    struct ifaddrs *list = NULL;
    size_t n = 0;

    if (getifaddrs(&list) < 0)
        return 0;
    for (const struct ifaddrs *i = list; i && n < HOST_MAX; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
            ret[n++] = ntohl(((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr);
    freeifaddrs(list);
    return n;
}

/* What the kernel does not yet know of the new device: it forwards, and hides the pods. */
static int use_tap(const struct net_way *w, const char *tap, struct err *e)
{
    static const struct net_setting settings[] = { { IPV4_DEVCONF_FORWARDING, 1 } };
    uint32_t host[HOST_MAX];
    int index;

    if (nl_link_index(w->inner, tap, &index, e) < 0)
        return -1;
    net_begin_link(w->inner, 0, "enable forwarding on the tap", index, 0);
    net_put_settings(w->inner, settings, ARRAY_LEN(settings));
    if (nl_send(w->inner, e) < 0)
        return -1;
    return w->is_again ? 0
                       : nat_add(w->ns_fd,
                                 &(struct nat_options){ .id = w->id,
                                                        .comment = "masquerade pods as the tap",
                                                        .pods = w->subnet,
                                                        .is_open = w->is_open,
                                                        .host = host,
                                                        .n_host = host_addresses(host) },
                                 e);
}

static int find_all(struct slirp *s, struct err *e)
{
    if (!proc_find("slirp4netns", s->program, sizeof(s->program)))
        return err_set(e, ERR_NOT_FOUND, "slirp4netns is not installed; run: apt-get install slirp4netns");
    if (access("/dev/net/tun", R_OK | W_OK) < 0)
        return err_set(e, ERR_FORBIDDEN, "cannot open /dev/net/tun (%s); as root run: %s", strerror(errno),
                       errno == ENOENT ? "modprobe tun" : "chmod 0666 /dev/net/tun");
    return 0;
}

int net_slirp_open(const struct net_way *w, struct net_slirp *ret, int *ret_exit_fd, struct err *e)
{
    struct slirp s = {
        .ns_fd = w->ns_fd, .ready_fd = -1, .exit_fd = -1, .is_root = w->is_root, .outlives = w->outlives
    };
    autoclose int words = -1, ready = -1, hold = -1;
    int pipes[2][2];

    if (find_all(&s, e) < 0)
        return -1;
    if (pipe2(pipes[0], O_CLOEXEC) < 0)
        return err_errno(e, "create a pipe");
    ready = pipes[0][0];
    if (pipe2(pipes[1], O_CLOEXEC) < 0) {
        close(pipes[0][1]);
        return err_errno(e, "create a pipe");
    }
    hold = pipes[1][1];
    s.ready_fd = pipes[0][1];
    s.exit_fd = pipes[1][0];
    words = s.words = proc_words_open();
    (void)snprintf(s.tap, sizeof(s.tap), "pm%st", w->id);
    (void)snprintf(s.ns, sizeof(s.ns), "/proc/self/fd/%d", s.ns_fd);
    (void)snprintf(s.ready, sizeof(s.ready), "%d", s.ready_fd);
    (void)snprintf(s.exit, sizeof(s.exit), "%d", s.exit_fd);
    if (slirp_start(&s, ready, ret, e) < 0 || use_tap(w, s.tap, e) < 0) {
        close(hold); /* ends it */
        hold = -1;
        net_slirp_wait(ret);
        return -1;
    }
    *ret_exit_fd = hold;
    hold = -1;
    return 0;
}
