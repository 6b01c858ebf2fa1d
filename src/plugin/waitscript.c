/* waitscript.c - a shell script that waits until hosts answer */
#include "plugin/waitscript.h"

#include "plugin/plugin_internal.h"

/* What the script does, after the variables that wait_script_text() writes: probe (dns or tcp), hosts, files, skip,
 * suffix, port, limit, min.
 *
 * - One try must not hang for minutes on a dropped packet: 'timeout' bounds it, where it works as expected (old
 *   BusyBox has another syntax).
 * - bash may be built without /dev/tcp; then it looks for a file of that name, and says so.
 * - nslookup of BusyBox does not use the search list, so it also tries the full name.
 * - A round may take long when there are many hosts; 10 s after the limit it stops in the middle.
 * - A round builds the list of missing hosts by printing it: appending to a variable would be quadratic. */
static const char wait_body[] =
    "set -f\n"
    "fail() { echo \"wait: $*\" >&2; exit 1; }\n"
    "has() { command -v \"$1\" >/dev/null 2>&1; }\n"
    "bound=\n"
    "if timeout 1 true >/dev/null 2>&1; then bound='timeout 5'; fi\n"
    "tool=\n"
    "if [ $probe = tcp ]; then\n"
    "  if has bash; then\n"
    "    case $(LC_ALL=C bash -c ': <>/dev/tcp/127.0.0.1/1' 2>&1) in\n"
    "    *'No such file'*) ;;\n"
    "    *) tool=bash ;;\n"
    "    esac\n"
    "  fi\n"
    "  for t in python3 perl nc; do\n"
    "    if [ -z \"$tool\" ] && has $t; then tool=$t; fi\n"
    "  done\n"
    "  [ -n \"$tool\" ] || fail 'the image has none of bash, python3, perl, nc to try a connection with'\n"
    "else\n"
    "  for t in getent python3 nslookup; do\n"
    "    if [ -z \"$tool\" ] && has $t; then tool=$t; fi\n"
    "  done\n"
    "  [ -n \"$tool\" ] || fail 'the image has none of getent, python3, nslookup to look names up with'\n"
    "fi\n"
    "answers() {\n"
    "  case $probe-$tool in\n"
    "  tcp-bash) $bound bash -c ': <>\"/dev/tcp/$0/$1\"' \"$1\" $port ;;\n"
    "  tcp-python3) $bound python3 -c 'import socket, sys\n"
    "socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)' \"$1\" $port ;;\n"
    "  tcp-perl) $bound perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new(\n"
    "PeerAddr => $ARGV[0], PeerPort => $ARGV[1], Timeout => 2)' \"$1\" $port ;;\n"
    "  tcp-nc) $bound nc -z -w 2 \"$1\" $port ;;\n"
    "  dns-getent) $bound getent hosts \"$1\" ;;\n"
    "  dns-python3) $bound python3 -c 'import socket, sys\n"
    "socket.getaddrinfo(sys.argv[1], None)' \"$1\" ;;\n"
    "  dns-nslookup) $bound nslookup \"$1\" || $bound nslookup \"$1.$suffix\" ;;\n"
    "  esac </dev/null >/dev/null 2>&1\n"
    "}\n"
    "for f in $files; do\n"
    "  [ -r \"/etc/volcano/$f\" ] || fail \"/etc/volcano/$f cannot be read\"\n"
    "  hosts=\"$hosts $(cat \"/etc/volcano/$f\")\"\n"
    "done\n"
    "total=0\n"
    "for h in $hosts; do [ \"$h\" = \"$skip\" ] || total=$((total + 1)); done\n"
    "need=$total\n"
    "if [ $min -gt 0 ] && [ $min -lt $total ]; then need=$min; fi\n"
    "echo \"wait: for $need of $total hosts ($what, by $tool), at most $limit s\"\n"
    "start=$(date +%s)\n"
    "ready=0\n"
    "while :; do\n"
    "  hosts=$(\n"
    "    ok=$ready over=0\n"
    "    for h in $hosts; do\n"
    "      if [ \"$h\" = \"$skip\" ]; then continue; fi\n"
    "      if [ $over = 0 ] && answers \"$h\"; then\n"
    "        ok=$((ok + 1))\n"
    "        if [ $ok -ge $need ]; then over=1; fi\n"
    "        continue\n"
    "      fi\n"
    "      echo \"$h\"\n"
    "      if [ $over = 0 ] && [ $(( $(date +%s) - start - 10 )) -gt $limit ]; then over=1; fi\n"
    "    done\n"
    "  )\n"
    "  set -- $hosts\n"
    "  was=$ready ready=$((total - $#)) spent=$(( $(date +%s) - start ))\n"
    "  if [ $ready -ge $need ]; then break; fi\n"
    "  [ $spent -lt $limit ] || fail \"gave up after $spent s: $ready of $total hosts ready, missing $1${2:+ and "
    "others}\"\n"
    "  if [ $ready != $was ]; then echo \"wait: $ready of $total hosts ready after $spent s\"; fi\n"
    /* Pods of a gang mostly come up within a second; not every sleep knows fractions. */
    "  if [ $spent -lt 10 ]; then sleep 0.2 2>/dev/null || sleep 1; else sleep 2; fi\n"
    "done\n"
    "echo \"wait: done, $ready of $total hosts ready after $spent s\"\n";

static void buf_shell_word(struct buf *out, struct str s)
{
    buf_char(out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\'')
            buf_str(out, STR("'\\''"));
        else
            buf_char(out, s.p[i]);
    }
    buf_char(out, '\'');
}

struct str shell_word(struct arena *a, struct str s)
{
    autobuf out = { 0 };

    buf_shell_word(&out, s);
    return arena_str(a, buf_view(&out));
}

static void put_assign(struct buf *out, const char *name, struct str value)
{
    buf_fmt(out, "%s=", name);
    buf_shell_word(out, value);
    buf_char(out, '\n');
}

static struct str dns_suffix(struct plugin_call *call)
{
    struct str domain = call->world ? call->world->cluster_domain : STR_NULL;

    return arena_fmt(call->arena, "%.*s.svc.%.*s", STR_ARG(plugin_namespace(call->job)),
                     STR_ARG(str_empty(domain) ? STR("cluster.local") : domain));
}

struct str wait_script_text(struct plugin_call *call, const struct wait_script *w)
{
    autobuf out = { 0 }, files = { 0 };
    struct str what = w->dns_only ? STR("name in DNS") : arena_fmt(call->arena, "port %lld", (long long)w->port);

    for (size_t i = 0; i < w->files.n; i++) {
        if (i)
            buf_char(&files, ' ');
        buf_str(&files, w->files.v[i]);
    }
    buf_str(&out, STR("unset hosts\n")); /* if the image exports one, a long list must not go to every tool */
    buf_fmt(&out, "probe=%s port=%lld limit=%lld min=%lld\n", w->dns_only ? "dns" : "tcp", (long long)w->port,
            (long long)w->timeout_s, (long long)w->min);
    put_assign(&out, "what", what);
    put_assign(&out, "hosts", w->host);
    put_assign(&out, "files", buf_view(&files));
    put_assign(&out, "skip", w->skip);
    put_assign(&out, "suffix", dns_suffix(call));
    buf_str(&out, (struct str){ wait_body, sizeof(wait_body) - 1 });
    return arena_str(call->arena, buf_view(&out));
}

struct str wait_script_prefix(struct plugin_call *call, const struct wait_script *w)
{
    struct str text = wait_script_text(call, w);

    return arena_fmt(call->arena, "(\n%.*s) || exit 1\n", STR_ARG(text));
}

void pod_add_wait(struct plugin_call *call, struct pod_draft *pod, struct str name, struct str image,
                  const struct wait_script *w)
{
    const struct json *first = pod_container_next(pod, POD_MAIN, NULL);
    bool own_image = str_empty(image) || str_eq(image, STR("pod"));
    struct json *c = first ? pod_add_init_container(call, pod, name) : NULL;

    if (!c)
        return;
    if (own_image) {
        container_copy_member(call, c, first, "image");
        container_copy_member(call, c, first, "imagePullPolicy");
    } else {
        json_set(c, "image", mk_str(call, image));
    }
    container_set_shell(call, c, wait_script_text(call, w));
    if (own_image)
        container_copy_member(call, c, first, "resources");
    container_copy_member(call, c, first, "securityContext"); /* its rights are the pod's, whatever its image is */
    if (w->files.n)
        container_mount(call, c, arena_fmt(call->arena, "%.*s-svc", STR_ARG(call->job->meta.name)), STR("/etc/volcano"),
                        NULL);
}

struct str host_file_name(struct arena *a, struct str task)
{
    struct str name = arena_fmt(a, "%.*s.host", STR_ARG(task));

    for (size_t i = 0; i < task.n; i++)
        if (name.p[i] == '-')
            ((char *)name.p)[i] = '_'; /* our own copy */
    return name;
}
