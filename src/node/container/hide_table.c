/* hide_table.c - which files of a machine are secrets */
#include "node/container/hide.h"

/* Not looked at below /etc and /var. Programs want what is closed of it, and it is no secret (the "partial"
 * directories of apt must be there); or packages fill it with thousands of files that everybody may read. */
static const char *const shown[] = {
    "/etc/shadow",         /* another one lies over it */
    "/etc/ssh/ssh_host_*", /* so do other keys */
    "/etc/sudoers",        /* who may, not with what password */
    "/etc/sudoers.d",      "/etc/alternatives",
    "/etc/ssl/certs",      "/var/cache/apt",
    "/var/cache/dnf",      "/var/cache/fontconfig",
    "/var/cache/man",      "/var/lib/apt",
    "/var/lib/dnf",        "/var/lib/dpkg",
    "/var/lib/flatpak",    "/var/lib/rpm",
    "/var/lib/texmf",      NULL,
};

/* Whatever their modes are on this machine: no software that a job would want. */
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
    /* engines: their data are other people's containers */
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
    "/var/lib/cloud", /* what clouds gave the machine to begin with, passwords among it */
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
    /* memory of the machine */
    "/swapfile",
    "/swap.img",
    NULL,
};

static const char *const home[] = {
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".s3cfg",
    ".boto",
    ".kaggle",
    ".databrickscfg",
    ".vault-token",
    ".terraform.d",
    ".password-store",
    ".rhosts",
    ".Xauthority",
    ".ICEauthority",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    ".mozilla",
    ".thunderbird",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/containers/auth.json",
    ".config/doctl",
    ".config/hcloud",
    ".config/rclone",
    ".config/sops",
    ".config/op",
    ".config/wandb",
    ".config/chromium",
    ".config/google-chrome",
    ".config/github-copilot",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/containers",
    ".local/share/docker",
    ".local/share/fish/fish_history",
    ".local/state/pumice",
    NULL,
};

const char *const *hide_shown_list(void)
{
    return shown;
}

const char *const *hide_machine_list(void)
{
    return machine;
}

const char *const *hide_home_list(void)
{
    return home;
}

/* "name:password:more". "*": no password opens it, and keys do ("!" would lock them out too). */
void hide_shadow(struct buf *out, struct str text)
{
    struct str line, name, password;

    while (text.n && str_split(&text, '\n', &line)) {
        if (!str_split(&line, ':', &name) || !str_split(&line, ':', &password) || name.n == 0)
            continue;
        if (str_is(password, "x")) /* of /etc/passwd: what follows is not about passwords */
            line = STR("1:0:99999:7:::");
        buf_fmt(out, "%.*s:*:%.*s\n", STR_ARG(name), STR_ARG(line));
    }
}
