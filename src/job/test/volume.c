/* volume.c - claims, volumes and mounts of spec.volumes */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "job/pod.h"
#include "job/volume.h"
#include "job/wanted.h"
#include "fixture.h"

static const char two_volumes[] =
    "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: "
    "a-job-name-that-is-nearly-sixty-characters-long-0123456}\n"
    "spec:\n"
    "  volumes:\n"
    "  - mountPath: /data\n"
    "    volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
    "  - {mountPath: /in, volumeClaimName: shared}\n"
    "  - {mountPath: /out, volumeClaimName: shared}\n"
    "  tasks:\n"
    "  - name: t\n"
    "    replicas: 1\n"
    "    template:\n"
    "      spec:\n"
    "        initContainers: [{name: i, image: x}]\n"
    "        containers: [{name: c, image: x, volumeMounts: [{name: mine, mountPath: /in}]}]\n"
    "        volumes: [{name: mine, emptyDir: {}}]\n";

static void test_claims(void **state)
{
    struct fixture f;
    struct plugin_objects out = { 0 };
    struct str name;

    (void)state;
    fixture_init(&f, two_volumes);
    out.arena = &f.arena;
    assert_true(job_volumes_name(&f.arena, &f.job));
    name = f.job.spec.volumes.v[0].claim_name;
    assert_true(str_starts(name, STR("a-job-name-that-is-nearly-sixty-characters-long-0123456-pvc-")));
    assert_str(json_member_text(json_at(json_find(f.root, "spec", "volumes", NULL), 0), "volumeClaimName"), name.p);
    assert_false(job_volumes_name(&f.arena, &f.job)); /* named once, for good */

    job_volumes_claims(&f.job, &out);
    assert_int_equal(out.list.n, 1); /* 'shared' is somebody else's */
    assert_str(object_name(out.list.v[0]), name.p);
    assert_str(object_controller_uid(out.list.v[0]), "u-1");
    assert_json(json_get(out.list.v[0], "spec"),
                "{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}");
    fixture_done(&f);
}

static void test_claim_names_follow_the_uid(void **state)
{
    struct fixture f, g, h;

    (void)state;
    fixture_init(&f, two_volumes);
    fixture_init(&g, two_volumes);
    fixture_init(&h, two_volumes);
    h.job.meta.uid = STR("u-2");
    job_volumes_name(&f.arena, &f.job);
    job_volumes_name(&g.arena, &g.job);
    job_volumes_name(&h.arena, &h.job);
    assert_true(str_eq(f.job.spec.volumes.v[0].claim_name, g.job.spec.volumes.v[0].claim_name));
    assert_false(str_eq(f.job.spec.volumes.v[0].claim_name, h.job.spec.volumes.v[0].claim_name));
    fixture_done(&f);
    fixture_done(&g);
    fixture_done(&h);
}

static void test_mounts(void **state)
{
    struct fixture f;
    struct json *spec, *volumes, *c, *i;
    struct pod_draft pod = { 0 };
    struct err e;

    (void)state;
    fixture_init(&f, two_volumes);
    job_volumes_name(&f.arena, &f.job);
    assert_int_equal(job_pod_new(&f.arena, &f.job, f.set, &pod, &e), 0);
    spec = pod.spec;
    volumes = json_get(spec, "volumes");
    assert_int_equal(json_count(volumes), 3); /* mine, data, and one for both mounts of 'shared' (B48) */
    JSON_FOREACH(v, volumes)
        assert_true(json_member_text(v, "name").n <= 63);
    assert_text(json_find(json_at(volumes, 2), "persistentVolumeClaim", "claimName", NULL), "shared");

    c = json_get(json_at(json_get(spec, "containers"), 0), "volumeMounts");
    assert_int_equal(json_count(c), 3); /* /in is the user's own and stays so */
    assert_text(json_get(json_at(c, 0), "name"), "mine");
    assert_text(json_get(json_at(c, 1), "mountPath"), "/data");
    assert_text(json_get(json_at(c, 2), "mountPath"), "/out");
    i = json_get(json_at(json_get(spec, "initContainers"), 0), "volumeMounts");
    assert_int_equal(json_count(i), 3);
    fixture_done(&f);
}

static void test_markers(void **state)
{
    struct fixture f;
    struct json *markers;

    (void)state;
    fixture_init(&f, two_volumes);
    job_volumes_name(&f.arena, &f.job);
    markers = job_markers(&f.arena, &f.job, f.set);
    assert_text(json_get(markers, "volume-pvc-shared"), "shared");
    assert_int_equal(json_count(markers), 2);
    fixture_done(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_claim_names_follow_the_uid),
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_markers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
