/* device_nvidia.c - NVIDIA GPUs, by what the kernel driver shows
 *
 *     /proc/driver/nvidia/gpus/<pci address>/information     "Model:", "GPU UUID:", "Device Minor:"
 *     /dev/nvidia<minor>                                     the GPU
 *     /dev/nvidiactl, /dev/nvidia-uvm                        needed with any GPU
 *
 * A GPU counts only if its node is there: inside a container or a virtual machine /proc may list more than one may use.
 * Where /proc says nothing (some sandboxes) the nodes alone count. MIG slices are not handed out.
 *
 * Which GPUs a program uses. The pod has nodes for its own GPUs only, and CUDA leaves out GPUs whose node it cannot
 * open, so inside the pod they are 0 … n-1, whatever they are outside; CUDA_VISIBLE_DEVICES says just that. UUIDs would
 * be right too, but several launchers and servers read the variable as a list of numbers and fail otherwise.
 * NVIDIA_VISIBLE_DEVICES has the UUIDs, as the device plugin of Kubernetes sets it: that one is for tools outside CUDA.
 */
#include "node/device/device_internal.h"

#include "os/dir.h"
#include "os/io.h"

#include <fcntl.h>

static const char *const common_nodes[] = {
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
};

/* For those who ask, by NVIDIA_DRIVER_CAPABILITIES as with NVIDIA's own runtime: more of the driver than programs that
 * compute need. "all" asks for all of them. */
static const struct {
    const char *node, *words;
} asked_nodes[] = {
    { "/dev/nvidia-modeset", "display,graphics" }, /* screens, Vulkan, EGL */
    { "/dev/nvidia-uvm-tools", "" },               /* what others do with managed memory: profilers */
};

static const char *const library_dirs[] = {
    "/usr/local/nvidia/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/usr/lib/wsl/lib",
};

/* What programs that compute need. Those for screens are left out. */
static const char *const library_names[] = {
    "libcuda.so",
    "libcudadebugger.so",
    "libnvidia-ml.so",
    "libnvidia-cfg.so",
    "libnvidia-nvvm.so",
    "libnvidia-ptxjitcompiler.so",
    "libnvidia-gpucomp.so",
    "libnvidia-opencl.so",
    "libnvidia-allocator.so",
    "libnvidia-pkcs11.so",
    "libnvidia-pkcs11-openssl3.so",
    "libnvcuvid.so",
    "libnvidia-encode.so",
    "libnvidia-opticalflow.so",
};

static const char *const programs[] = { "/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi" };

/* ---- GPUs ---- */

/* "Model: \t\t NVIDIA H200" */
static struct str nvidia_field(struct str text, struct str name)
{
    for (struct str line; str_split(&text, '\n', &line);)
        if (str_starts(line, name))
            return str_trim(str_from(line, name.n));
    return STR_NULL;
}

static struct str read_small(struct devices *d, const char *path)
{
    return file_text(&d->arena, AT_FDCWD, path, 4096);
}

static void add_unit(struct devices *d, struct device_kind *k, int64_t minor, struct str uuid, struct str model)
{
    struct str node = arena_fmt(&d->arena, "/dev/nvidia%lld", (long long)minor);
    struct device_unit *u;

    VEC_FOREACH(old, &k->units)
        if (old->minor == minor)
            return;
    if (!device_is_node(d, node.p))
        return;
    u = vec_push(&d->arena, &k->units);
    u->minor = minor;
    u->id = uuid;
    u->model = model;
    *vec_push(&d->arena, &u->nodes) = node;
}

/* A UUID goes into a variable of the container: only what a UUID has. */
static bool uuid_is_good(struct str uuid)
{
    for (size_t i = 0; i < uuid.n; i++)
        if (!memchr("0123456789abcdefABCDEFGPU-", uuid.p[i], 26))
            return false;
    return uuid.n > 4 && uuid.n < 64;
}

static void add_by_information(struct devices *d, struct device_kind *k, const char *gpus, const char *pci)
{
    struct str text = read_small(d, arena_fmt(&d->arena, "%s/%s/information", gpus, pci).p);
    struct str uuid = nvidia_field(text, STR("GPU UUID:")), model = nvidia_field(text, STR("Model:"));
    int64_t minor;

    if (str_to_i64(nvidia_field(text, STR("Device Minor:")), &minor) == 0 && minor >= 0 && minor < 1 << 20)
        add_unit(d, k, minor, uuid_is_good(uuid) ? uuid : STR_NULL, model.n ? model : STR("NVIDIA GPU"));
}

static void find_by_information(struct devices *d, struct device_kind *k)
{
    const char *gpus = device_path(d, "/proc/driver/nvidia/gpus");
    autodir *dir = opendir(gpus);

    for (struct dirent *entry; (entry = dir_next(dir));)
        if (entry->d_name[0] != '.')
            add_by_information(d, k, gpus, entry->d_name);
}

static void find_by_node(struct devices *d, struct device_kind *k)
{
    autodir *dir = opendir(device_path(d, "/dev"));
    int64_t minor;

    for (struct dirent *entry; (entry = dir_next(dir));) {
        struct str name = str_of(entry->d_name);

        if (str_starts(name, STR("nvidia")) && name.n < 12 && str_to_i64(str_from(name, 6), &minor) == 0 && minor >= 0)
            add_unit(d, k, minor, STR_NULL, STR("NVIDIA GPU"));
    }
}

static int by_minor(const void *x, const void *y)
{
    const struct device_unit *a = x, *b = y;

    return a->minor < b->minor ? -1 : a->minor > b->minor;
}

/* ---- libraries ---- */

static bool is_library(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(library_names); i++) {
        struct str prefix = str_of(library_names[i]);

        if (str_starts(name, prefix) && (name.n == prefix.n || name.p[prefix.n] == '.'))
            return true;
    }
    return false;
}

static int nvidia_by_text(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

static void find_libraries(struct devices *d, struct device_kind *k, const char *where)
{
    autodir *dir = opendir(device_path(d, where));

    for (struct dirent *entry; (entry = dir_next(dir));)
        if (is_library(str_of(entry->d_name)))
            *vec_push(&d->arena, &k->libraries) = arena_fmt(&d->arena, "%s/%s", where, entry->d_name);
    qsort(k->libraries.v, k->libraries.n, sizeof(*k->libraries.v), nvidia_by_text);
    k->library_path = str_of(where);
}

/* One place only: the first that has CUDA's own library. */
static void find_driver_files(struct devices *d, struct device_kind *k)
{
    for (size_t i = 0; i < ARRAY_LEN(library_dirs) && !k->library_path.n; i++)
        if (access(device_path(d, arena_fmt(&d->arena, "%s/libcuda.so.1", library_dirs[i]).p), F_OK) == 0)
            find_libraries(d, k, library_dirs[i]);
    for (size_t i = 0; i < ARRAY_LEN(programs); i++)
        if (access(device_path(d, programs[i]), X_OK) == 0) {
            *vec_push(&d->arena, &k->libraries) = str_of(programs[i]);
            return;
        }
}

void device_find_nvidia(struct devices *d)
{
    struct device_kind k = { .name = STR("nvidia.com/gpu"), .is_nvidia = true };

    find_by_information(d, &k);
    if (!k.units.n)
        find_by_node(d, &k);
    if (!k.units.n)
        return;
    qsort(k.units.v, k.units.n, sizeof(*k.units.v), by_minor);
    for (size_t i = 0; i < ARRAY_LEN(common_nodes); i++)
        if (device_is_node(d, common_nodes[i]))
            *vec_push(&d->arena, &k.common) = str_of(common_nodes[i]);
    find_driver_files(d, &k);
    *vec_push(&d->arena, &d->kinds) = k;
}

/* ---- variables ---- */

void device_nvidia_env(struct arena *a, const struct device_unit *const *units, size_t n, struct device_grant *grant)
{
    autobuf visible = { 0 }, cuda = { 0 };

    for (size_t i = 0; i < n; i++) {
        if (units[i]->id.n)
            buf_fmt(&visible, "%s%.*s", i ? "," : "", STR_ARG(units[i]->id));
        else
            buf_fmt(&visible, "%s%lld", i ? "," : "", (long long)units[i]->minor);
        buf_fmt(&cuda, "%s%zu", i ? "," : "", i);
    }
    *vec_push(a, &grant->env) = arena_fmt(a, "NVIDIA_VISIBLE_DEVICES=%.*s", STR_ARG(buf_view(&visible)));
    *vec_push(a, &grant->env) = arena_fmt(a, "CUDA_VISIBLE_DEVICES=%.*s", STR_ARG(buf_view(&cuda)));
}

/* ---- what is asked for ---- */

static bool nvidia_has_word(struct str list, struct str word)
{
    for (struct str one; str_split(&list, ',', &one);)
        if (str_eq(str_trim(one), word))
            return true;
    return false;
}

static bool asks_for(struct str capabilities, const char *words)
{
    struct str rest = str_of(words);

    for (struct str word; str_split(&rest, ',', &word);)
        if (word.n && nvidia_has_word(capabilities, word))
            return true;
    return nvidia_has_word(capabilities, STR("all"));
}

void devices_ask(struct devices *d, struct arena *a, struct str capabilities, struct device_grant *grant)
{
    bool has_gpu = false;

    VEC_FOREACH(node, &grant->nodes)
        has_gpu |= str_is(*node, "/dev/nvidiactl");
    for (size_t i = 0; has_gpu && i < ARRAY_LEN(asked_nodes); i++)
        if (asks_for(capabilities, asked_nodes[i].words) && device_is_node(d, asked_nodes[i].node))
            *vec_push(a, &grant->nodes) = str_of(asked_nodes[i].node);
}

/* ---- trouble ---- */

static bool has_common(const struct device_kind *k, const char *node)
{
    VEC_FOREACH(own, &k->common)
        if (str_is(*own, node))
            return true;
    return false;
}

/* A GPU on the bus: a display or 3D controller of NVIDIA's. */
static bool has_card(struct devices *d)
{
    const char *bus = device_path(d, "/sys/bus/pci/devices");
    autodir *dir = opendir(bus);
    bool found = false;

    for (struct dirent *entry; !found && (entry = dir_next(dir));) {
        struct str vendor, class;

        if (entry->d_name[0] == '.')
            continue;
        vendor = read_small(d, arena_fmt(&d->arena, "%s/%s/vendor", bus, entry->d_name).p);
        class = read_small(d, arena_fmt(&d->arena, "%s/%s/class", bus, entry->d_name).p);
        found = str_starts(vendor, STR("0x10de")) && str_starts(class, STR("0x03"));
    }
    return found;
}

static const struct device_kind *nvidia_of(const struct devices *d)
{
    VEC_FOREACH(k, &d->kinds)
        if (k->is_nvidia)
            return k;
    return NULL;
}

bool devices_trouble(struct devices *d, struct str *ret_what, struct str *ret_fix)
{
    const struct device_kind *k = nvidia_of(d);

    if (!k && access(device_path(d, "/proc/driver/nvidia/version"), F_OK) == 0 && has_card(d)) {
        *ret_what = STR("the NVIDIA driver is loaded, but /dev/nvidia0 does not exist");
        *ret_fix = STR("as root: nvidia-modprobe -c=0; in a container: docker run --gpus all");
    } else if (!k && has_card(d)) {
        *ret_what = STR("this machine has an NVIDIA GPU, but its driver is not loaded");
        *ret_fix = STR("as root: apt-get install nvidia-driver (or the packages of your distribution), then restart");
    } else if (k && (!has_common(k, "/dev/nvidiactl") || !has_common(k, "/dev/nvidia-uvm"))) {
        *ret_what = STR("CUDA needs /dev/nvidiactl and /dev/nvidia-uvm; at least one does not exist");
        *ret_fix = STR("as root: nvidia-modprobe -u -c=0");
    } else if (k && !k->library_path.n) {
        *ret_what = STR("libcuda.so.1 was not found, so images cannot use CUDA");
        *ret_fix = STR("as root: apt-get install libcuda1 (the version of the driver)");
    } else {
        return false;
    }
    return true;
}
