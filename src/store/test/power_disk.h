/* power_disk.h - a disk in memory below SQLite, whose power can be cut
 *
 * What is written is read back at once, but it is on the disk only when it was synced. When the power is cut each
 * sector that was not synced is there or not, or there in part; so is the length of each file, and a file that was made
 * or deleted may not or still be there. Every call of a process that lost its power fails. One process at a time.
 */
#ifndef STORE_TEST_POWER_DISK_H
#define STORE_TEST_POWER_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct power_disk;

struct power_disk *power_disk_new(uint64_t seed);
void power_disk_free(struct power_disk *d); /* nobody has a file of it open */
const char *power_disk_vfs(const struct power_disk *d);

/* Cut the power in the middle of the n-th write, truncate, sync or delete from now; 0: never. */
void power_disk_cut_after(struct power_disk *d, uint64_t n);
bool power_disk_is_cut(const struct power_disk *d);
void power_disk_boot(struct power_disk *d); /* power again, cut before or not: only what survived is there */

/* Let the n-th call of a kind from now, and all later ones, fail with SQLite's 'rc'; 0: heal. */
enum power_call { POWER_WRITE, POWER_SYNC, POWER_READ, POWER_CALL_MAX };
void power_disk_fail(struct power_disk *d, enum power_call call, uint64_t n, int rc);

/* Turn around a bit of the file whose name ends so. False: it has no such byte. */
bool power_disk_flip(struct power_disk *d, const char *ending, size_t at);
size_t power_disk_size(const struct power_disk *d, const char *ending);

#endif
