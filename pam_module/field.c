/* SPDX-License-Identifier: ISC */
/* field.c - what PAM knows of a login, as fields of a message. */
#include "pam_module/field.h"

#include <string.h>

#include "common/banned.h"

void field_clean(char *dst, size_t size, const char *text)
{
    memset(dst, 0, size);
    for (size_t i = 0; text && text[i] && i + 1 < size; i++)
        dst[i] = text[i] >= 0x20 && text[i] <= 0x7e ? text[i] : '?';
}

void field_item(pam_handle_t *pamh, int item, char *dst, size_t size)
{
    const void *text = NULL;

    if (pam_get_item(pamh, item, &text) != PAM_SUCCESS)
        text = NULL;
    field_clean(dst, size, text);
}
