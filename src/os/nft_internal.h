/* nft_internal.h - what the parts of nft share: pieces of messages */
#ifndef OS_NFT_INTERNAL_H
#define OS_NFT_INTERNAL_H

#include "os/nft.h"

#include <linux/netfilter/nfnetlink.h>

struct nlmsghdr *nft_put_head(void *at, uint16_t type, uint16_t flags, uint8_t family, uint16_t res_id);

void nft_put_value(struct nlmsghdr *m, uint16_t type, const void *value, size_t n);
void nft_put_verdict(struct nlmsghdr *m, uint16_t type, int code, const char *chain);

const char *nft_set_name(const struct nft_set *set); /* or what the kernel makes one of */
struct nlmsghdr *nft_rule_now(struct nft *t);        /* being written, with room for one more expression */

#endif
