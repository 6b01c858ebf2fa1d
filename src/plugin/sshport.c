/* sshport.c - on which port the sshd of a job's pods listens
 *
 * `ssh-port` says it. Without it `mpi --port` does, unless the job shows another one: by a command line that starts
 * sshd (which listens on 22 when it is not told otherwise), or by a port that a container declares. A command line is
 * read as far as it is plain; a port from a variable or a file is not known and is ignored.
 */
#include "plugin/plugin_internal.h"

#include "base/util.h"

enum { PORT_SSH = 22 };

struct sshport_shown {
    int64_t wanted; /* mpi's: where the job shows that one, it is right */
    int64_t first;  /* 0: none */
    bool has_wanted;
};

static void sshport_show(struct sshport_shown *s, int64_t port)
{
    if (port < 1 || port > 65535)
        return;
    s->has_wanted |= port == s->wanted;
    s->first = s->first ? s->first : port;
}

/* ---- command lines ---- */

struct sshport_words { /* of a shell script, or of a list that is a command line already */
    struct str rest;
    bool is_start; /* a new command begins at the next word */
};

/* The next word; '*ret_is_first' of its command. Quotes are left out, what they hold is not looked into further. */
static bool sshport_next_word(struct sshport_words *w, struct str *ret, bool *ret_is_first)
{
    static const char ends[] = ";&|(){}`\n", blanks[] = " \t\r\\'\"";
    size_t n = 0;

    while (w->rest.n && (strchr(ends, w->rest.p[0]) || strchr(blanks, w->rest.p[0]))) {
        bool is_joined = w->rest.n > 1 && w->rest.p[0] == '\\' && w->rest.p[1] == '\n';

        w->is_start |= strchr(ends, w->rest.p[0]) != NULL;
        w->rest = str_from(w->rest, is_joined ? 2 : 1);
    }
    while (n < w->rest.n && w->rest.p[n] && !strchr(ends, w->rest.p[n]) && !strchr(blanks, w->rest.p[n]))
        n++;
    *ret = str_sub(w->rest, 0, n);
    *ret_is_first = w->is_start;
    w->is_start = false;
    w->rest = str_from(w->rest, n);
    return n > 0;
}

/* After these a command begins. */
static bool is_prefix(struct str word)
{
    static const char *const words[] = { "-c", "exec", "nohup", "sudo", "then", "do", "else", "time" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

static bool is_sshd(struct str word)
{
    return str_is(word, "sshd") || str_ends(word, STR("bin/sshd"));
}

/* "2222", "Port=2222". 0: not known. */
static int64_t port_number(struct str text)
{
    int64_t n;

    if (text.n > 5 && str_eq_nocase(str_sub(text, 0, 5), STR("port=")))
        text = str_from(text, 5);
    return str_to_i64(text, &n) == 0 ? n : 0;
}

/* The options of one sshd, up to the end of its command. 0: not known. */
static int64_t sshd_port(struct sshport_words *w)
{
    struct sshport_words ahead = *w;
    int64_t port = PORT_SSH;
    struct str word, before = STR_NULL;
    bool is_first;

    while (sshport_next_word(&ahead, &word, &is_first) && !is_first) {
        bool is_option = str_is(before, "-o") || str_starts(word, STR("-o"));
        struct str value = word.n > 2 && word.p[0] == '-' && (word.p[1] == 'p' || word.p[1] == 'o') ? str_from(word, 2)
                                                                                                    : word;
        bool is_port = str_is(before, "-p") || (str_starts(word, STR("-p")) && word.n > 2) ||
                       (is_option && value.n > 5 && str_eq_nocase(str_sub(value, 0, 5), STR("port=")));

        if (str_starts(word, STR("-f")))
            return 0; /* a file says it */
        if (is_port)
            port = port_number(value);
        before = word;
        *w = ahead;
    }
    return port;
}

static void show_command_lines(struct arena *a, const struct json *container, struct sshport_shown *s)
{
    static const char *const lists[] = { "command", "args" };
    struct sshport_words w = { .is_start = true };
    struct str word, before = STR_NULL;
    autobuf text = { 0 };
    bool is_first;

    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        JSON_FOREACH(item, json_get(container, lists[i]))
            buf_fmt(&text, "%.*s ", STR_ARG(json_text(item, STR_NULL)));
    w.rest = arena_str(a, buf_view(&text));
    while (sshport_next_word(&w, &word, &is_first)) {
        if (is_sshd(word) && (is_first || is_prefix(before)))
            sshport_show(s, sshd_port(&w));
        before = word;
    }
}

/* ---- declared ports ---- */

static void show_named_ports(const struct json *container, struct sshport_shown *s)
{
    JSON_FOREACH(port, json_get(container, "ports")) {
        struct str name = json_member_text(port, "name");

        if (str_is(name, "ssh") || str_is(name, "sshd"))
            sshport_show(s, json_i64(json_get(port, "containerPort"), 0));
    }
}

static void show_usual_port(const struct json *container, struct sshport_shown *s)
{
    JSON_FOREACH(port, json_get(container, "ports")) {
        int64_t number = json_i64(json_get(port, "containerPort"), 0);

        if (number == PORT_SSH || number == s->wanted)
            sshport_show(s, number);
    }
}

/* ---- all of it ---- */

/* From the plainest sign to the faintest. */
enum sign { SIGN_COMMAND, SIGN_NAMED_PORT, SIGN_USUAL_PORT, SIGN_MAX };

static void sshport_look(struct arena *a, const struct json *container, enum sign sign, struct sshport_shown *s)
{
    switch (sign) {
    case SIGN_COMMAND:
        show_command_lines(a, container, s);
        break;
    case SIGN_NAMED_PORT:
        show_named_ports(container, s);
        break;
    case SIGN_USUAL_PORT:
        show_usual_port(container, s);
        break;
    case SIGN_MAX:
        break;
    }
}

int64_t ssh_port(struct arena *a, const struct plugin_set *set)
{
    int64_t own = plugin_set_int(set, "ssh", "ssh-port", PORT_SSH);
    struct sshport_shown s = { .wanted = plugin_set_int(set, "mpi", "port", own) };

    if (plugin_set_given(set, "ssh", "ssh-port") || !plugin_set_given(set, "mpi", "port"))
        return own;
    for (int sign = 0; sign < SIGN_MAX && !s.first; sign++)
        for (size_t i = 0; i < set->job->spec.tasks.n; i++)
            JSON_FOREACH(c, json_get(job_task_pod_spec(&set->job->spec.tasks.v[i]), "containers"))
                sshport_look(a, c, (enum sign)sign, &s);
    return s.has_wanted || !s.first ? s.wanted : s.first;
}
