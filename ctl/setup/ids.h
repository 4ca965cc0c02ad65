/* SPDX-License-Identifier: ISC */
/* ids.h - who else has an id or a name that is to be a participant's. Looks only. */
#ifndef ATELIER_CTL_SETUP_IDS_H
#define ATELIER_CTL_SETUP_IDS_H

/* Gets a sentence for each. Texts are borrowed. */
struct ids_sink {
    void (*found)(void *arg, const char *text);  /* somebody has one */
    void (*unseen)(void *arg, const char *text); /* it could not be looked at */
    void *arg;
};

/* Accounts and groups of the host's files. */
void ids_files_look(const struct ids_sink *sink);

/* Those that other sources of nsswitch.conf list. */
void ids_sources_look(const struct ids_sink *sink);

/* Ranges of sub-ids. */
void ids_sub_look(const struct ids_sink *sink);

/* Accounts of our names that are of another kind than ours. */
void ids_names_look(const struct ids_sink *sink);

#endif
