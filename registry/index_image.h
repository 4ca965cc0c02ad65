/* SPDX-License-Identifier: ISC */
/* index_image.h - the bytes of the index (common/index_format.h), made from rows. */
#ifndef ATELIER_INDEX_IMAGE_H
#define ATELIER_INDEX_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "registry/index_rows.h"

struct index_image {
    unsigned char *bytes; /* owned */
    size_t size;
};

/**
 * index_image_build() - Make the file's bytes
 * @rows:       Borrowed; forgotten ones are an empty index
 * @generation: Of the database that they are read from
 * @ret_image:  Owned by the caller, index_image_done()
 *
 * The same rows and generation give the same bytes.
 *
 * Return: 0; -EBADMSG if a name is there twice; -E2BIG if so many names have nearly the same hash
 * that a reader would not find one of them; -ENOMEM.
 */
int index_image_build(const struct index_rows *rows, uint64_t generation,
                      struct index_image *ret_image);

void index_image_done(struct index_image *image);
#define cleanup_index_image __attribute__((cleanup(index_image_done)))

#endif
