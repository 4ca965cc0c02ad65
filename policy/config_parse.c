/* SPDX-License-Identifier: ISC */
/*
 * config_parse.c - the text of one file of the policy, with libconfuse.
 *
 * libconfuse has the syntax; what a value means is decided here, from its callbacks, while it
 * knows the line. They have no argument of ours: `reading` is what is being read.
 */
#include <confuse.h>
#include <errno.h>
#include <string.h>

#include "common/ids.h"
#include "common/near.h"
#include "policy/config_draft.h"

#include "common/banned.h"

static struct config_drafts *reading;
static const cfg_opt_t *sections; /* of what is being read */

/* --- what is not known --------------------------------------------------------------------- */

#define KNOWN_MAX 48u

static size_t names_of(const cfg_opt_t *opts, const char *ret_names[KNOWN_MAX])
{
    size_t n = 0;

    for (const cfg_opt_t *o = opts; o && o->name && n < KNOWN_MAX; o++)
        ret_names[n++] = o->name;
    return n;
}

static bool has_name(const cfg_opt_t *opts, const char *name)
{
    while (opts && opts->name && strcmp(opts->name, name) != 0)
        opts++;
    return opts && opts->name;
}

/* "a key of run, login": of a profile only what no other section has. "" if none has it. */
static void sections_with(const char *name, char ret_text[NEAR_HINT_SIZE])
{
    const char *where[KNOWN_MAX];
    size_t count = 0, n;

    for (const cfg_opt_t *s = sections; s->name && count < KNOWN_MAX; s++) {
        if (has_name(s->subopts, name) && (count == 0 || strcmp(s->name, "profile") != 0))
            where[count++] = s->name;
    }
    n = (size_t)snprintf(ret_text, NEAR_HINT_SIZE, "%s", count > 0 ? "it is a key of " : "");
    for (size_t i = 0; i < count; i++)
        n +=
            (size_t)snprintf(ret_text + n, NEAR_HINT_SIZE - n, "%s%s", i > 0 ? ", " : "", where[i]);
}
_Static_assert((POLICY_KIND__COUNT + 3) * 10 + 16 < NEAR_HINT_SIZE, "all sections fit");

/* @cfg: where it stands; the file itself is the section "root" of libconfuse */
static void not_known(const cfg_t *cfg, const char *name, char *ret_text, size_t size)
{
    const bool is_top = strcmp(cfg->name, "root") == 0;
    const char *known[KNOWN_MAX];
    char hint[NEAR_HINT_SIZE];

    sections_with(name, hint);
    if (!hint[0])
        (void)near_hint(name, known, names_of(cfg->opts, known), hint);
    (void)snprintf(ret_text, size, "there is no %s '%.40s'; %s", is_top ? "section" : "key", name,
                   hint);
}

/*
 * What libconfuse itself finds, in its words; what is not known in ours.
 * Source: src/confuse.c of libconfuse 3.3, cfg_parse_internal(): the one message with this format.
 */
static void on_error(cfg_t *cfg, const char *format, va_list ap)
{
    struct config_place at = {.file = reading->file_count - 1};
    char text[448], what[512];

    if (cfg && strcmp(format, "no such option '%s'") == 0) {
        va_list copy;

        va_copy(copy, ap);
        not_known(cfg, va_arg(copy, const char *), text, sizeof(text));
        va_end(copy);
    } else {
        (void)vsnprintf(text, sizeof(text), format, ap);
    }
    for (char *c = text; *c; c++) {
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
    if (cfg && strcmp(cfg->name, "root") != 0)
        (void)snprintf(what, sizeof(what), "%s%.40s: %s", cfg->title ? "profile " : "",
                       cfg->title ? cfg->title : cfg->name, text);
    else
        (void)snprintf(what, sizeof(what), "%s", text);
    at.line = cfg && cfg->line > 0 ? (unsigned)cfg->line : 0;
    (void)config_fault(reading, at, "%s", what);
}

static struct config_place place_of(const cfg_t *cfg)
{
    return (struct config_place){.file = reading->file_count - 1, .line = (unsigned)cfg->line};
}

/* --- sections ------------------------------------------------------------------------------ */

static int kind_by_name(const char *name)
{
    for (int kind = 0; kind < POLICY_KIND__COUNT; kind++) {
        if (strcmp(policy_kind_names[kind], name) == 0)
            return kind;
    }
    return -1;
}

/* The draft of this section, made if need be. NULL: the error is said. */
static struct config_draft *draft_of(const cfg_t *sec)
{
    const char *name = sec->title ? sec->title : sec->name;
    struct config_draft *draft;

    if (sec->title && (!name_is_valid(name) || kind_by_name(name) >= 0)) {
        (void)config_fault(reading, place_of(sec), "profile: '%.40s' is no name for a profile",
                           name);
        return NULL;
    }
    for (uint32_t i = 0; i < reading->count; i++) {
        if (strcmp(reading->drafts[i].name, name) == 0)
            return &reading->drafts[i];
    }
    if (reading->count == POLICY_PROFILES_MAX) {
        (void)config_fault(reading, place_of(sec), "profile %s: more than %u profiles", name,
                           POLICY_PROFILES_MAX - POLICY_KIND__COUNT);
        return NULL;
    }
    draft = &reading->drafts[reading->count++];
    (void)str_copy(draft->name, sizeof(draft->name), name);
    draft->made = place_of(sec);
    return draft;
}

/* "profile big: memory", "run: memory". */
static int value_fault(const cfg_t *sec, const cfg_opt_t *opt, const char *what)
{
    return config_fault(reading, place_of(sec), "%s%s: %s: %s", sec->title ? "profile " : "",
                        sec->title ? sec->title : sec->name, opt->name, what);
}

/* The value that was added last. NULL cannot be. */
static const char *last_value(cfg_opt_t *opt)
{
    return opt->nvalues > 0 ? cfg_opt_getnstr(opt, opt->nvalues - 1) : NULL;
}

static int on_value(cfg_t *sec, cfg_opt_t *opt)
{
    struct config_draft *draft = draft_of(sec);
    const char *text = last_value(opt);
    char fault[128];

    for (unsigned key = 0; draft && text && key < POLICY_KEY__COUNT; key++) {
        if (strcmp(policy_keys[key].name, opt->name) != 0)
            continue;
        if (policy_value_parse((enum policy_key)key, text, &draft->said.values[key], fault) < 0)
            return value_fault(sec, opt, fault);
        draft->at[key] = place_of(sec);
        return 0;
    }
    return draft ? value_fault(sec, opt, "there is no value") : -1;
}

static int on_base(cfg_t *sec, cfg_opt_t *opt)
{
    struct config_draft *draft = draft_of(sec);
    const char *text = last_value(opt);

    if (!draft)
        return -1;
    if (!text || !name_is_valid(text))
        return value_fault(sec, opt, "this is no name of a profile");
    (void)str_copy(draft->base, sizeof(draft->base), text);
    draft->base_at = place_of(sec);
    return 0;
}

static int on_required(cfg_t *sec, cfg_opt_t *opt)
{
    struct config_draft *draft = draft_of(sec);
    const char *text = last_value(opt);
    char what[128], all[POLICY_LIMITS_SIZE];

    if (!draft)
        return -1;
    if (opt->nvalues == 1)
        draft->said.required = 0;
    for (unsigned i = 0; text && i < WIRE_LIMIT__COUNT; i++) {
        if (strcmp(policy_limit_names[i], text) != 0)
            continue;
        draft->said.required |= 1u << i;
        draft->required_at = place_of(sec);
        return 0;
    }
    policy_limits_text(WIRE_LIMIT_ALL, all);
    (void)snprintf(what, sizeof(what), "'%.40s' is none of %s", text ? text : "", all);
    return value_fault(sec, opt, what);
}

static int on_tree(cfg_t *sec, cfg_opt_t *opt)
{
    struct config_draft *draft = draft_of(sec);
    const char *text = last_value(opt), *fault;

    if (!draft)
        return -1;
    if (opt->nvalues > POLICY_TREES_MAX)
        return value_fault(sec, opt, "more than 8 directories");
    fault = text ? policy_tree_fault(text) : "there is no value";
    if (fault) {
        char what[256];

        (void)snprintf(what, sizeof(what), "%.100s: %s", text ? text : "", fault);
        return value_fault(sec, opt, what);
    }
    draft->said.tree_count = opt->nvalues;
    (void)str_copy(draft->said.trees[opt->nvalues - 1], POLICY_TREE_SIZE, text);
    draft->trees_at = place_of(sec);
    return 0;
}
_Static_assert(POLICY_TREES_MAX == 8, "the text above says so");

config_skill_fn *config_skill_pin;

static int skill_fault(const cfg_t *sec, const cfg_opt_t *opt, const char *text, const char *what)
{
    char sentence[256];

    (void)snprintf(sentence, sizeof(sentence), "%.120s: %s", text, what);
    return value_fault(sec, opt, sentence);
}

static int on_skill(cfg_t *sec, cfg_opt_t *opt)
{
    struct config_draft *draft = draft_of(sec);
    const char *text = last_value(opt);
    char *place;
    int r = 0;

    if (!draft)
        return -1;
    if (opt->nvalues > POLICY_SKILLS_MAX)
        return value_fault(sec, opt, "more than 8 skills");
    if (!text || !skill_is_valid(text))
        return skill_fault(sec, opt, text ? text : "", "this is not NAME or NAME@HASH");
    place = draft->said.skills[opt->nvalues - 1];
    if (config_skill_pin)
        r = config_skill_pin(text, place);
    else
        (void)str_copy(place, SKILL_SIZE, text);
    if (r < 0)
        return skill_fault(sec, opt, text,
                           r == -ENOENT ? "there is no such skill" : strerrordesc_np(-r));
    draft->said.skill_count = opt->nvalues;
    draft->skills_at = place_of(sec);
    return 0;
}
_Static_assert(POLICY_SKILLS_MAX == 8, "the text above says so");

static int on_id(cfg_t *sec, cfg_opt_t *opt)
{
    struct config_draft *draft = draft_of(sec);
    const char *text = last_value(opt);
    uint32_t *ids, *count, id;

    if (!draft)
        return -1;
    ids = opt->name[0] == 'u' ? draft->said.uids : draft->said.gids;
    count = opt->name[0] == 'u' ? &draft->said.uid_count : &draft->said.gid_count;
    if (opt->nvalues > POLICY_IDS_MAX)
        return value_fault(sec, opt, "more than 64 numbers");
    if (!text || str_to_u32(text, UINT32_MAX, &id) < 0)
        return value_fault(sec, opt, "this is no number; names are not looked up");
    if (!id_is_allocatable(id))
        return value_fault(sec, opt, "no participant can have this number");
    ids[opt->nvalues - 1] = id;
    *count = opt->nvalues;
    *(opt->name[0] == 'u' ? &draft->uids_at : &draft->gids_at) = place_of(sec);
    return 0;
}
_Static_assert(POLICY_IDS_MAX == 64, "the text above says so");

static int on_disk(cfg_t *sec, cfg_opt_t *opt)
{
    const char *text = last_value(opt);

    return config_disk_take(reading, place_of(sec), opt->name, text ? text : "");
}

/* A section is over. An empty list calls nobody above, and takes away what was said before. */
static int on_section(cfg_t *cfg, cfg_opt_t *opt)
{
    cfg_t *sec = opt->nvalues > 0 ? cfg_opt_getnsec(opt, opt->nvalues - 1) : NULL;
    struct config_draft *draft = sec ? draft_of(sec) : NULL;

    (void)cfg;
    if (!draft)
        return -1;
    for (cfg_opt_t *o = sec->opts; o->name; o++) {
        if ((o->flags & CFGF_LIST) == 0 || (o->flags & CFGF_MODIFIED) == 0 || o->nvalues > 0)
            continue;
        if (strcmp(o->name, "trees") == 0) {
            draft->said.tree_count = 0;
            draft->trees_at = place_of(sec);
        } else if (strcmp(o->name, "skills") == 0) {
            draft->said.skill_count = 0;
            draft->skills_at = place_of(sec);
        } else if (strcmp(o->name, "required") == 0) {
            draft->said.required = 0;
            draft->required_at = place_of(sec);
        } else if (strcmp(o->name, "uids") == 0) {
            draft->said.uid_count = 0;
        } else {
            draft->said.gid_count = 0;
        }
    }
    return 0;
}

/* --- section network ----------------------------------------------------------------------- */

/* The key of this option, or POLICY_NET_KEY__COUNT. */
static enum policy_net_key net_key_of(const cfg_opt_t *opt)
{
    unsigned key = 0;

    while (key < POLICY_NET_KEY__COUNT && strcmp(policy_net_keys[key].name, opt->name) != 0)
        key++;
    return (enum policy_net_key)key;
}

static int on_net_value(cfg_t *sec, cfg_opt_t *opt)
{
    enum policy_net_key key = net_key_of(opt);

    if (key == POLICY_NET_KEY__COUNT)
        return -1;
    return config_net_value(reading, key, opt->nvalues > 0 ? opt->nvalues - 1 : 0, last_value(opt),
                            place_of(sec));
}

static int on_net_section(cfg_t *cfg, cfg_opt_t *opt)
{
    cfg_t *sec = opt->nvalues > 0 ? cfg_opt_getnsec(opt, opt->nvalues - 1) : NULL;

    (void)cfg;
    if (!sec)
        return -1;
    for (cfg_opt_t *o = sec->opts; o->name; o++) {
        if ((o->flags & CFGF_LIST) != 0 && (o->flags & CFGF_MODIFIED) != 0 && o->nvalues == 0)
            config_net_clear(reading, net_key_of(o), place_of(sec));
    }
    return 0;
}

static void net_options_fill(cfg_opt_t opts[POLICY_NET_KEY__COUNT + 1])
{
    const cfg_opt_t end = CFG_END();

    for (unsigned key = 0; key < POLICY_NET_KEY__COUNT; key++) {
        const struct policy_net_key_info *k = &policy_net_keys[key];
        const cfg_opt_t one = CFG_STR(k->name, NULL, CFGF_NODEFAULT),
                        list = CFG_STR_LIST(k->name, NULL, CFGF_NODEFAULT);
        bool is_list = k->type == POLICY_NET_NETWORKS || k->type == POLICY_NET_DESTINATIONS;

        opts[key] = is_list ? list : one;
        opts[key].validcb = on_net_value;
    }
    opts[POLICY_NET_KEY__COUNT] = end;
}

/* --- one file ------------------------------------------------------------------------------ */

/* The options of a section, from the table. Names are borrowed by libconfuse. */
static void options_fill(cfg_opt_t *opts, unsigned kinds, bool is_named)
{
    const cfg_opt_t base = CFG_STR("base", NULL, CFGF_NODEFAULT), end = CFG_END(),
                    trees = CFG_STR_LIST("trees", NULL, CFGF_NODEFAULT),
                    required = CFG_STR_LIST("required", NULL, CFGF_NODEFAULT),
                    skills = CFG_STR_LIST("skills", NULL, CFGF_NODEFAULT),
                    uids = CFG_STR_LIST("uids", NULL, CFGF_NODEFAULT),
                    gids = CFG_STR_LIST("gids", NULL, CFGF_NODEFAULT);
    size_t n = 0;

    for (unsigned key = 0; key < POLICY_KEY__COUNT; key++) {
        if ((policy_keys[key].kinds & kinds) != 0) {
            const cfg_opt_t o = CFG_STR(policy_keys[key].name, NULL, CFGF_NODEFAULT);

            opts[n] = o;
            opts[n++].validcb = on_value;
        }
    }
    opts[n] = required;
    opts[n++].validcb = on_required;
    if ((kinds & (POLICY_OF_RUN | POLICY_OF_LOGIN)) != 0) {
        opts[n] = trees;
        opts[n++].validcb = on_tree;
        opts[n] = skills;
        opts[n++].validcb = on_skill;
    }
    if (is_named) {
        opts[n] = base;
        opts[n++].validcb = on_base;
        opts[n] = uids;
        opts[n++].validcb = on_id;
        opts[n] = gids;
        opts[n++].validcb = on_id;
    }
    opts[n] = end;
}

#define OPTIONS_MAX (POLICY_KEY__COUNT + 7)

int config_parse(struct config_drafts *d, const char *text, size_t size)
{
    cfg_opt_t of[POLICY_KIND__COUNT][OPTIONS_MAX], named[OPTIONS_MAX];
    cfg_opt_t net[POLICY_NET_KEY__COUNT + 1], top[POLICY_KIND__COUNT + 4];
    cfg_opt_t disk[] = {CFG_STR("backend", NULL, CFGF_NODEFAULT),
                        CFG_STR("required", NULL, CFGF_NODEFAULT),
                        CFG_STR("idle", NULL, CFGF_NODEFAULT), CFG_END()};
    /* A second one of the same title would take the first's place in libconfuse, not its end. */
    const cfg_opt_t profile =
                        CFG_SEC("profile", named, CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
                    network = CFG_SEC("network", net, CFGF_NONE),
                    disk_section = CFG_SEC("disk", disk, CFGF_NONE), end = CFG_END();
    FILE *file;
    cfg_t *cfg;
    int r = 0;

    reading = d;
    sections = top;
    for (unsigned kind = 0; kind < POLICY_KIND__COUNT; kind++) {
        const cfg_opt_t sec = CFG_SEC(policy_kind_names[kind], of[kind], CFGF_NONE);

        options_fill(of[kind], 1u << kind, false);
        top[kind] = sec;
        top[kind].validcb = on_section;
    }
    options_fill(named, POLICY_OF_RUN | POLICY_OF_LOGIN | POLICY_OF_USER, true);
    top[POLICY_KIND__COUNT] = profile;
    top[POLICY_KIND__COUNT].validcb = on_section;
    net_options_fill(net);
    top[POLICY_KIND__COUNT + 1] = network;
    top[POLICY_KIND__COUNT + 1].validcb = on_net_section;
    for (size_t i = 0; disk[i].name; i++)
        disk[i].validcb = on_disk;
    top[POLICY_KIND__COUNT + 2] = disk_section;
    top[POLICY_KIND__COUNT + 3] = end;
    if (size == 0)
        return 0;
    /* Only read from; fmemopen(3) wants it without const. */
    file = fmemopen((void *)(uintptr_t)text, size, "r");
    cfg = file ? cfg_init(top, CFGF_NONE) : NULL;
    if (!cfg) {
        if (file)
            (void)fclose(file);
        return -ENOMEM;
    }
    (void)cfg_set_error_function(cfg, on_error);
    if (cfg_parse_fp(cfg, file) != CFG_SUCCESS)
        r = config_fault(reading, place_of(cfg), "this is not the syntax of a configuration");
    cfg_free(cfg);
    (void)fclose(file);
    return r;
}
