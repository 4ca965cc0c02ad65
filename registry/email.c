/* SPDX-License-Identifier: ISC */
/* email.c - what the registry takes for an e-mail address or a caller's own key. */
#include "registry/email.h"

#include <errno.h>
#include <string.h>

#include "common/banned.h"

#define LOCAL_MAX  64u  /* RFC 5321 4.5.3.1.1 */
#define DOMAIN_MAX 189u /* 254 - 64 - 1 */
#define LABEL_MAX  63u  /* RFC 1035 2.3.4 */

/* No <ctype.h>: the locale must not decide what a letter is. */
static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool local_is_valid(const char *s, size_t len)
{
    if (len == 0 || len > LOCAL_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_alnum(s[i]) && !strchr(".!#$%&'*+-/=?^_`{|}~", s[i]))
            return false;
    }
    return true;
}

static bool domain_is_valid(const char *s)
{
    size_t len = strlen(s), label = 0;

    if (len == 0 || len > DOMAIN_MAX)
        return false;
    for (size_t i = 0; i <= len; i++) {
        if (s[i] == '.' || s[i] == '\0') {
            if (label == 0 || label > LABEL_MAX)
                return false;
            label = 0;
        } else if (is_alnum(s[i]) || s[i] == '-') {
            label++;
        } else {
            return false;
        }
    }
    return true;
}

int email_normalize(const char *email, char ret_email[EMAIL_SIZE])
{
    const char *at = strchr(email, '@');
    size_t len = strlen(email);

    if (!at || len >= EMAIL_SIZE || !local_is_valid(email, (size_t)(at - email)) ||
        !domain_is_valid(at + 1))
        return -EINVAL;
    memset(ret_email, 0, EMAIL_SIZE);
    for (size_t i = 0; i < len; i++)
        ret_email[i] = email[i] >= 'A' && email[i] <= 'Z' ? (char)(email[i] + 32) : email[i];
    return 0;
}

bool external_id_is_valid(const char *id)
{
    size_t len = strnlen(id, EXTERNAL_ID_SIZE);

    if (len == 0 || len == EXTERNAL_ID_SIZE)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (id[i] < ' ' || id[i] > '~')
            return false;
    }
    return true;
}
