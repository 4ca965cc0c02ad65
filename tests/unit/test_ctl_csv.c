/* SPDX-License-Identifier: ISC */
/* test_ctl_csv.c - people from a table: what is read, and which line is named for what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctl/cmd.h"
#include "ctl/exit.h"
#include "ctl/roster.h"
#include "tests/unit/ctl_scene.h"

#include "common/banned.h"

#define NOW      ((int64_t)1795996800) /* 2026-11-30 */
#define LONG_31  "abcdefghijklmnopqrstuvwxyz12345"
#define NOT_HERE "there is no column '"

/* What a file comes to: JSON without blanks, or "LINE:FIELD:SENTENCE\n" of each error. */
static char *outcome(const char *bytes, size_t size, const char *group)
{
    struct csv_errors errors = {0};
    struct roster roster;
    char *text = NULL;
    size_t length = 0;
    json_t *groups = group ? json_pack("[s]", group) : NULL;
    FILE *out = open_memstream(&text, &length);

    assert_non_null(out);
    roster_of_csv(bytes, size, groups, NOW, &errors, &roster);
    if (errors.used == 0) {
        char *json = json_dumps(roster.users, JSON_COMPACT);

        (void)fputs(json, out);
        free(json);
    }
    for (size_t i = 0; i < errors.used; i++)
        (void)fprintf(out, "%zu:%s:%s\n", errors.all[i].line,
                      errors.all[i].field ? errors.all[i].field : "", errors.all[i].why);
    assert_int_equal(fclose(out), 0);
    csv_errors_done(&errors);
    roster_done(&roster);
    json_decref(groups);
    return text;
}

static void good_files_are_read(void **state)
{
    static const struct {
        const char *csv, *json;
    } rows[] = {
        {"email\na@b\n", "[{\"email\":\"a@b\"}]"},
        {"email\na@b", "[{\"email\":\"a@b\"}]"},
        {"\xef\xbb\xbf"
         "Email,NAME\r\na@b,ann\r\n",
         "[{\"email\":\"a@b\",\"name\":\"ann\"}]"},
        {"name,email\rann,a@b\r", "[{\"email\":\"a@b\",\"name\":\"ann\"}]"},
        {"\n\n  \nemail\n\n a@b \t\n\n", "[{\"email\":\"a@b\"}]"},
        {"\"email\",\"group\"\n\"a@b\",\"x;y\"\n",
         "[{\"email\":\"a@b\",\"groups\":[\"x\",\"y\"]}]"},
        {"email,group\na@b,\"x,\ny\"\nc@d,x x ;; y\n",
         "[{\"email\":\"a@b\",\"groups\":[\"x\",\"y\"]},{\"email\":\"c@d\",\"groups\":[\"x\","
         "\"y\"]}]"},
        {"email,name,group,expiry\na@b,,,\n", "[{\"email\":\"a@b\"}]"},
        {"email,name\na@b,", "[{\"email\":\"a@b\"}]"},
        {"expiry,email\n2026-12-31,a@b\n+1d,b@b\nnever,c@b\n2026-12-01T10:00:00+01:00,d@b\n",
         "[{\"email\":\"a@b\",\"expires_at\":\"2026-12-31T23:59:59Z\"},{\"email\":\"b@b\","
         "\"expires_at\":\"2026-12-01T00:00:00Z\"},{\"email\":\"c@b\",\"expires_at\":null},{"
         "\"email\":\"d@b\",\"expires_at\":\"2026-12-01T09:00:00Z\"}]"},
        {"email,name\na@b," LONG_31 "\n", "[{\"email\":\"a@b\",\"name\":\"" LONG_31 "\"}]"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = outcome(rows[i].csv, strlen(rows[i].csv), NULL);

        assert_string_equal(text, rows[i].json);
        free(text);
    }
}

static void a_group_for_everybody_comes_first_and_once(void **state)
{
    static const char csv[] = "email,group\na@b,x\nc@d,all\ne@f,\n";
    char *text = outcome(csv, strlen(csv), "all");

    (void)state;
    assert_string_equal(text, "[{\"email\":\"a@b\",\"groups\":[\"all\",\"x\"]},{\"email\":\"c@d\","
                              "\"groups\":[\"all\"]},{\"email\":\"e@f\",\"groups\":[\"all\"]}]");
    free(text);
}

static void every_kind_of_bad_line_is_named(void **state)
{
#define BAD(csv, wanted)                                                                           \
    {                                                                                              \
        csv, sizeof(csv) - 1, wanted                                                               \
    }
    static const struct {
        const char *csv;
        size_t size;
        const char *wanted; /* what the outcome begins with */
    } rows[] = {
        /* The file. */
        BAD("", "1::the file is empty\n"),
        BAD("\n\n", "1::the file is empty\n"),
        BAD("\xef\xbb\xbf", "1::the file is empty\n"),
        BAD("email\n", "1::there is nobody in it\n"),
        /* The header. */
        BAD("name\nann\n", "1:email:the first line has to name the columns"),
        BAD("a@b\nc@d\n", "1:email:the first line"),
        BAD("a@b,Ann,x\nc@d,Ben,y\n", "1:email:the first line"),
        BAD("email,mail\na@b,x\n", "1::" NOT_HERE "mail'\n"),
        BAD("email,\na@b,\n", "1::" NOT_HERE "'\n"),
        BAD("\nemail,EMAIL\na@b,x\n", "2:email:the column is there twice\n"),
        BAD("email;name\na@b;x\n",
            "1::" NOT_HERE "email;name': separate them by ',' instead of ';'\n"),
        BAD("\"email\na@b\n", "1::a quote opens here that nothing closes\n"),
        /* The form of a line. */
        BAD("email,name\na@b\n", "2::it has 1 value, the header has 2\n"),
        BAD("email\na@b,x\n", "2::it has 2 values, the header has 1\n"),
        BAD("email\n\"a@b\nc@d\n", "2::a quote opens here that nothing closes\n"),
        BAD("email\na\"@b\n", "2::a quote stands inside a value"),
        BAD("email\n\"a@b\"x\n", "2::text follows a closing quote\n"),
        BAD("email\na@b\0\n", "2::there is a NUL byte in it"),
        BAD("email\na@b\n\xe4@b\n", "3::it is not UTF-8: save the file as UTF-8\n"),
        BAD("e\0mail\n", "1::there is a NUL byte in it"),
        /* The values. */
        BAD("email,name\n,ann\n", "2:email:there is none\n"),
        BAD("email\na.b\n", "2:email:'a.b' is not an e-mail address\n"),
        BAD("email\n\"a@b\nc\"\n", "2:email:'a@b\nc' is not an e-mail address\n"),
        BAD("email,name\na@b,Ann\n", "2:name:'Ann' is not a user name"),
        BAD("email,name\na@b," LONG_31 "x\n", "2:name:'" LONG_31 "x' is not a user name"),
        BAD("email,group\na@b,x -y z\n", "2:group:'-y' is not a group name: a lower-case letter"),
        BAD("E-Mail,Group\na@b,Class\n",
            "2:group:'Class' is not a group name: in lower case it is, 'class'"),
        BAD("email\nAnn <a@b>\n",
            "2:email:'Ann <a@b>' is not an e-mail address: only what is between"),
        BAD("email,expiry\na@b,31.12.2026\n", "2:expiry:'31.12.2026' is neither a day"),
        BAD("email,expiry\na@b,2026-02-30\n", "2:expiry:'2026-02-30' is neither a day"),
        /* Two lines. */
        BAD("email\na@b\n\nA@B\n", "4:email:'A@B' is in line 2 already\n"),
        BAD("email,name\na@b,ann\nc@d,ann\n", "3:name:'ann' is in line 2 already\n"),
        /* Lines inside of quotes count. */
        BAD("email,group\na@b,\"x\n\ny\"\nbad,x\n", "5:email:'bad' is not an e-mail address\n"),
        /* All of them at once, in the order of the lines. */
        BAD("email,name\nbad,Bad\nshort\na@b,ok\n",
            "2:email:'bad' is not an e-mail address\n2:name:'Bad' is not a user name: in "
            "lower case it is, 'bad'\n3::it has 1 value, the header has 2\n"),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = outcome(rows[i].csv, rows[i].size, NULL);

        if (strncmp(text, rows[i].wanted, strlen(rows[i].wanted)) != 0)
            fail_msg("row %zu: %s", i, text);
        free(text);
    }
}

static void more_people_than_go_at_once_are_refused(void **state)
{
    char *csv = NULL, *text;
    size_t size = 0;

    (void)state;
    for (unsigned more = 0; more < 2; more++) {
        FILE *out = open_memstream(&csv, &size);

        assert_non_null(out);
        (void)fputs("email\n", out);
        for (unsigned i = 0; i < ROSTER_MAX + more; i++)
            (void)fprintf(out, "p%u@example.org\n", i);
        assert_int_equal(fclose(out), 0);
        text = outcome(csv, size, NULL);
        if (more)
            assert_string_equal(text,
                                "5002::there are 5001 people; 5000 go at once: cut the file\n");
        else
            assert_memory_equal(text, "[{\"email\":\"p0@example.org\"},", 28);
        free(text);
        free(csv);
    }
}

static void any_bytes_end_the_parser_in_peace(void **state)
{
    static const char alphabet[] = "\",\r\n \t;a@b\0\xff\xef\xbb\xbf";
    uint32_t seed = 1;
    char bytes[64];

    (void)state;
    for (unsigned round = 0; round < 50000; round++) {
        size_t n = 0;

        memcpy(bytes, "email\n", 6);
        for (n = round % 3 == 0 ? 0 : 6; n < sizeof(bytes); n++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[n] = alphabet[(seed >> 16) % (sizeof(alphabet) - 1)];
        }
        free(outcome(bytes, (seed >> 8) % sizeof(bytes), NULL));
    }
}

static void a_refusal_of_the_api_is_about_one_person(void **state)
{
    static const struct {
        const char *field;
        size_t i;
        const char *member;
    } good[] = {{"users[0].email", 0, "email"},
                {"users[3]", 3, ""},
                {"users[3].groups[1]", 3, "groups[1]"}};
    static const char *const bad[] = {"users[4].email", "users[-1].x", "users[].x", "users[3]x",
                                      "users",          "name",        "users[3.x", "users[03].x"};
    const char *member;
    size_t i;

    (void)state;
    for (size_t k = 0; k < sizeof(good) / sizeof(good[0]); k++) {
        assert_true(roster_field(good[k].field, 4, &i, &member));
        assert_int_equal(i, good[k].i);
        assert_string_equal(member, good[k].member);
    }
    for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
        assert_false(roster_field(bad[k], 4, &i, &member));
}

/* --- the command --------------------------------------------------------------------------- */

/* A file with this text; the name is in @path. */
static void file_make(char path[static 64], const char *text)
{
    FILE *f;
    int fd;

    (void)snprintf(path, 64, "/tmp/atelier-test-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    f = fdopen(fd, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void bad_lines_are_all_said_and_nothing_is_sent(void **state)
{
    struct scene *s = *state;
    char path[64], wanted[512], text[1024] = "email\n";

    file_make(path, "email,name\nx,Y\na@b,ann\nc\n");
    /* Nobody listens: a request would be another exit code. */
    assert_int_equal(command(s, cmd_invite, false, WORDS("--csv", path)), CTL_USAGE);
    (void)snprintf(
        wanted, sizeof(wanted),
        "atelier: %s:2: email: 'x' is not an e-mail address\natelier: %s:2: name: 'Y' is "
        "not a user name",
        path, path);
    assert_memory_equal(s->err, wanted, strlen(wanted));
    (void)snprintf(wanted, sizeof(wanted),
                   "atelier: %s:4: it has 1 value, the header has 2\natelier: nobody was invited\n",
                   path);
    assert_non_null(strstr(s->err, wanted));
    (void)unlink(path);

    for (int i = 0; i < 25; i++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "\x1b%d\n", i);
    file_make(path, text);
    assert_int_equal(command(s, cmd_invite, false, WORDS("--csv", path)), CTL_USAGE);
    assert_non_null(strstr(s->err, ":21: email: '\\x1b19' is not"));
    assert_null(strstr(s->err, ":22: email"));
    assert_non_null(strstr(s->err, ": and 5 more; 25 errors in all\n"));
    (void)unlink(path);
    assert_int_equal(command(s, cmd_invite, false, WORDS("--csv", path)), CTL_USAGE);
    assert_non_null(strstr(s->err, "No such file"));
}

static void a_refusal_is_said_with_the_line_and_the_column(void **state)
{
    static const char refused[] =
        HEAD("400 Bad Request") "{\"status\":\"bad_request\",\"field\":\"users[1].groups[0]\","
                                "\"message\":\"there is no group y\"}";
    struct scene *s = *state;
    char path[64], wanted[256];

    file_make(path, "email,group\n\na@b,x\n\nc@d,y z\n");
    assert_int_equal(answered_all(s, ANSWERS(refused), cmd_invite, false, WORDS("--csv", path)),
                     CTL_USAGE);
    (void)snprintf(
        wanted, sizeof(wanted),
        "atelier: %s:5: group: 'y,z': there is no group y\natelier: nobody was invited\n", path);
    assert_string_equal(s->err, wanted);
    assert_string_equal(s->out, "");
    (void)unlink(path);
}

static void a_dry_run_prints_who_would_get_which_name(void **state)
{
    static const char answer[] =
        HEAD("200 OK") "{\"dry_run\":true,\"created\":1,\"existed\":1,\"users\":[{\"name\":\"a\","
                       "\"uid\":10001,\"email\":\"a@b\",\"created\":true},{\"name\":\"c\",\"uid\":"
                       "10002,\"email\":\"c@d\",\"created\":false}]}";
    struct scene *s = *state;
    char path[64];

    file_make(path, "email\na@b\nc@d\n");
    assert_int_equal(
        answered_all(s, ANSWERS(answer), cmd_invite, false, WORDS("--csv", path, "--dry-run")),
        CTL_OK);
    assert_string_equal(s->out, "NAME  UID    EMAIL  WOULD BE\n"
                                "a     10001  a@b    created\n"
                                "c     10002  c@d    there already\n");
    assert_non_null(strstr(s->request, "{\"dry_run\":true,"));
    assert_null(strstr(s->request, "/v1/links"));
    (void)unlink(path);
}

static void a_busy_host_is_asked_again(void **state)
{
    static const char busy[] =
        HEAD("503 Service Unavailable") "{\"status\":\"busy\",\"message\":\"the lock is held\"}";
    static const char answer[] =
        HEAD("200 OK") "{\"dry_run\":true,\"created\":1,\"existed\":0,\"users\":[{\"name\":\"a\","
                       "\"uid\":10001,\"email\":\"a@b\",\"created\":true}]}";
    struct scene *s = *state;

    assert_int_equal(
        answered_all(s, ANSWERS(busy, busy, answer), cmd_invite, false, WORDS("a@b", "--dry-run")),
        CTL_OK);
    assert_string_equal(s->err, "");
    assert_non_null(strstr(s->out, "created"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_are_read),
        cmocka_unit_test(a_group_for_everybody_comes_first_and_once),
        cmocka_unit_test(every_kind_of_bad_line_is_named),
        cmocka_unit_test(more_people_than_go_at_once_are_refused),
        cmocka_unit_test(any_bytes_end_the_parser_in_peace),
        cmocka_unit_test(a_refusal_of_the_api_is_about_one_person),
        TEST(bad_lines_are_all_said_and_nothing_is_sent),
        TEST(a_refusal_is_said_with_the_line_and_the_column),
        TEST(a_dry_run_prints_who_would_get_which_name),
        TEST(a_busy_host_is_asked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
