/* SPDX-License-Identifier: ISC */
/* step_host.c - is this a host that we understand, and is all of ours installed? Looks only. */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "ctl/say.h"
#include "ctl/setup/host.h"
#include "ctl/setup/keys.h"
#include "ctl/setup/program.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

#define NSS_MODULE "libnss_atelier.so.2"

/* Where what is written goes, and how much room is left to be there. */
#define SPACE_BYTES (16u << 20)

static void release_check(struct setup *s)
{
    cleanup_text struct text text = {0};
    struct complaint why = {0};
    char *path = realpath("/etc/os-release", NULL);
    struct file f = {0};

    if (path && file_read(path, &f) == 0)
        text = f.text;
    free(path);
    if (release_is_known(&text, &why) < 0)
        refuse(s, "/etc/os-release: %s", why.what);
}

static void kernel_check(struct setup *s)
{
    struct utsname name;

    if (uname(&name) == 0 && !kernel_is_known(name.release))
        refuse(s,
               "kernel %s is older than 5.14, and sessiond needs what came with it: boot "
               "Debian's own",
               name.release);
}

static void systemd_check(struct setup *s)
{
    cleanup_file struct file comm = {0};
    struct stat st;

    if (lstat("/run/systemd/system", &st) < 0 || file_read("/proc/1/comm", &comm) < 0)
        refuse(s, "systemd is not the init of this host: atelier's services are units of it");
}

static void cgroup_check(struct setup *s)
{
    static const char *const wanted[] = {"memory", "pids", "cpu"};
    const char *path = "/sys/fs/cgroup/cgroup.controllers";
    cleanup_file struct file defaults = {0};
    size_t size, line;
    const char *start;
    struct statfs fs;
    char text[512] = "";

    /* The admin's own decision, in words of the unit sessiond.service. */
    if (file_read("/etc/default/atelier", &defaults) == 0 && defaults.text.bytes &&
        key_find(&defaults.text, KEYS_ASSIGN, "SESSIOND_CGROUP", &start, &size, &line) == 0) {
        note_say(s,
                 "/etc/default/atelier:%zu: SESSIOND_CGROUP is set to \"%.*s\": what cgroups "
                 "limit is yours to look after",
                 line, (int)size, start);
        return;
    }
    if (statfs("/sys/fs/cgroup", &fs) < 0 || (unsigned long)fs.f_type != CGROUP2_SUPER_MAGIC) {
        refuse(s, "/sys/fs/cgroup is not the unified hierarchy (cgroup v2), which limits memory, "
                  "processes and CPU of participants: take systemd.unified_cgroup_hierarchy=0 or "
                  "systemd.legacy_systemd_cgroup_controller from the kernel's command line");
        return;
    }
    if (text_file_read(path, text, sizeof(text)) < 0) {
        refuse(s, "%s cannot be read", path);
        return;
    }
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (!has_word(text, wanted[i]))
            refuse(s,
                   "%s: the kernel has no controller \"%s\": take cgroup_disable=%s from its "
                   "command line, or boot Debian's own kernel",
                   path, wanted[i], wanted[i]);
    }
}

/* Where the loader finds the NSS module, exactly as the host's programs do. */
static void nss_check(struct setup *s)
{
    void *module = dlopen(NSS_MODULE, RTLD_NOW | RTLD_LOCAL);

    if (!module) {
        refuse(s, "the loader does not find the NSS module " NSS_MODULE ": install atelier with it "
                  "beside libc (configure --libdir), and run ldconfig");
        return;
    }
    if (!dlsym(module, "_nss_atelier_getpwnam_r"))
        refuse(s, "%s is not ours: it has no _nss_atelier_getpwnam_r", NSS_MODULE);
    (void)dlclose(module);
}

/* Beside Debian's own modules is where PAM looks. */
static void pam_check(struct setup *s)
{
    static const char known[] = "pam_unix.so", ours[] = "pam_atelier.so";
    glob_t found = {0};

    if (glob("/usr/lib/*/security/pam_unix.so", 0, NULL, &found) == 0) {
        const char *path = found.gl_pathv[0];
        cleanup_free char *module = NULL;

        if (asprintf(&module, "%.*s%s", (int)(strlen(path) - strlen(known)), path, ours) < 0)
            say_no_memory();
        if (access(module, F_OK) < 0)
            refuse(s, "%s is missing: install atelier where PAM looks (configure --libdir)",
                   module);
    } else {
        refuse(s, "%s is not found below /usr/lib: install the Debian package libpam-modules",
               known);
    }
    globfree(&found);
}

static void installed_check(struct setup *s)
{
    static const char *const files[] = {
        ATELIER_PROGRAMS_DIR "/sessiond",
        ATELIER_PROGRAMS_DIR "/sessiond-api",
        ATELIER_PROGRAMS_DIR "/shell",
        ATELIER_PROGRAMS_DIR "/atelier-holder",
        ATELIER_PROGRAMS_DIR "/atelier-sshd",
        ATELIER_PROGRAMS_DIR "/atelier-sshd-start",
        ATELIER_DATA_DIR "/host-sshd.conf",
        ATELIER_DATA_DIR "/user@.conf",
        "/usr/lib/sysusers.d/atelier.conf",
        "/usr/lib/tmpfiles.d/atelier.conf",
        "/usr/share/pam-configs/atelier",
        "/etc/atelier/sshd_config",
        "/etc/pam.d/atelier-sshd",
    };

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (access(files[i], F_OK) < 0)
            refuse(s, "%s is missing: install atelier again", files[i]);
    }
    pam_check(s);
}

static void programs_check(struct setup *s)
{
    static const struct {
        const char *path, *package;
    } programs[] = {
        {"/usr/sbin/iptables-restore", "iptables"}, {"/usr/sbin/ip6tables-restore", "iptables"},
        {"/usr/bin/systemctl", "systemd"},          {"/usr/bin/systemd-sysusers", "systemd"},
        {"/usr/bin/systemd-tmpfiles", "systemd"},   {"/usr/sbin/userdel", "passwd"},
        {"/usr/sbin/groupdel", "passwd"},           {"/usr/bin/getent", "libc-bin"},
        {"/usr/bin/ssh", "openssh-client"},         {"/usr/bin/ssh-keygen", "openssh-client"},
    };

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (access(programs[i].path, X_OK) < 0)
            refuse(s, "%s is missing: install the Debian package %s", programs[i].path,
                   programs[i].package);
    }
}

static void places_check(struct setup *s)
{
    static const char *const paths[] = {"/etc", "/var/lib", "/home", "/run"};
    struct statvfs vfs;

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        if (statvfs(paths[i], &vfs) < 0)
            refuse(s, "%s: %s", paths[i], strerror(errno));
        else if (vfs.f_flag & ST_RDONLY)
            refuse(s, "%s is mounted read-only", paths[i]);
        else if (vfs.f_bavail < SPACE_BYTES / vfs.f_bsize)
            refuse(s, "%s has less than %u MiB left", paths[i], SPACE_BYTES >> 20);
    }
    if (statvfs(ATELIER_PROGRAMS_DIR, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC))
        refuse(s, ATELIER_PROGRAMS_DIR " is on a file system that is mounted noexec");
}

/* Whether the port is taken, on any address. */
static bool port_is_taken(uint16_t port)
{
    const int families[] = {AF_INET6, AF_INET};

    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        cleanup_close int fd = socket(families[i], SOCK_STREAM | SOCK_CLOEXEC, 0);
        int on = 1, r;

        if (fd < 0)
            continue;
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
        if (families[i] == AF_INET6) {
            (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
            r = bind(fd, (const struct sockaddr *)&v6, sizeof(v6));
        } else {
            r = bind(fd, (const struct sockaddr *)&v4, sizeof(v4));
        }
        /* With SO_REUSEADDR only listen(2) sees a listener of the same address for certain. */
        if ((r < 0 && errno == EADDRINUSE) || (r == 0 && listen(fd, 1) < 0 && errno == EADDRINUSE))
            return true;
    }
    return false;
}

static void port_check(struct setup *s)
{
    cleanup_file struct file config = {0};
    const struct key_rule rule = {"Port", 1, UINT16_MAX, 0};
    struct complaint why = {0};
    uint32_t now = SETUP_PORT, port;
    size_t size, line;
    const char *start;

    if (file_read("/etc/atelier/sshd_config", &config) == 0 && config.text.bytes) {
        if (keys_check(&config.text, KEYS_SSHD, &rule, 1, &why) < 0)
            refuse(s, "/etc/atelier/sshd_config:%zu: %s", why.line, why.what);
        else if (key_find(&config.text, KEYS_SSHD, "Port", &start, &size, &line) == 0)
            now = port_read(start, size);
    }
    port = s->options->port ? s->options->port : now;
    /* Our own instance listens on the port that it was started with. */
    if (port == now && unit_is("is-active", "atelier-sshd.service"))
        return;
    if (port_is_taken((uint16_t)port))
        refuse(s,
               "port %u is taken by another program (ss -ltnp sport = :%u): choose another one "
               "with --port",
               port, port);
}

static void host_plan(struct setup *s)
{
    release_check(s);
    kernel_check(s);
    systemd_check(s);
    cgroup_check(s);
    places_check(s);
    programs_check(s);
    installed_check(s);
    nss_check(s);
    port_check(s);
}

const struct step step_host = {"host", host_plan, NULL, NULL};
