/* SPDX-License-Identifier: ISC */
/*
 * registry.h - the one door to registry.db: users, groups, ids, links, callers, runs, sessions.
 *
 * The database is the truth and is opened by one process only; what NSS reads is the index, which
 * registry functions derive from it. Everything behind this header could be another engine.
 *
 * A change that NSS can see is made in this order, and any other order loses something:
 *   1. BEGIN IMMEDIATE, the rows, generation + 1
 *   2. the whole new index into a temporary file beside the old one, fsync
 *   3. the caller is asked whether it may still give out names and ids (registry_taken_fn)
 *   4. COMMIT                        (crash before: the temporary file is swept at the next open)
 *   5. rename over the old index     (crash before: registry_open() sees that the generations
 *   6. fsync of the directory         differ and writes the index anew)
 *   7. only then the caller answers
 * A failure up to 4 rolls back and removes the temporary file: the old state stays. One of 5 and 6
 * is -EINPROGRESS, and no function returns that for anything else: the change is stored, NSS does
 * not know it, and the next change makes up for it.
 *
 * Functions return 0 or a negative errno when they could not find out or could not store; what was
 * decided is an enum. Callers deny on every negative value. Nothing here logs.
 */
#ifndef ATELIER_REGISTRY_H
#define ATELIER_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

#define EMAIL_SIZE       255u /* RFC 5321 4.5.3.1.3: 254 octets, and a NUL */
#define EXTERNAL_ID_SIZE 129u
#define RUN_ID_SIZE      33u /* 32 lower-case hex digits and a NUL */
#define STATUS_SIZE      24u
#define COMMENT_SIZE     128u /* printable UTF-8 without ':', and a NUL */
#define SHELL_SIZE       128u /* absolute path of printable ASCII without ':', and a NUL */

/* Groups of a user besides GROUP_ALL_USERS. */
#define USER_GROUPS_MAX 30u

struct registry;

/* One table: enum, key in database and API. */
#define USER_STATES(X)                                                                             \
    X(RESERVED, "reserved")                                                                        \
    X(ACTIVE, "active") X(LOCKED, "locked") X(EXPIRED, "expired") X(DELETED, "deleted")

enum user_state {
#define USER_STATE_ENUM(id, key) USER_STATE_##id,
    USER_STATES(USER_STATE_ENUM)
#undef USER_STATE_ENUM
        USER_STATE__COUNT,
};

const char *user_state_key(enum user_state state);

struct user {
    uint32_t uid; /* and gid of the private group of the same name */
    char name[NAME_SIZE];
    char email[EMAIL_SIZE]; /* lower case; "" if none */
    enum user_state state;  /* as of now: EXPIRED when expires_s has passed, LOCKED before that */
    int64_t created_s;      /* Unix seconds */
    int64_t expires_s;      /* Unix seconds; 0: never */
    char comment[COMMENT_SIZE]; /* for people to read; NSS does not show it */
    char shell[SHELL_SIZE];     /* of a session; "": the default. NSS does not show it */
};

struct group {
    uint32_t gid;
    char name[NAME_SIZE];
};

/*
 * Asked for each candidate while the host's password lock is held: is this taken by anybody but
 * us? @name or @id is checked, whichever is set (@id 0: not asked). 1 taken, 0 free, negative
 * errno: could not find out (the creation fails).
 *
 * Asked once more right before COMMIT with neither (NULL, 0): is the caller still entitled to
 * allocate, or may the lock be lost meanwhile? 0: yes. Everything else undoes the creation, which
 * returns that negative errno, or -EBUSY for a positive number.
 */
typedef int (*registry_taken_fn)(void *arg, const char *name, uint32_t id);

/* --- open ---------------------------------------------------------------------------------- */

/* What may be given out. */
struct registry_options {
    uint32_t id_min, id_max; /* uids and gids, within ID_ALLOC_MIN..ID_ALLOC_MAX */
    registry_taken_fn taken; /* asked for the gid of GROUP_ALL_USERS; NULL: nobody is asked */
    void *arg;               /* for @taken */
};

/**
 * registry_open() - Open the database, make or migrate it, and make ledger and index agree
 * @state_dir: Directory with registry/ (0700), ledger/ (0700) and nss/ (0755) in it, all owned by
 *             the caller's effective user; borrowed during the call
 * @options:   Borrowed during the call; NULL: all of ID_ALLOC_MIN..ID_ALLOC_MAX, nobody is asked
 * @ret_reg:   Owned by the caller, registry_close()
 *
 * Makes the group GROUP_ALL_USERS with the first free gid if the database is new. Ids and names
 * that the ledger has and the database has not are used up from now on. Removes temporary files of
 * a crash, and an index of an older version. Writes the index if it is not, byte by byte, what the
 * database says. Forgets links that expired LINK_KEPT_S before the newest one was made, or before
 * now if that is earlier.
 *
 * Users and groups outside of the range of @options stay: it is of ids that are given out.
 *
 * Return: 0, -EPROTO if the schema is newer than this program, -EBUSY if another process has the
 * registry open (an exclusive lock on registry/lock), -EPERM if a directory or a file in it
 * belongs to somebody else or is open to others, -EBADMSG if the database or the ledger is damaged,
 * -ENOSPC if a new database finds no free gid, -ERANGE for a range that is none, or a negative
 * errno.
 */
int registry_open(const char *state_dir, const struct registry_options *options,
                  struct registry **ret_reg);

void registry_close(struct registry *reg);

/**
 * registry_on_publish() - Be told of each publication
 * @fn:  Called when a new index is in place, before the function that made it returns; it must not
 *       use the registry. Not for what registry_open() published
 * @arg: For @fn
 */
void registry_on_publish(struct registry *reg, void (*fn)(void *arg), void *arg);

enum index_found {
    INDEX_FOUND_RIGHT,   /* the bytes that the database makes */
    INDEX_FOUND_NONE,    /* no file; as a new registry has none */
    INDEX_FOUND_ANOTHER, /* older, torn, or not what the database says: a row or the file changed */
};

/* What registry_open() found in the place of the index, before it put it right. */
enum index_found registry_index_found(const struct registry *reg);

/**
 * registry_rebuild_index() - Read all rows from the database and publish them to NSS anew
 *
 * Counts the generation up, so that it can be seen to have been done.
 *
 * Return: 0 or a negative errno.
 */
int registry_rebuild_index(struct registry *reg);

/**
 * registry_error() - Why the last call that failed did so, for the log
 * @reg: Open registry; NULL asks for the last registry_open() that failed
 *
 * -ENOENT of a search and the verdicts of user_create() leave no sentence.
 *
 * Return: one sentence, borrowed, valid until the next call; never NULL. Holds no secret and no
 * e-mail address.
 */
const char *registry_error(const struct registry *reg);

/* --- users --------------------------------------------------------------------------------- */

#define EXPIRY_KEEP (-1)

/* What a new user is made of. */
struct user_spec {
    const char *email;       /* or NULL */
    const char *external_id; /* or NULL; at least one of email, external_id and name is there */
    uint32_t owner_uid;      /* caller whose key external_id is; 0: the administrator */
    const char *name;        /* or NULL: made from the e-mail's local part, 8 characters or fewer */
    const char *const *groups; /* besides GROUP_ALL_USERS (naming it changes nothing); must exist */
    size_t group_count;
    const char *comment; /* or NULL */
    const char *shell;   /* or NULL: the default, as "" */
    /* Unix seconds; 0: never. EXPIRY_KEEP: never for a new user, as it is for one who exists. */
    int64_t expires_s;
    uint32_t uid;           /* 0: the next one of the counter */
    struct user_gain *gain; /* or NULL; of user_create_batch() only, which fills it in */
};

/* What a row changed of one who exists; a new one has all its groups from it. */
struct user_gain {
    uint32_t groups;          /* bit I: of the groups of the row, the one at I is new to them */
    bool has_expiry;          /* it is another one now; before: */
    int64_t expires_before_s; /* Unix seconds; 0: never */
};

enum user_verdict {
    USER_CREATED,
    USER_EXISTED,      /* same external_id of this caller, or same e-mail: *ret_user is that user */
    USER_UNBOUND,      /* of user_exists_already() only, see there */
    USER_NAME_INVALID, /* field "name": syntax */
    USER_NAME_RESERVED,
    USER_NAME_TAKEN, /* by a user, a tombstone, or anybody on the host */
    USER_EMAIL_INVALID,
    USER_EXTERNAL_ID_INVALID,
    USER_CONFLICT, /* external_id and e-mail are not of one user, see user_create() */
    USER_NO_GROUP, /* field "group": there is none of that name */
    USER_IDS_EXHAUSTED,
    USER_UID_INVALID, /* field "uid": outside of the range of registry_options */
    USER_UID_TAKEN,   /* by a user, a group, a tombstone, or anybody on the host */
    USER_COMMENT_INVALID,
    USER_SHELL_INVALID,
    USER_TOO_MANY_GROUPS, /* more than USER_GROUPS_MAX */
};

/**
 * user_create() - Give a person a name and a uid, durably, and publish them to NSS
 * @reg:         Open registry, borrowed
 * @spec:        Who, borrowed
 * @taken:       Host-side check, see above; called inside the transaction, last before COMMIT
 * @arg:         For @taken
 * @ret_user:    Set on USER_CREATED and USER_EXISTED
 * @ret_verdict: Set when 0 is returned
 *
 * Idempotent on (owner_uid, external_id), then on e-mail (compared in lower case):
 * - external_id is bound: that user, whatever name, groups and e-mail of nobody else come with it;
 *   USER_CONFLICT if the e-mail is another user's. A stored e-mail never changes here.
 * - only the e-mail is known: that user, if this caller has no other external_id for them, and
 *   then the external_id is bound to them, durably, before USER_EXISTED is returned (NSS does not
 *   see it: no index is written and @taken is not called). USER_CONFLICT if the caller has one:
 *   two of its people with one address must not get one user.
 *
 * Nothing but the external_id changes of one who exists.
 *
 * Ids come from one counter for uid and gid and are never used twice: the counter and the
 * tombstones are in the same transaction as the user. New users are USER_STATE_RESERVED.
 *
 * Return: 0; -ENOSPC, -EIO, -EBUSY ... with the old state kept. If only the rename of the index
 * failed, the user is stored and unpublished: the same call again publishes and says EXISTED.
 */
int user_create(struct registry *reg, const struct user_spec *spec, registry_taken_fn taken,
                void *arg, struct user *ret_user, enum user_verdict *ret_verdict);

/* Return: 0, -ENOENT if there is no such user (deleted ones included), or a negative errno. */
int user_by_name(struct registry *reg, const char *name, struct user *ret_user);
int user_by_uid(struct registry *reg, uint32_t uid, struct user *ret_user);
int user_by_email(struct registry *reg, const char *email, struct user *ret_user);

/**
 * user_exists_already() - user_create()'s idempotence check alone, without any lock
 * @ret_verdict: USER_EXISTED with *@ret_user set;
 *               USER_UNBOUND with *@ret_user set: the e-mail is this user's, and user_create()
 *               would bind the external_id to them. So that the caller can refuse before;
 *               USER_CONFLICT;
 *               or USER_CREATED, which here means that nobody has this external_id or e-mail yet,
 *               or that one is not valid
 *
 * Stores nothing, but publishes first what an earlier call could not. Return: 0 or a negative
 * errno.
 */
int user_exists_already(struct registry *reg, const struct user_spec *spec, struct user *ret_user,
                        enum user_verdict *ret_verdict);

/* Of one call of user_create_batch(). */
#define USER_BATCH_MAX 5000u

/**
 * user_create_batch() - user_create() for many people, all or nothing, published once
 * @specs:        @n of them, borrowed; two may mean one person, who is then created once
 * @n:            At most USER_BATCH_MAX
 * @is_rehearsal: Do it, and undo it: names and ids are what they would be now
 * @taken:        As for user_create()
 * @ret_users:    @n entries; the first *@ret_bad of them are set
 * @ret_verdicts: @n entries; the first *@ret_bad + 1 of them are set
 * @ret_bad:      @n if all is well. Else the first row whose verdict is neither USER_CREATED nor
 *                USER_EXISTED: then nothing is stored
 *
 * Who exists gets the groups that they lack, and the expiry unless it is EXPIRY_KEEP; name, uid,
 * comment and shell of the row are then not looked at.
 *
 * Return: 0, -E2BIG, or a negative errno as user_create().
 */
int user_create_batch(struct registry *reg, const struct user_spec *specs, size_t n,
                      bool is_rehearsal, registry_taken_fn taken, void *arg, struct user *ret_users,
                      enum user_verdict *ret_verdicts, size_t *ret_bad);

/**
 * user_external_id() - The key of a caller for a user
 *
 * Return: 0, -ENOENT if this caller has none for them, or a negative errno.
 */
int user_external_id(struct registry *reg, uint32_t owner_uid, uint32_t uid,
                     char ret_external_id[EXTERNAL_ID_SIZE]);

/* Called for each key of a user in ascending owner; a non-zero return stops and is returned. */
typedef int (*external_id_fn)(void *arg, uint32_t owner_uid, const char *external_id);
int user_external_id_list(struct registry *reg, uint32_t uid, external_id_fn fn, void *arg);

/**
 * user_join_group() - Put a user who exists into a group, and publish it to NSS
 *
 * Return: 0, also if the user was in it; -ENOENT if there is no such group; -E2BIG if they are in
 * USER_GROUPS_MAX; or a negative errno with the old state kept.
 */
int user_join_group(struct registry *reg, uint32_t uid, const char *group);

/* Called for each row in ascending uid; a non-zero return stops the listing and is returned. */
typedef int (*user_fn)(void *arg, const struct user *user);
int user_list(struct registry *reg, user_fn fn, void *arg);

/**
 * user_list_from() - A part of user_list()
 * @after_uid: Users above it; 0: from the first
 * @max:       No more than this many
 *
 * Return: 0, what @fn returned, or a negative errno.
 */
int user_list_from(struct registry *reg, uint32_t after_uid, size_t max, user_fn fn, void *arg);

/* What is done with a list of groups (or of members). */
enum user_groups_how { USER_GROUPS_KEEP, USER_GROUPS_SET, USER_GROUPS_ADD, USER_GROUPS_REMOVE };

/* What user_change() is to change; NULL and false: as it is. */
struct user_change {
    const char *email; /* "": they have none any more */
    const char *comment;
    const char *shell;
    bool has_expiry;
    int64_t expires_s; /* Unix seconds; 0: never */
    bool has_locked, is_locked;
    enum user_groups_how groups_how;
    const char *const *groups; /* GROUP_ALL_USERS is nothing to SET and ADD: it is never left */
    size_t group_count;
};

enum user_change_verdict {
    USER_CHANGED, /* also if all of it was so */
    USER_CHANGE_EMAIL_INVALID,
    USER_CHANGE_EMAIL_TAKEN,
    USER_CHANGE_COMMENT_INVALID,
    USER_CHANGE_SHELL_INVALID,
    USER_CHANGE_NO_GROUP,
    USER_CHANGE_GROUP_IS_ALL, /* GROUP_ALL_USERS is to be left */
    USER_CHANGE_TOO_MANY_GROUPS,
};

/**
 * user_change() - Change what is given, in one transaction
 * @change:      Borrowed
 * @ret_what:    On USER_CHANGE_NO_GROUP and _GROUP_IS_ALL: which group, borrowed from @change
 * @ret_verdict: Set when 0 is returned; but for USER_CHANGED nothing is stored
 *
 * The index is written only if a group changes. What runs is not touched: the caller ends it.
 *
 * Return: 0, -ENOENT, -EINVAL (negative expiry), or a negative errno with the old state kept; if
 * only the rename of the index failed, the change is stored and unpublished.
 */
int user_change(struct registry *reg, uint32_t uid, const struct user_change *change,
                const char **ret_what, enum user_change_verdict *ret_verdict);

/**
 * user_delete() - Take a user out of everything but the tombstones
 * @ret_links_revoked: How many links they had that were neither used nor revoked
 *
 * Name and id are never given out again. E-mail and external ids are free: the same person can come
 * again as a new user. What runs is not touched: the caller ends it before.
 *
 * Return: 0, -ENOENT, or a negative errno with the old state kept (but see user_change()).
 */
int user_delete(struct registry *reg, uint32_t uid, uint32_t *ret_links_revoked);

/**
 * user_activate() - Note a first login or first run: reserved becomes active
 *
 * Not visible to NSS, so the index is not written. Return: 0 or a negative errno.
 */
int user_activate(struct registry *reg, uint32_t uid);

/**
 * user_lock() - Lock or unlock a user, durably
 *
 * Unlocked means active again, or reserved if there was no login and no run yet (no session, run or
 * used link of them is on record). Not visible to NSS. What runs is not touched: the caller ends
 * it.
 *
 * Return: 0, also if nothing changed; -ENOENT; or a negative errno.
 */
int user_lock(struct registry *reg, uint32_t uid, bool is_locked);

/**
 * user_set_expiry() - When a user's time is over
 * @expires_s: Unix seconds, may be in the past; 0: never
 *
 * Return: 0, -EINVAL (negative), -ENOENT, or a negative errno.
 */
int user_set_expiry(struct registry *reg, uint32_t uid, int64_t expires_s);

/**
 * user_next_expiry() - The first expiry after a moment, so that the caller can wait for it
 *
 * Of locked users too: who is unlocked in between is not missed.
 *
 * @ret_expires_s: 0 if there is none
 *
 * Return: 0 or a negative errno.
 */
int user_next_expiry(struct registry *reg, int64_t after_s, int64_t *ret_expires_s);

/* --- groups -------------------------------------------------------------------------------- */

/* Return: 0, -EEXIST, -EINVAL (syntax), -EPERM (reserved), -ENOSPC (ids), or a negative errno. */
int group_create(struct registry *reg, const char *name, registry_taken_fn taken, void *arg,
                 struct group *ret_group);

struct group_change {
    const char *name;         /* NULL: it stays */
    enum user_groups_how how; /* USER_GROUPS_KEEP: the members stay */
    const uint32_t *uids;     /* @n of them; who is to be removed and is not in it, is not in it */
    size_t n;
};

/**
 * group_change() - Name and members of a group, in one transaction
 * @change: Borrowed
 * @taken:  As for user_create(); NULL if there is no name
 *
 * The old name stays used: nobody gets it again, this group neither.
 *
 * Return: 0, also if it was so; of the name -EEXIST, -EINVAL (syntax) and -EPERM (reserved; or the
 * group is GROUP_ALL_USERS); of the members -E2BIG, if somebody would be in more than
 * USER_GROUPS_MAX; -ENOENT (no such group, or user); or a negative errno. The old state is kept,
 * but for -EINPROGRESS: see above.
 */
int group_change(struct registry *reg, uint32_t gid, const struct group_change *change,
                 registry_taken_fn taken, void *arg);

/* Its parts. */
int group_rename(struct registry *reg, uint32_t gid, const char *name, registry_taken_fn taken,
                 void *arg);
int group_members_change(struct registry *reg, uint32_t gid, enum user_groups_how how,
                         const uint32_t *uids, size_t n);

/**
 * group_delete() - Take a group away; name and gid are never given out again
 *
 * Return: 0, -ENOENT, -EPERM (GROUP_ALL_USERS), -EBUSY while a caller acts for it, or a negative
 * errno with the old state kept.
 */
int group_delete(struct registry *reg, uint32_t gid);

/* Called for each member in ascending uid; a non-zero return stops and is returned. -ENOENT. */
int group_member_list(struct registry *reg, uint32_t gid, user_fn fn, void *arg);

/* Return: 0, -ENOENT, or a negative errno. */
int group_by_name(struct registry *reg, const char *name, struct group *ret_group);

/* Called for each group in ascending gid; a non-zero return stops the listing and is returned. */
typedef int (*group_fn)(void *arg, const struct group *group);
int group_list(struct registry *reg, group_fn fn, void *arg);

/**
 * group_of_user() - Supplementary groups of a user, ascending gid, without the private group
 * @ret_groups: Room for @max entries
 * @ret_n:      How many there are
 *
 * Return: 0, -ENOENT, -E2BIG if there are more than @max, or a negative errno.
 */
int group_of_user(struct registry *reg, uint32_t uid, struct group *ret_groups, size_t max,
                  size_t *ret_n);

/* --- why not -------------------------------------------------------------------------------- */

/* What the registry knows of a name or id that somebody asks for. */
enum used_by {
    USED_BY_NOBODY, /* of ours, ever: whoever has it is of the host */
    USED_BY_USER,
    USED_BY_GROUP,
    USED_ONCE, /* given out once, to somebody who is gone or has another name now */
};

/* Return: 0 or a negative errno. */
int name_used_by(struct registry *reg, const char *name, enum used_by *ret_by);
int id_used_by(struct registry *reg, uint32_t id, enum used_by *ret_by);

/* The range of registry_options. */
void registry_id_range(const struct registry *reg, uint32_t *ret_min, uint32_t *ret_max);

/* The first of @names that is no group, borrowed, or NULL. Return: 0 or a negative errno. */
int group_first_missing(struct registry *reg, const char *const *names, size_t n,
                        const char **ret_name);

/**
 * user_check() - What a row of user_create_batch() would come to, looked at alone
 * @taken:       Asked for a name that is asked for
 * @ret_verdict: USER_CREATED, USER_EXISTED, or why not; .uid of @spec is not looked at
 *
 * So that all rows that are not good can be named, not the first one only. Stores nothing.
 *
 * Return: 0 or a negative errno.
 */
int user_check(struct registry *reg, const struct user_spec *spec, registry_taken_fn taken,
               void *arg, enum user_verdict *ret_verdict);

/* --- links --------------------------------------------------------------------------------- */

/*
 * A link is a secret in two forms, a token and a code, of which only keyed hashes are stored. One
 * use of either uses up both.
 */
#define LINK_ID_SIZE   17u /* 16 lower-case hex digits and a NUL */
#define LINK_HASH_SIZE 32u
#define LINK_KEPT_S    (90 * 24 * 60 * 60) /* after it expired, for the audit */

/* One table: enum, key in database, API and command line. */
#define LINK_PURPOSES(X) X(ANY, "any") X(SSH, "ssh") X(WEB, "web")

enum link_purpose {
#define LINK_PURPOSE_ENUM(id, key) LINK_PURPOSE_##id,
    LINK_PURPOSES(LINK_PURPOSE_ENUM)
#undef LINK_PURPOSE_ENUM
        LINK_PURPOSE__COUNT,
};

const char *link_purpose_key(enum link_purpose purpose);

struct link {
    char link_id[LINK_ID_SIZE]; /* names the link in lists and logs; random, opens nothing */
    uint32_t uid;
    uint32_t caller_uid; /* who made it; 0 for admin.sock */
    enum link_purpose purpose;
    int64_t created_s; /* Unix seconds, all of them; 0: not yet */
    int64_t expires_s;
    int64_t used_s;
    int64_t revoked_s;
    char name[NAME_SIZE]; /* of the user; filled in when read */
};

/**
 * link_add() - Store a new link, durably
 * @link:       link_id, uid, caller_uid, purpose, created_s, expires_s
 * @token_hash: LINK_HASH_SIZE bytes
 * @code_hash:  LINK_HASH_SIZE bytes
 *
 * A hash is there if any link has it, as either of the two. Nothing is used or revoked yet,
 * whatever @link says.
 *
 * Return: 0, -ENOENT (no such user), -EEXIST (id or hash is there), -EINVAL, or a negative errno.
 */
int link_add(struct registry *reg, const struct link *link, const uint8_t *token_hash,
             const uint8_t *code_hash);

enum link_verdict {
    LINK_REFUSED = 0, /* which of the conditions failed is not told */
    LINK_ACCEPTED = 1,
};

/**
 * link_consume() - Check a link and use it up, in one statement
 * @hash:        Of a token or a code, LINK_HASH_SIZE bytes
 * @name:        Of the user who must own it; checked here, never changed
 * @door:        SSH or WEB: links for this purpose or for any are good
 * @now_s:       Unix seconds
 * @ret_link:    Set on LINK_ACCEPTED
 * @ret_verdict: Set when 0 is returned
 *
 * Accepted if and only if it was unused, unrevoked, unexpired, of this user, for this door, and the
 * user is neither locked, expired nor deleted; it is then used, durably, and the user is active.
 * Whatever is refused is left as it was. The same work is done for a name that nobody has. That a
 * link was used is a fact and no comparison of times: a clock that is set back opens nothing again.
 *
 * Return: 0, -EINVAL (@door is ANY, @now_s is not positive), or a negative errno: could not find
 * out, nothing is used up.
 */
int link_consume(struct registry *reg, const uint8_t *hash, const char *name,
                 enum link_purpose door, int64_t now_s, struct link *ret_link,
                 enum link_verdict *ret_verdict);

/* Return: 0, also if it was used or revoked before; -EINVAL; -ENOENT; or a negative errno. */
int link_revoke(struct registry *reg, const char *link_id, int64_t now_s);
/* Return: 0, -ENOENT, or a negative errno. */
int link_get(struct registry *reg, const char *link_id, struct link *ret_link);
/* Called for each link, newest first; a non-zero return stops the listing and is returned. */
typedef int (*link_fn)(void *arg, const struct link *link);
int link_list(struct registry *reg, link_fn fn, void *arg);

/* --- callers ------------------------------------------------------------------------------- */

/* One table: bit, key in database, API and command line. */
#define CALLER_VERBS(X)                                                                            \
    X(USERS, "users") X(RUNS, "runs") X(NET_PUBLIC, "net-public") X(LINKS, "links")

enum caller_verb {
#define CALLER_VERB_ENUM(id, key) CALLER_VERB_##id,
    CALLER_VERBS(CALLER_VERB_ENUM)
#undef CALLER_VERB_ENUM
        CALLER_VERB__COUNT,
};

const char *caller_verb_key(enum caller_verb verb);

#define CALLER_GROUPS_MAX 16u

struct caller {
    uint32_t uid;   /* Unix user of the program; any but 0 */
    uint32_t verbs; /* bit n: enum caller_verb n */
    uint32_t group_count;
    struct group groups[CALLER_GROUPS_MAX]; /* may act for members of any of these */
    int64_t created_s;
};

/* Make or replace. The groups are given by gid. Return: 0, -ENOENT (no such group), -errno. */
int caller_put(struct registry *reg, const struct caller *caller);
/* Return: 0, -ENOENT, or a negative errno. */
int caller_get(struct registry *reg, uint32_t uid, struct caller *ret_caller);
/* Its links that nobody has used are revoked. Return: 0, -ENOENT, or a negative errno. */
int caller_del(struct registry *reg, uint32_t uid);
typedef int (*caller_fn)(void *arg, const struct caller *caller);
int caller_list(struct registry *reg, caller_fn fn, void *arg);

/**
 * caller_may_act_for() - May this caller act for this user?
 * @ret_may: The answer; false also if the user does not exist
 *
 * Return: 0 or a negative errno; callers deny on both.
 */
int caller_may_act_for(struct registry *reg, const struct caller *caller, uint32_t uid,
                       bool *ret_may);

/* --- runs ---------------------------------------------------------------------------------- */

/* One row of the audit of runs. Times are Unix microseconds, 0 while not known. */
struct run_row {
    char run_id[RUN_ID_SIZE];
    uint32_t uid;
    uint32_t caller_uid; /* 0 for admin.sock */
    char net[8];         /* "none" or "public" */
    char program[128];   /* argv[0], cut */
    int64_t accepted_us;
    int64_t started_us;
    int64_t ended_us;
    char status[STATUS_SIZE]; /* "" until ended */
    int32_t exit_code;        /* -1: none */
    int32_t signal;           /* 0: none */
    uint64_t cpu_us;
    uint64_t out_bytes;
};

/* Insert or update by run_id, inside the open group. Return: 0, -EINVAL, or a negative errno. */
int run_put(struct registry *reg, const struct run_row *row);

/**
 * run_commit() - Make the run rows since the last commit durable
 *
 * Run audit is committed in groups: the caller runs this 200 ms at most after a run_put(). Every
 * function that changes users, groups or callers commits the open group first.
 *
 * Return: 0, or a negative errno and the rows of the group are lost.
 */
int run_commit(struct registry *reg);

/* Rows without an end, from before a crash: close them as `internal`. Part of registry_open(). */
int run_close_stale(struct registry *reg);

/* --- sessions ------------------------------------------------------------------------------ */

#define SESSION_ID_SIZE 33u /* 32 lower-case hex digits and a NUL */

/* One row of the audit of sessions. Times are Unix microseconds, 0 while not known. */
struct session_row {
    char session_id[SESSION_ID_SIZE];
    uint32_t uid;
    char service[32];
    char line[32];
    char rhost[64];
    int64_t started_us;
    int64_t ended_us;
    char end[STATUS_SIZE]; /* "" until ended */
    /* JSON, borrowed. NULL: what is there stays. Rows that are read have none. */
    const char *receipt;
};

#define SESSION_RECEIPT_MAX 16384u

/* Insert or update by session_id, durably. Return: 0, -EINVAL, or a negative errno. */
int session_put(struct registry *reg, const struct session_row *row);

/* Called for each row without an end; a non-zero return stops the listing and is returned. */
typedef int (*session_fn)(void *arg, const struct session_row *row);
int session_list_open(struct registry *reg, session_fn fn, void *arg);

/* --- index --------------------------------------------------------------------------------- */

struct registry_counts {
    uint64_t generation;
    uint32_t users;
    uint32_t users_enabled; /* of them: neither locked nor expired */
    uint32_t groups;
    uint32_t ids_free;
};

int registry_count(struct registry *reg, struct registry_counts *ret_counts);

/* --- backup -------------------------------------------------------------------------------- */

/* Names in registry/. */
#define REGISTRY_BACKUP_NAME  "backup.db"
#define REGISTRY_RESTORE_NAME "restore.db"

struct registry_backup {
    uint64_t bytes; /* size of the file */
    uint64_t generation;
    uint32_t users, groups;
};

/**
 * registry_backup() - A consistent copy of the database as REGISTRY_BACKUP_NAME
 *
 * 0600 and durable; one that is there is replaced, at the end.
 *
 * Return: 0 or a negative errno.
 */
int registry_backup(struct registry *reg, struct registry_backup *ret_backup);

#define RESTORE_DIGEST_SIZE 65u /* BLAKE2b-256 in hex, and a NUL */

/* What a restore does to somebody besides what is in the copy. */
enum restore_note {
    RESTORE_GONE,   /* is in the registry now, and would not be any more */
    RESTORE_BACK,   /* was deleted here, is in the copy, and comes back locked */
    RESTORE_LOCKED, /* is locked or expired here, not in the copy, and is locked afterwards */
};
typedef int (*restore_user_fn)(void *arg, enum restore_note what, const struct user *user);

struct restore_how {
    bool is_rehearsal;       /* find out what would be, and change nothing */
    const char *digest;      /* of a rehearsal: another file is refused; NULL: whatever it is */
    registry_taken_fn taken; /* as for user_create(), for whoever comes to life by the copy */
    void *host;              /* for @taken */
    /*
     * Called before anything is changed, each in ascending uid; a non-zero return ends it all and
     * is returned. They must change nothing here. Or NULL.
     */
    restore_user_fn on_user;
    caller_fn on_dropped; /* a caller of the copy who is none here: does not come back */
    void *arg;            /* for both */
};

struct registry_restored {
    uint32_t users, groups;
    uint32_t users_gone;    /* RESTORE_GONE */
    uint32_t links_revoked; /* that were open in the file */
    char kept[64];          /* file in registry/ with the state before; "" at a rehearsal */
    char digest[RESTORE_DIGEST_SIZE]; /* of the file */
};

/**
 * registry_restore() - Take REGISTRY_RESTORE_NAME in the place of all rows
 * @how:          Borrowed
 * @ret_restored: What is now, or would be
 *
 * A copy gives back what was, but no right that was taken away since: ids and names that were given
 * out stay used, links that are open in it are revoked, who is locked, expired or deleted here is
 * locked afterwards (as far as the copy has them), and the callers stay those of here, for the
 * groups that there are then. A file whose digest a rehearsal has just found good is not checked
 * again. Whether the right to give out ids still holds is asked only if somebody comes to life. The
 * file is removed when it was taken. See restore.c for the order of
 * the steps and restore_merge.c for what is kept.
 *
 * Return: 0; -ENOENT (no file); -EPERM (not a file of ours alone); -EBADMSG (no registry, damaged,
 * or with a row that is none); -EPROTO (of a newer program); -ESTALE (another digest); -EEXIST
 * (registry_error() names it: an id or a name in it was given to somebody else here, is somebody
 * else's on this host, or is reserved); or another negative errno: the old state is kept. But
 * -EINPROGRESS: it is stored, *@ret_restored is set, and ledger or index are behind, which the next
 * change makes up for, or the file could not be removed.
 */
int registry_restore(struct registry *reg, const struct restore_how *how,
                     struct registry_restored *ret_restored);

#endif
