/* md5.h -- the MD5 digest of bytes in memory, for checking the payloads of a log against what was written of
 * them. No protection against forgery. Knows nothing about logs.
 *
 *     uint8_t digest[GP_MD5_BYTES];
 *     gp_md5(GP_TEXT("abc"), digest);                        // 90 01 50 98 ...
 */
#ifndef GP_FORMATS_MD5_H
#define GP_FORMATS_MD5_H

#include <stddef.h>
#include <stdint.h>

enum { GP_MD5_BYTES = 16 };

void gp_md5(const void *data, size_t n, uint8_t digest[GP_MD5_BYTES]);

#endif
