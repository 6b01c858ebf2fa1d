/* hide_table.c - which files of a machine are secrets */
#include "node/container/hide.h"

/* Not searched below /etc and /var: closed files that programs need and that are no secrets (the "partial"
 * directories of apt must exist), or directories that packages fill with thousands of readable files. */
static const char *const shown[] = {
    "/etc/shadow",         /* replaced */
    "/etc/ssh/ssh_host_*", /* replaced */
    "/etc/sudoers",        /* permissions, no passwords */
    "/etc/sudoers.d",      "/etc/alternatives",
    "/etc/ssl/certs",      "/var/cache/apt",
    "/var/cache/dnf",      "/var/cache/fontconfig",
    "/var/cache/man",      "/var/lib/apt",
    "/var/lib/dnf",        "/var/lib/dpkg",
    "/var/lib/flatpak",    "/var/lib/rpm",
    "/var/lib/texmf",      NULL,
};

/* Hidden whatever their modes: no software that a job would want. */
static const char *const machine[] = {
    /* passwords and keys */
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/shadow-",
    "/etc/security/opasswd",
    "/etc/ssl/private",
    "/etc/letsencrypt",
    "/etc/krb5.keytab",
    "/etc/sssd",
    "/etc/ipsec.secrets",
    "/etc/ipsec.d/private",
    "/etc/swanctl/private",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/NetworkManager/system-connections",
    "/etc/netplan",
    "/etc/wpa_supplicant",
    "/etc/ppp/chap-secrets",
    "/etc/ppp/pap-secrets",
    "/etc/mysql/debian.cnf",
    "/etc/postfix/sasl_passwd",
    "/etc/exim4/passwd.client",
    "/etc/kubernetes",
    "/etc/rancher",
    "/var/backups", /* copies of the above */
    /* container engines: data of other people's containers */
    "/var/lib/pumice",
    "/var/lib/docker",
    "/var/lib/containers",
    "/var/lib/containerd",
    "/var/lib/cni",
    "/var/lib/kubelet",
    "/var/lib/rancher",
    "/var/lib/etcd",
    "/var/lib/lxc",
    "/var/lib/lxd",
    "/var/lib/incus",
    "/var/lib/libvirt",
    "/var/lib/machines",
    "/var/snap",
    /* data of services */
    "/var/lib/cloud", /* initial configuration from the cloud, including passwords */
    "/var/lib/private",
    "/var/lib/NetworkManager",
    "/var/lib/bluetooth",
    "/var/lib/sss",
    "/var/lib/systemd/coredump",
    "/var/lib/mongodb",
    "/var/lib/mysql",
    "/var/lib/postgresql",
    "/var/lib/redis",
    "/var/lib/samba/private",
    "/var/crash",
    "/var/log/audit",
    "/var/log/journal",
    "/var/log/private",
    "/var/mail",
    "/var/spool/cron",
    /* swap: memory contents */
    "/swapfile",
    "/swap.img",
    NULL,
};

/* Those of 'shown' that package managers and sudo need. Files are copied, directories are empty. */
static const char *const needed[] = {
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/var/cache/apt/archives/lock",
    "/var/cache/apt/archives/partial",
    "/var/lib/apt/lists/lock",
    "/var/lib/apt/lists/partial",
    "/var/lib/dpkg/lock",
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/triggers/Lock",
    NULL,
};

static const char *const variables[] = {
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AZURE_AUTH_LOCATION",
    "BOTO_CONFIG",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "GNUPGHOME",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "HF_TOKEN_PATH",
    "KAGGLE_CONFIG_DIR",
    "KRB5_KTNAME",
    "KUBECONFIG",
    "NETRC",
    "NPM_CONFIG_USERCONFIG",
    "OS_CLIENT_CONFIG_FILE",
    "PASSWORD_STORE_DIR",
    "PGPASSFILE",
    "PIP_CONFIG_FILE",
    "RCLONE_CONFIG",
    "REGISTRY_AUTH_FILE",
    "SOPS_AGE_KEY_FILE",
    "TF_CLI_CONFIG_FILE",
    "XAUTHORITY",
    NULL,
};

/* Software in a home directory, and data that it downloaded: shown completely. All other names with a dot are hidden,
 * so a row names the directory with programs, not its parent that also holds credentials. */
static const char *const home[] = {
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".cache/huggingface/datasets",
    ".cache/huggingface/hub",
    ".cache/huggingface/modules",
    ".cache/pip",
    ".cache/torch",
    ".cache/uv",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".cmdstan",
    ".conda/envs",
    ".conda/pkgs",
    ".deno/bin",
    ".dotnet/tools",
    ".elan/bin",
    ".elan/toolchains",
    ".fnm",
    ".gem/ruby",
    ".ghcup/bin",
    ".ghcup/ghc",
    ".gradle/wrapper/dists",
    ".guix-profile",
    ".ivy2/cache",
    ".jenv",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/environments",
    ".julia/juliaup",
    ".julia/packages",
    ".keras/datasets",
    ".keras/models",
    ".linuxbrew",
    ".local/bin",
    ".local/lib",
    ".local/opt",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mamba",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".m2/repository",
    ".mamba/envs",
    ".mamba/pkgs",
    ".micromamba/envs",
    ".micromamba/pkgs",
    ".nix-profile",
    ".npm-global",
    ".nvm/versions",
    ".opam",
    ".pixi/bin",
    ".pixi/envs",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman/candidates",
    ".venv",
    ".virtualenvs",
    ".volta/bin",
    ".volta/tools",
    "go/bin",
    "go/pkg",
    NULL,
};

const char *const *hide_shown_list(void)
{
    return shown;
}

const char *const *hide_needed_list(void)
{
    return needed;
}

const char *const *hide_variable_list(void)
{
    return variables;
}

const char *const *hide_machine_list(void)
{
    return machine;
}

const char *const *hide_home_list(void)
{
    return home;
}

/* "name:password:more". "*": no password matches, but keys work ("!" would lock those out too). */
void hide_shadow(struct buf *out, struct str text)
{
    struct str line, name, password;

    while (text.n && str_split(&text, '\n', &line)) {
        if (!str_split(&line, ':', &name) || !str_split(&line, ':', &password) || name.n == 0)
            continue;
        if (str_is(password, "x")) /* a line of /etc/passwd: the rest has no password fields */
            line = STR("1:0:99999:7:::");
        buf_fmt(out, "%.*s:*:%.*s\n", STR_ARG(name), STR_ARG(line));
    }
}
