/* volume.c - claims, volumes and mounts of spec.volumes */
#include "job/volume.h"

#include "api/meta.h"
#include "base/map.h"
#include "base/util.h"

/* Twelve characters of [0-9a-z] from a seed text: stable, and apart for other seeds. */
static struct str short_hash(struct arena *a, struct str seed)
{
    uint64_t h = str_hash(seed, 0x70756d696365u); /* a constant: the name must be the same on every machine */
    char *p = arena_alloc(a, 13);

    for (int i = 0; i < 12; i++, h /= 36)
        p[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[h % 36];
    p[12] = '\0';
    return (struct str){ p, 12 };
}

/* '-' may not end a shortened name before the next '-'. */
static struct str cut_name(struct str name, size_t max)
{
    name = str_sub(name, 0, max);
    while (name.n && (name.p[name.n - 1] == '-' || name.p[name.n - 1] == '.'))
        name.n--;
    return name;
}

bool job_volumes_name(struct arena *a, struct job *job)
{
    struct json *item = json_first(json_find(job->raw, "spec", "volumes", NULL));
    bool any = false;

    for (size_t i = 0; i < job->spec.volumes.n && item; i++, item = item->next) {
        struct job_volume *v = &job->spec.volumes.v[i];
        struct str seed;

        if (!str_empty(v->claim_name) || !v->claim)
            continue;
        seed = arena_fmt(a, "%.*s/%zu", STR_ARG(job->meta.uid), i);
        v->claim_name = arena_fmt(a, "%.*s-pvc-%.*s", STR_ARG(job->meta.name), STR_ARG(short_hash(a, seed)));
        json_set(item, "volumeClaimName", json_mark(json_str(a, v->claim_name), MARK_JOB));
        any = true;
    }
    return any;
}

void job_volumes_claims(const struct job *job, struct plugin_objects *out)
{
    for (size_t i = 0; i < job->spec.volumes.n; i++) {
        const struct job_volume *v = &job->spec.volumes.v[i];
        struct json *claim;

        if (!v->claim || str_empty(v->claim_name))
            continue;
        claim = object_new(out->arena, "v1", "PersistentVolumeClaim", job->meta.namespace, v->claim_name);
        object_set_label(out->arena, claim, "volcano.sh/job-name", job->meta.name);
        object_set_label(out->arena, claim, "volcano.sh/job-namespace", job->meta.namespace);
        object_set_controller(out->arena, claim, job->raw);
        json_mark(claim, MARK_JOB);
        json_add(claim, STR("spec"), json_copy(out->arena, v->claim));
        *vec_push(out->arena, &out->list) = claim;
    }
}

static struct str volume_name(struct arena *a, const struct job *job, struct str claim)
{
    struct str prefix = cut_name(job->meta.name, 63 - 13); /* a volume name is a DNS label */
    char *p;

    if (!str_has_char(prefix, '.'))
        return arena_fmt(a, "%.*s-%.*s", STR_ARG(prefix), STR_ARG(short_hash(a, claim)));
    prefix = arena_str(a, prefix);
    p = (char *)prefix.p;
    for (size_t i = 0; i < prefix.n; i++)
        p[i] = p[i] == '.' ? '-' : p[i];
    return arena_fmt(a, "%.*s-%.*s", STR_ARG(prefix), STR_ARG(short_hash(a, claim)));
}

static bool has_member(const struct json *list, const char *key, struct str value)
{
    JSON_FOREACH(item, list)
        if (str_eq(json_member_text(item, key), value))
            return true;
    return false;
}

static void mount_in(struct arena *a, struct json *container, struct str volume, struct str path)
{
    struct json *mounts, *m;

    if (!json_is(container, JSON_OBJECT) || !(mounts = json_need_array(a, container, "volumeMounts")) ||
        has_member(mounts, "mountPath", path))
        return;
    m = json_object(a);
    json_add(m, STR("mountPath"), json_str(a, path));
    json_add(m, STR("name"), json_str(a, volume));
    json_push(mounts, json_mark(m, MARK_JOB));
    if (json_count(mounts) == 1)
        mounts->mark = MARK_JOB;
}

void job_volumes_mount(struct arena *a, const struct job *job, struct json *pod_spec)
{
    for (size_t i = 0; i < job->spec.volumes.n; i++) {
        const struct job_volume *v = &job->spec.volumes.v[i];
        struct str name = volume_name(a, job, v->claim_name);
        struct json *volumes = json_need_array(a, pod_spec, "volumes");

        if (!volumes || str_empty(v->claim_name))
            continue;
        if (!has_member(volumes, "name", name)) {
            struct json *volume = json_object(a), *source = json_object(a);

            json_add(source, STR("claimName"), json_str(a, v->claim_name));
            json_add(volume, STR("name"), json_str(a, name));
            json_add(volume, STR("persistentVolumeClaim"), source);
            json_push(volumes, json_mark(volume, MARK_JOB));
            if (json_count(volumes) == 1)
                volumes->mark = MARK_JOB;
        }
        JSON_FOREACH(c, json_get(pod_spec, "initContainers"))
            mount_in(a, c, name, v->mount_path);
        JSON_FOREACH(c, json_get(pod_spec, "containers"))
            mount_in(a, c, name, v->mount_path);
    }
}

void job_volumes_markers(struct arena *a, const struct job *job, struct json *controlled)
{
    struct map seen; /* a claim may be mounted twice */

    map_init(&seen, 0);
    for (size_t i = 0; i < job->spec.volumes.n; i++) {
        struct str claim = job->spec.volumes.v[i].claim_name;

        if (!str_empty(claim) && map_add(&seen, a, claim))
            json_add(controlled, arena_cat(a, STR("volume-pvc-"), claim), json_str(a, claim));
    }
    map_done(&seen);
}
