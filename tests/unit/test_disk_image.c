/* SPDX-License-Identifier: ISC */
/* test_disk_image.c - nobody waits for a program whose end cannot be watched. Includes
 * disk_image.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/image.h"
#include "sessiond/monitor/pidfd.h"

static char place[] = "/tmp/atelier-image-XXXXXX";
static char program[64], started[64];
static int pidfd_error;

static int pidfd_or_not(pid_t pid)
{
    struct stat st;

    /* The program, and what it has started, are at work by now. */
    for (int i = 0; pidfd_error != 0 && i < 3000 && (stat(started, &st) < 0 || st.st_size == 0);
         i++)
        (void)usleep(10000);
    return pidfd_error != 0 ? pidfd_error : pidfd_of(pid);
}

#undef IMAGE_PROGRAM
#define IMAGE_PROGRAM program
#define pidfd_of      pidfd_or_not
#include "sessiond/monitor/disk_image.c"

#include "common/banned.h"

#undef pidfd_of

static int homes = -1;

int home_dir(void)
{
    return homes;
}

static int answers, last_error;

static void on_answer(void *arg, int error, const char *what)
{
    (void)arg;
    (void)what;
    answers++;
    last_error = error;
}

static void program_is(const char *text)
{
    FILE *f = fopen(program, "we");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(program, 0700), 0);
}

static int setup(void **state)
{
    (void)state;
    if (!mkdtemp(place))
        return -1;
    (void)snprintf(program, sizeof(program), "%s/program", place);
    (void)snprintf(started, sizeof(started), "%s/started", place);
    homes = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return homes < 0 ? -1 : 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)unlink(program);
    (void)unlink(started);
    (void)close(homes);
    return rmdir(place);
}

static const struct plan_size size = {.bytes = 1 << 26, .inodes = 1000};

/* Ask for a home. Return: what images_require() said, after the loop ran until it did. */
static int require(void)
{
    struct disk_user user = {.uid = 10001, .name = "ada", .size = &size, .fn = on_answer};
    struct event_base *base = event_base_new();
    struct images *images = NULL;

    assert_non_null(base);
    assert_int_equal(images_new(base, &images), 0);
    answers = 0;
    images_require(images, &user);
    while (answers == 0 && event_base_loop(base, EVLOOP_ONCE) == 0)
        ;
    assert_int_equal(answers, 1);
    assert_null(images->homes); /* nobody has it, and nothing is waited for */
    images_free(images);
    event_base_free(base);
    return last_error;
}

static void a_program_that_cannot_be_watched_is_ended(void **state)
{
    char text[256], pid[16] = "";
    int64_t begun_ms = clock_ms();
    FILE *f;
    int i;

    (void)state;
    (void)snprintf(text, sizeof(text), "#!/bin/sh\nsleep 120 &\necho $! >%s\nwait\n", started);
    program_is(text);
    pidfd_error = -EMFILE;
    assert_int_equal(require(), EMFILE);
    assert_true(clock_ms() - begun_ms < 60000);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    /* What it had started is gone, too: whoever is its parent now reaps it, or it is a zombie. */
    f = fopen(started, "re");
    assert_non_null(f);
    assert_non_null(fgets(pid, sizeof(pid), f));
    (void)fclose(f);
    for (i = 0; i < 3000; i++) {
        char path[48], line[256] = "";
        FILE *stat;

        pid[strcspn(pid, "\n")] = '\0';
        (void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
        stat = fopen(path, "re");
        if (!stat)
            break;
        if (!fgets(line, sizeof(line), stat))
            line[0] = '\0';
        (void)fclose(stat);
        if (strstr(line, ") Z ") || strstr(line, ") X "))
            break;
        (void)usleep(10000);
    }
    assert_true(i < 3000);
}

static void the_answer_of_one_that_is_watched_is_heard(void **state)
{
    (void)state;
    pidfd_error = 0;
    program_is("#!/bin/sh\nexit 4\n");
    assert_int_equal(require(), 0); /* IMAGE_DIRECTORY, for whom the limits are not required */
    program_is("#!/bin/sh\nexit 1\n");
    assert_int_equal(require(), EIO);
}

/* Their patience is over as it was for whoever came first, though the program goes on. */
static void who_comes_later_does_not_wait_for_ever(void **state)
{
    struct disk_user first = {.uid = 10001, .name = "ada", .size = &size, .fn = on_answer};
    struct disk_user second = first;
    struct event_base *base = event_base_new();
    struct images *images = NULL;
    struct disk_home *home;

    (void)state;
    pidfd_error = 0;
    program_is("#!/bin/sh\nexec sleep 60\n");
    assert_non_null(base);
    assert_int_equal(images_new(base, &images), 0);
    answers = 0;
    images_require(images, &first);
    home = first.home;
    assert_non_null(home);
    assert_true(evtimer_pending(home->timer, NULL));
    (void)event_del(home->timer);
    on_timer(-1, EV_TIMEOUT, home);
    assert_int_equal(answers, 1);
    assert_int_equal(last_error, ETIMEDOUT);
    images_require(images, &second);
    assert_int_equal(answers, 1);
    assert_true(evtimer_pending(home->timer, NULL));
    on_timer(-1, EV_TIMEOUT, home);
    assert_int_equal(answers, 2);
    (void)kill(-home->pid, SIGKILL);
    assert_int_equal(waitpid(home->pid, NULL, 0), home->pid);
    images_free(images);
    event_base_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_cannot_be_watched_is_ended),
        cmocka_unit_test(the_answer_of_one_that_is_watched_is_heard),
        cmocka_unit_test(who_comes_later_does_not_wait_for_ever),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
