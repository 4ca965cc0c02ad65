/* SPDX-License-Identifier: ISC */
/* test_ctl_setup_record.c - the record of setup, and files that are edited and brought back by it.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/setup/nsswitch.h"
#include "ctl/setup/step.h"

#include "common/banned.h"

/* A scratch directory; what is tested is below it, by paths that fit into these. */
static char scratch[64], state_dir[128], record_dir[192], target[128];

static int scene_make(void **state)
{
    (void)state;
    (void)snprintf(scratch, sizeof(scratch), "/tmp/atelier-record.XXXXXX");
    if (!mkdtemp(scratch))
        return -1;
    (void)snprintf(state_dir, sizeof(state_dir), "%s/state", scratch);
    (void)snprintf(record_dir, sizeof(record_dir), "%s/setup", state_dir);
    (void)snprintf(target, sizeof(target), "%s/nsswitch.conf", scratch);
    return 0;
}

static int scene_remove(void **state)
{
    char command[128];
    int status;
    pid_t pid;

    (void)state;
    (void)snprintf(command, sizeof(command), "%s", scratch);
    pid = fork();
    if (pid == 0) {
        (void)execl("/bin/rm", "rm", "-rf", command, NULL);
        _exit(1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static void write_file(const char *path, const char *content, mode_t mode)
{
    struct file f = {.text = text_of(content, strlen(content)),
                     .mode = mode,
                     .uid = geteuid(),
                     .gid = getegid()};

    assert_int_equal(file_write(path, &f), 0);
    file_done(&f);
}

static void assert_file(const char *path, const char *content)
{
    cleanup_file struct file f = {0};

    assert_int_equal(file_read(path, &f), 0);
    assert_non_null(f.text.bytes);
    assert_string_equal(f.text.bytes, content);
}

static void an_entry_survives_and_is_exact(void **state)
{
    cleanup_record struct record r = {.lock = -1};
    cleanup_entry struct entry e = {0};
    cleanup_file struct file before = {0};
    cleanup_text struct text after = text_of("new\0x", 5);

    (void)state;
    write_file(target, "old\n", 0640);
    assert_int_equal(file_read(target, &before), 0);
    assert_int_equal(record_open(record_dir, true, &r), 0);
    assert_true(record_is_empty(&r));
    assert_int_equal(record_put_file(&r, "one", target, &before, &after), 0);
    assert_int_equal(record_put(&r, ENTRY_UNIT, "two", "x.service"), 0);
    assert_int_equal(record_put(&r, ENTRY_UNIT, "two", "x.service"), 0);
    record_close(&r);
    assert_int_equal(record_open(record_dir, false, &r), 0);
    assert_int_equal(record_get(&r, ENTRY_FILE, target, &e), 0);
    assert_string_equal(e.step, "one");
    assert_string_equal(e.before.text.bytes, "old\n");
    assert_int_equal(e.before.mode, 0640);
    assert_int_equal(e.before.mtime.tv_sec, before.mtime.tv_sec);
    assert_int_equal(e.before.mtime.tv_nsec, before.mtime.tv_nsec);
    assert_true(text_is_same(&e.after, &after));
    assert_true(record_has(&r, ENTRY_UNIT, "x.service"));
    assert_false(record_has(&r, ENTRY_MARK, "x.service"));
}

static void only_one_setup_at_a_time(void **state)
{
    cleanup_record struct record first = {.lock = -1};
    struct record second = {.lock = -1};
    cleanup_record struct record reader = {.lock = -1};

    (void)state;
    assert_int_equal(record_open(record_dir, true, &first), 0);
    assert_int_equal(record_open(record_dir, true, &second), -EBUSY);
    assert_int_equal(record_open(record_dir, false, &reader), 0);
    record_close(&first);
    assert_int_equal(record_open(record_dir, true, &second), 0);
    record_close(&second);
}

static void a_directory_that_others_may_write_to_is_not_trusted(void **state)
{
    struct record r = {.lock = -1};

    (void)state;
    assert_int_equal(mkdir(state_dir, 0755), 0);
    assert_int_equal(mkdir(record_dir, 0700), 0);
    assert_int_equal(chmod(record_dir, 0770), 0);
    assert_int_equal(record_open(record_dir, true, &r), -EPERM);
    assert_int_equal(record_open(record_dir, false, &r), -EPERM);
    assert_int_equal(rmdir(record_dir), 0);
    assert_int_equal(symlink("/tmp", record_dir), 0);
    assert_int_equal(record_open(record_dir, true, &r), -EPERM);
    assert_int_equal(unlink(record_dir), 0);
    assert_int_equal(chmod(state_dir, 0777), 0);
    assert_int_equal(record_open(record_dir, true, &r), -EPERM);
}

static void a_journal_that_is_not_ours_stops_everything(void **state)
{
    static const char *const bad[] = {"", "{", "[]",
                                      "{\"version\": 2, \"next\": 1, \"entries\": []}",
                                      "{\"version\": 1, \"next\": 1, \"entries\": [{}]}"};
    char journal[256];

    (void)state;
    assert_int_equal(mkdir(state_dir, 0755), 0);
    assert_int_equal(mkdir(record_dir, 0700), 0);
    (void)snprintf(journal, sizeof(journal), "%s/journal.json", record_dir);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct record r = {.lock = -1};

        write_file(journal, bad[i], 0600);
        assert_int_equal(record_open(record_dir, false, &r), -EBADMSG);
    }
}

static void copies_without_an_entry_go_and_an_empty_record_leaves_nothing(void **state)
{
    cleanup_record struct record r = {.lock = -1};
    const struct file none = {0};
    cleanup_text struct text after = text_of("x", 1);
    char stale[256];

    (void)state;
    assert_int_equal(record_open(record_dir, true, &r), 0);
    /* As a crash before the journal leaves it. */
    (void)snprintf(stale, sizeof(stale), "%s/7.before", record_dir);
    write_file(stale, "x", 0600);
    assert_int_equal(record_put_file(&r, "one", target, &none, &after), 0);
    assert_int_equal(access(stale, F_OK), -1);
    assert_int_equal(record_remove(&r), -ENOTEMPTY);
    assert_int_equal(record_drop(&r, ENTRY_FILE, target), 0);
    assert_int_equal(record_drop(&r, ENTRY_FILE, target), 0);
    assert_int_equal(record_remove(&r), 0);
    assert_int_equal(access(record_dir, F_OK), -1);
}

/* --- edits --------------------------------------------------------------------------------- */

static int make(struct setup *s, const struct text *now, struct text *ret_new,
                struct complaint *ret_why)
{
    (void)s;
    return nsswitch_edit(now, ret_new, ret_why);
}

static void take_out(const struct text *now, const struct entry *entry, struct text *ret_text,
                     const char **ret_left)
{
    (void)entry;
    *ret_left = NULL;
    nsswitch_unedit(now, ret_text);
}

#define OLD "passwd: files\ngroup:  files\n"
#define NEW "passwd: files atelier\ngroup:  files atelier\n"

/* A setup with its record, and one edit. */
struct scene {
    struct setup s;
    struct edit edit;
    struct text said;
};

static void scene_begin(struct scene *scene)
{
    *scene = (struct scene){.edit = {.step = "nsswitch",
                                     .path = target,
                                     .why = "why",
                                     .mode = 0644,
                                     .make = make,
                                     .take_out = take_out}};
    scene->s.record.lock = -1;
    scene->s.out = text_begin(&scene->said);
    assert_int_equal(record_open(record_dir, true, &scene->s.record), 0);
}

static void scene_end(struct scene *scene)
{
    text_end(&scene->said, scene->s.out);
    text_done(&scene->said);
    record_close(&scene->s.record);
}

static void an_edit_comes_back_byte_for_byte(void **state)
{
    struct scene scene;
    struct stat before, after;

    (void)state;
    write_file(target, OLD, 0640);
    assert_int_equal(stat(target, &before), 0);
    scene_begin(&scene);
    edit_plan(&scene.s, &scene.edit);
    assert_int_equal(scene.s.planned, 1);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    assert_file(target, NEW);
    assert_int_equal(stat(target, &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_true(edit_is_done(&scene.s, &scene.edit));
    edit_plan(&scene.s, &scene.edit);
    assert_int_equal(scene.s.planned, 1);
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    assert_file(target, OLD);
    assert_int_equal(stat(target, &after), 0);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    assert_true(record_is_empty(&scene.s.record));
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    scene_end(&scene);
}

static void what_others_changed_since_stays(void **state)
{
    struct scene scene;

    (void)state;
    write_file(target, OLD, 0644);
    scene_begin(&scene);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    write_file(target, NEW "hosts: files dns\n", 0600);
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    assert_file(target, OLD "hosts: files dns\n");
    scene_end(&scene);
}

static void a_repair_keeps_what_others_wrote_for_the_undo(void **state)
{
    struct scene scene;

    (void)state;
    write_file(target, OLD, 0644);
    scene_begin(&scene);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    /* Half of ours is gone, and something of theirs is new. */
    write_file(target, "passwd: files\ngroup:  files atelier\n# theirs\n", 0644);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    assert_file(target, NEW "# theirs\n");
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    assert_file(target, OLD "# theirs\n");
    scene_end(&scene);
}

static void a_crash_before_the_change_is_harmless(void **state)
{
    cleanup_text struct text after = text_of(NEW, strlen(NEW));
    cleanup_file struct file before = {0};
    struct scene scene;
    char stale[160];

    (void)state;
    write_file(target, OLD, 0644);
    (void)snprintf(stale, sizeof(stale), "%s" FILE_NEW_SUFFIX, target);
    write_file(stale, "half", 0600);
    scene_begin(&scene);
    assert_int_equal(file_read(target, &before), 0);
    assert_int_equal(record_put_file(&scene.s.record, "nsswitch", target, &before, &after), 0);
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    assert_file(target, OLD);
    assert_int_equal(access(stale, F_OK), -1);
    assert_int_equal(record_put_file(&scene.s.record, "nsswitch", target, &before, &after), 0);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    assert_file(target, NEW);
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    assert_file(target, OLD);
    scene_end(&scene);
}

static void a_removed_file_is_not_brought_back(void **state)
{
    struct scene scene;

    (void)state;
    write_file(target, OLD, 0644);
    scene_begin(&scene);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(edit_undo(&scene.s, &scene.edit), 0);
    assert_int_equal(access(target, F_OK), -1);
    assert_true(record_is_empty(&scene.s.record));
    scene_end(&scene);
}

static void links_are_not_followed(void **state)
{
    struct scene scene;
    char other[160];

    (void)state;
    (void)snprintf(other, sizeof(other), "%s.other", target);
    write_file(other, OLD, 0644);
    assert_int_equal(symlink(other, target), 0);
    scene_begin(&scene);
    edit_plan(&scene.s, &scene.edit);
    assert_int_equal(scene.s.refusals, 1);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(link(other, target), 0);
    edit_plan(&scene.s, &scene.edit);
    assert_int_equal(scene.s.refusals, 2);
    assert_int_equal(unlink(target), 0);
    /* Replaced by a link after the edit: nothing is written through it, and the record stays. */
    write_file(target, OLD, 0644);
    assert_int_equal(edit_apply(&scene.s, &scene.edit), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(symlink(other, target), 0);
    assert_int_equal(edit_undo(&scene.s, &scene.edit), -1);
    assert_file(other, OLD);
    assert_false(record_is_empty(&scene.s.record));
    scene_end(&scene);
}

/* --- files that programs change ------------------------------------------------------------ */

static void files_of_programs_come_back_while_nobody_else_changed_them(void **state)
{
    const char *const paths[] = {target, NULL};
    struct scene scene;
    struct stat st;

    (void)state;
    write_file(target, "before\n", 0640);
    scene_begin(&scene);
    assert_int_equal(tracked_before(&scene.s, "program", paths), 0);
    write_file(target, "after\n", 0644);
    /* Not seen to its end: not known to be ours. */
    assert_false(tracked_are_ours(&scene.s, paths));
    assert_int_equal(tracked_after(&scene.s, "program", paths), 0);
    assert_true(tracked_are_ours(&scene.s, paths));
    assert_int_equal(tracked_restore(&scene.s, paths), 0);
    assert_file(target, "before\n");
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & ALLPERMS, 0640);
    assert_true(record_is_empty(&scene.s.record));

    assert_int_equal(tracked_before(&scene.s, "program", paths), 0);
    write_file(target, "after\n", 0640);
    assert_int_equal(tracked_after(&scene.s, "program", paths), 0);
    write_file(target, "after\ntheirs\n", 0640);
    assert_false(tracked_are_ours(&scene.s, paths));
    assert_int_equal(tracked_restore(&scene.s, paths), 0);
    assert_file(target, "after\ntheirs\n");
    scene_end(&scene);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scene_make, scene_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_entry_survives_and_is_exact),
        TEST(only_one_setup_at_a_time),
        TEST(a_directory_that_others_may_write_to_is_not_trusted),
        TEST(a_journal_that_is_not_ours_stops_everything),
        TEST(copies_without_an_entry_go_and_an_empty_record_leaves_nothing),
        TEST(an_edit_comes_back_byte_for_byte),
        TEST(what_others_changed_since_stays),
        TEST(a_repair_keeps_what_others_wrote_for_the_undo),
        TEST(a_crash_before_the_change_is_harmless),
        TEST(a_removed_file_is_not_brought_back),
        TEST(links_are_not_followed),
        TEST(files_of_programs_come_back_while_nobody_else_changed_them),
    };

    (void)umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
