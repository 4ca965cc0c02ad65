/* SPDX-License-Identifier: ISC */
/*
 * cmd_run.c - atelier run
 *
 * The connection is the run: while it is open the run lives, and when it closes, for whatever
 * reason, sessiond-api kills the run. So a signal needs no goodbye: the handler exits, the kernel
 * closes the socket. For the same reason nothing is buffered here: what the program wrote is
 * written when it arrives, and is not lost in an exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fd.h"
#include "ctl/answer.h"
#include "ctl/client.h"
#include "ctl/cmd.h"
#include "ctl/event.h"
#include "ctl/run_args.h"
#include "ctl/say.h"

#include "common/banned.h"

#define REFUSAL_MAX 65536

struct run {
    const struct options *opt;
    struct lines lines;
    char refusal[REFUSAL_MAX]; /* body of an answer that is not a stream */
    size_t refusal_bytes;
    bool is_accepted, is_ended;
    int code;
};

static void on_signal(int number)
{
    _exit(CTL_RUN_SIGNAL + number);
}

/* What was ignored when we were started (nohup, a background job) stays ignored. */
static void signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal}, old;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

/* Our standard output may be a descriptor that somebody else made non-blocking. */
static int out_write(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno == EAGAIN) {
            struct pollfd wait = {.fd = fd, .events = POLLOUT};

            (void)poll(&wait, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            say_error("cannot write to standard %s: %s", fd == STDOUT_FILENO ? "output" : "error",
                      strerror(errno));
            return -EIO;
        } else if (n > 0) {
            bytes += n;
            size -= (size_t)n;
        }
    }
    return 0;
}

static void end_note(struct run *run, const struct event *e)
{
    run->is_ended = true;
    run->code = exit_of_end(e->status, e->has_exit, e->exit_code, e->signal);
    if (strcmp(e->status, "ok") == 0 || strcmp(e->status, "exit") == 0 ||
        strcmp(e->status, "signal") == 0) {
        if (e->message)
            say_error("%s", e->message);
        return;
    }
    say_error("run ended: %s%s%s%s%s%s", e->status, e->message ? ": " : "",
              e->message ? e->message : "", e->step ? " (step " : "", e->step ? e->step : "",
              e->step ? ")" : "");
}

static void note_say(const struct event *e)
{
    if (strcmp(e->code, "truncated") == 0)
        say_error("%" JSON_INTEGER_FORMAT " bytes of standard %s are left out here (--out-kb)",
                  e->dropped, e->stream == STDERR_FILENO ? "error" : "output");
    else
        say_error("note: %s", e->code);
}

static int on_line(void *arg, const char *line, size_t size)
{
    cleanup_event struct event e = {0};
    struct run *run = arg;

    if (event_parse(line, size, &e) < 0) {
        say_error("run ended: internal: sessiond-api sent a line that is not an event");
        return -EBADMSG;
    }
    if (run->opt->json &&
        (out_write(STDOUT_FILENO, line, size) < 0 || out_write(STDOUT_FILENO, "\n", 1) < 0))
        return -EIO;
    switch (e.kind) {
    case EVENT_OTHER:
        return 0;
    case EVENT_ACCEPTED:
        run->is_accepted = true;
        return 0;
    case EVENT_OUT:
        return run->opt->json ? 0 : out_write(e.stream, e.bytes, e.size);
    case EVENT_NOTE:
        if (!run->opt->json)
            note_say(&e);
        return 0;
    case EVENT_END:
        end_note(run, &e);
        return 0;
    }
    return -EBADMSG;
}

static int on_piece(void *arg, long http, const char *data, size_t size)
{
    struct run *run = arg;
    int r;

    if (http == 200) {
        r = lines_add(&run->lines, data, size, on_line, run);
        if (r == -EMSGSIZE)
            say_error("run ended: internal: sessiond-api sent a line that is too long");
        return r;
    }
    if (size > REFUSAL_MAX - run->refusal_bytes) {
        say_error("run refused: internal: the answer of sessiond-api does not end");
        return -EMSGSIZE;
    }
    if (size > 0)
        memcpy(run->refusal + run->refusal_bytes, data, size);
    run->refusal_bytes += size;
    return 0;
}

static void refusal_say(const struct run *run, long http)
{
    cleanup_json json_t *error =
        json_loadb(run->refusal, run->refusal_bytes, JSON_REJECT_DUPLICATES, NULL);
    const char *word = json_string_value(json_object_get(error, "status"));
    cleanup_free char *prefix = NULL;

    if (run->opt->json && json_is_object(error))
        json_print_line(error);
    if (asprintf(&prefix, "run refused: %s: ", word ? word : "internal") < 0)
        say_no_memory();
    error_say(prefix, error, http);
}

/**
 * stdin_add() - Read what --stdin names into the request
 *
 * Return: 0, or the exit code, and it has been said why.
 */
static int stdin_add(struct run_args *args)
{
    bool is_ours = strcmp(args->stdin_path, "-") == 0;
    const char *what = is_ours ? "standard input" : args->stdin_path;
    cleanup_free char *text = malloc(CLIENT_BODY_MAX + 1);
    cleanup_close int opened = -1;
    int fd = STDIN_FILENO, r;
    size_t size = 0;

    if (!text)
        say_no_memory();
    if (!is_ours)
        fd = opened = open(args->stdin_path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    r = fd < 0 ? -errno : fd_read_full(fd, text, CLIENT_BODY_MAX + 1, &size);
    if (r < 0) {
        say_error("cannot read %s: %s", what, strerror(-r));
        return CTL_USAGE;
    }
    if (size > CLIENT_BODY_MAX) {
        say_error("%s has more than the %u bytes of a whole request", what, CLIENT_BODY_MAX);
        return CTL_USAGE;
    }
    if (run_args_add_stdin(args, text, size) < 0) {
        say_error("%s is not UTF-8 text without NUL bytes", what);
        return CTL_USAGE;
    }
    return 0;
}

/**
 * body_complete() - Add program and standard input to the request
 *
 * Return: 0, or the exit code, and it has been said why.
 */
static int body_complete(struct run_args *args)
{
    cleanup_free char *path = NULL;
    int r = program_find(args->argv[0], &path);

    if (r == -ENOENT) {
        say_error("%s: not found in " RUN_PATH, args->argv[0]);
        return CTL_RUN_NOT_FOUND;
    }
    if (r < 0) {
        say_error("'%s': a program is an absolute path or a name without '/'", args->argv[0]);
        return CTL_USAGE;
    }
    if (run_args_add_argv(args, path) < 0) {
        say_error("an argument of the program is not UTF-8");
        return CTL_USAGE;
    }
    return args->stdin_path ? stdin_add(args) : 0;
}

static int run_perform(const struct options *opt, const json_t *body)
{
    struct run run = {.opt = opt, .code = CTL_RUN_FAILED};
    struct client_request req = {
        .method = "POST", .path = "/v1/runs", .body = body, .piece = on_piece, .arg = &run};
    struct client_result result;

    client_perform(opt, &req, &result);
    lines_done(&run.lines);
    if (run.is_ended)
        return run.code;
    if (result.code != CTL_OK) {
        if (result.why[0] == '\0')
            return CTL_RUN_FAILED;
        if (!run.is_accepted) {
            say_error("%s", result.why);
            return result.code;
        }
        say_error("run ended: internal: %s", result.why);
    } else if (result.http != 200) {
        refusal_say(&run, result.http);
    } else {
        say_error("run ended: internal: the answer of sessiond-api stops before the run's end");
    }
    return CTL_RUN_FAILED;
}

int cmd_run(struct options *opt, int argc, char **argv)
{
    struct run_args args;
    int code;

    if (run_args_parse(opt, argc, argv, 0, &args) < 0)
        return CTL_USAGE;
    signals_catch();
    code = body_complete(&args);
    if (code == 0)
        code = run_perform(opt, args.body);
    run_args_done(&args);
    return code;
}
