/* nft.h - nftables, spoken to the kernel by netlink: one table is written as a batch and sent as one transaction
 *
 *     nft_init(&t, NFPROTO_INET, "pumice_0123ab");
 *     nft_table_replace(&t);
 *     nft_chain(&t, "forward", &(struct nft_hook){ "filter", NF_INET_FORWARD, 0 }, NULL);
 *     nft_rule(&t, "forward");
 *     nft_load(&t, 0, NFT_DPORT);
 *     nft_match(&t, 0, NFT_CMP_EQ, &port, sizeof(port));
 *     nft_verdict(&t, NF_ACCEPT, NULL);
 *     nft_batch(&t, &bytes);
 *     if (nft_send(buf_view(&bytes), ns_fd, e) < 0) …
 *
 * Chains, sets and rules may be written in any order among each other: in the batch the table comes first, then all
 * chains, then all sets with their elements, then the rules, so that what is named is there. All of a batch comes into
 * force at one moment or nothing does. No program is run: `nft list ruleset` shows what the kernel has, to people.
 *
 * The same calls give the same bytes. Names and comments are ours or made harmless by the caller.
 */
#ifndef OS_NFT_H
#define OS_NFT_H

#include "base/buf.h"
#include "base/err.h"
#include "os/netlink.h"

#include <netinet/in.h> /* before linux/netfilter.h, which has its own of the same names */

#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NFT_COMMENT_MAX = 128 }; /* with its NUL; longer ones are cut */

/* ---- a batch ---- */

enum nft_part { NFT_PART_TABLE, NFT_PART_CHAINS, NFT_PART_SETS, NFT_PART_RULES, NFT_PART_MAX };

struct nft_messages { /* whole ones, and one being written behind them */
    struct buf bytes;
    struct nlmsghdr *now; /* NULL: none */
    struct nlattr *list;  /* of its expressions or elements; NULL: it has none */
};

struct nft {
    uint8_t family; /* NFPROTO_… */
    const char *table;
    struct nft_messages parts[NFT_PART_MAX];
    uint32_t n_sets; /* how many there are */
    uint32_t filled; /* the one that the elements being written are of */
};

void nft_init(struct nft *t, uint8_t family, const char *table); /* 'table' is not copied */
void nft_done(struct nft *t);
#define autonft __attribute__((cleanup(nft_done))) struct nft

void nft_table(struct nft *t, const char *comment); /* NULL: none. One that is there stays, with what is in it */
void nft_table_delete(struct nft *t);
void nft_table_replace(
    struct nft *t); /* whatever was in it goes when the new comes, but for a moment: see filter_run.c */

struct nft_hook {
    const char *type; /* "filter", "nat" */
    enum nf_inet_hooks hook;
    int priority;
    bool drops; /* packets that reach its end */
};

/* 'hook' NULL: it is called by others only. */
void nft_chain(struct nft *t, const char *name, const struct nft_hook *hook, const char *comment);

/* ---- sets and maps ---- */

/* What keys and data are, for those who list them; several together by NFT_TYPES_… */
enum nft_type {
    NFT_TYPE_INTEGER = 4, /* in the machine's byte order */
    NFT_TYPE_ADDRESS = 7,
    NFT_TYPE_PROTOCOL = 12,
    NFT_TYPE_PORT = 13,
};
#define NFT_TYPES_2(a, b)    ((uint32_t)(a) << 6 | (uint32_t)(b))
#define NFT_TYPES_3(a, b, c) (NFT_TYPES_2(a, b) << 6 | (uint32_t)(c))

struct nft_set {
    const char *name; /* not copied; NULL: it belongs to one rule and has no name */
    uint32_t number;  /* given by nft_set() */
    uint32_t key_type, data_type;
    uint32_t key_bytes, data_bytes; /* each part of a key fills four bytes, unless it is the only one */
    bool has_ranges;                /* of keys; they are numbers, most significant byte first */
    bool has_data;                  /* a map to values */
    bool has_verdicts;              /* a map to chains */
};

void nft_set(struct nft *t, struct nft_set *set);

void nft_element(struct nft *t, const struct nft_set *set, const void *key, const void *data); /* data NULL: none */
void nft_element_goto(struct nft *t, const struct nft_set *set, const void *key, const char *chain);
/* The numbers between, both ends included; not those of another range. */
void nft_element_range(struct nft *t, const struct nft_set *set, uint32_t low, uint32_t high);

/* ---- rules ----
 *
 * The expressions after nft_rule() are evaluated in order; the first match that fails ends the rule. There are sixteen
 * registers of four bytes. A value loaded at one may fill the next ones too; a key of several parts lies in neighbours.
 */
void nft_rule(struct nft *t, const char *chain);

/* Of a packet */
enum nft_field {
    NFT_SADDR, /* IPv4: see nft_match_ipv4() */
    NFT_DADDR,
    NFT_DPORT, /* TCP, UDP, SCTP */
    NFT_FIELD_MAX
};

void nft_load(struct nft *t, unsigned at, enum nft_field field);
void nft_load_meta(struct nft *t, unsigned at, enum nft_meta_keys key); /* numbers in the machine's byte order */
void nft_load_ct_state(struct nft *t, unsigned at);
void nft_load_random(struct nft *t, unsigned at, uint32_t below);
void nft_load_hash(struct nft *t, unsigned from, uint32_t n, unsigned at, uint32_t below); /* of 'n' bytes */
void nft_load_value(struct nft *t, unsigned at, const void *value, size_t n);
void nft_mask(struct nft *t, unsigned at, uint32_t bits); /* four bytes */

void nft_match(struct nft *t, unsigned at, enum nft_cmp_ops op, const void *value, size_t n);
void nft_match_set(struct nft *t, unsigned at, const struct nft_set *set);
void nft_match_ipv4(struct nft *t); /* in a table for both families: before fields of one */
void nft_match_protocol(struct nft *t, uint8_t protocol);
void nft_match_link(struct nft *t, enum nft_meta_keys key, const char *name); /* NFT_META_IIFNAME, …_OIFNAME */

/* What the map has for the key: into 'to', or done at once. */
void nft_map(struct nft *t, unsigned at, const struct nft_set *map, unsigned to);
void nft_map_verdict(struct nft *t, unsigned at, const struct nft_set *map);

void nft_verdict(struct nft *t, int code, const char *chain); /* NF_ACCEPT; NFT_JUMP, NFT_GOTO with a chain */
void nft_masquerade(struct nft *t);
enum { NFT_NO_PORT = -1 };
void nft_nat(struct nft *t, enum nft_nat_types type, unsigned address_at, int port_at); /* IPv4 */
void nft_reject(struct nft *t, enum nft_reject_types type, uint8_t code);

/* ---- the kernel ---- 'ns_fd' is a network namespace, -1: the thread's own ---- */

/* The batch as bytes, complete. */
void nft_batch(struct nft *t, struct buf *out);

/* The same for another table, whose name is as long. */
void nft_for_table(struct str batch, const char *table, struct buf *out);

/* Bring it into force. Fails with what was refused and why ("nf_tables: rule in chain x (numgen): No such file") and
 * has changed nothing then. ERR_NOT_FOUND: the table to delete, or nf_tables itself, does not exist. Takes some 15 ms,
 * for the kernel waits until no packet sees the old rules. */
int nft_send(struct str batch, int ns_fd, struct err *e);

/* Does this kernel have nf_tables, and may we use it in a network namespace of our own? */
int nft_check(struct err *e);

/* Every object of a kind: NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN …, of all families; as nl_dump(). */
int nft_dump(int ns_fd, uint16_t type, nl_message_f on_message, void *ctx, struct err *e);

#endif
