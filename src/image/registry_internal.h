/* registry_internal.h - what the files of the registry's client share
 *
 * place.c      the servers to ask, with their names for logins and certificates
 * fetch.c      one GET: sent, redirected, answered
 * token.c      tokens, when a registry requires them
 * helper.c     credential helpers
 * registry.c   manifests
 * blobs.c      blobs: several at a time, resumed when interrupted
 */
#ifndef IMAGE_REGISTRY_INTERNAL_H
#define IMAGE_REGISTRY_INTERNAL_H

#include "http/client.h"
#include "image/challenge.h"
#include "image/registry.h"

struct registry;

enum { ORIGINS = 16, REDIRECTS = 5, STALL_MS = 30000, PAUSE_MAX_MS = 30000 };

/* ---- place.c ---- */

struct registry_place { /* a server that may have the image */
    struct str host;    /* "registry-1.docker.io", "localhost:5000" */
    struct str prefix;  /* of its paths: "" or "/team" */
    struct str known;   /* the name that logins and certificates are looked up by: "docker.io" */
    bool is_plain;      /* http */
    bool may_be_plain;  /* … once https was tried */
    bool is_insecure;   /* any certificate will do */
    struct login login;
    struct err helper_err; /* why its credential helper did not tell */
};

bool host_is_loopback(struct str host); /* "localhost:5000", "127.0.0.1", "[::1]:80" */
/* Fill in the places of the registry: its mirrors, then itself, with their logins. */
int registry_find_places(struct registry *r, struct err *e);
/* How to know 'host': certs.d. */
void place_tls(struct arena *a, struct str host, struct http_tls *ret);

/* ---- fetch.c ---- */

struct origin {     /* a server that was talked to: of a place, of tokens, or where a redirect led */
    struct str url; /* "https://host:port" */
    struct http_client *client;
};

struct registry {
    struct arena arena;
    const struct registry_options *options;
    const struct reference *reference;
    struct registry_place *places, *place; /* 'place': the one that is asked now */
    size_t n_places, next;
    struct origin origins[ORIGINS];
    size_t n_origins;
    struct str authorization; /* "Authorization: …" for the place; empty: none */
    bool is_unreached;
};

struct fetch {
    /* ---- what is asked ---- */
    struct registry *registry;
    struct str url;           /* whole */
    const char *accept;       /* a constant */
    struct str authorization; /* sent to 'url', and not where a redirect leads; empty: none */
    const char *method;       /* NULL: GET */
    struct str body;
    size_t max_bytes; /* of an answer that is collected */
    int64_t total_ms; /* 0: no limit */
    int64_t from;     /* Range: from this byte on; 0: all */
    void *ctx;
    /* An answer of 200 or 206 begins, goes on. false: enough, and 'err' was set. NULL: it is collected. */
    bool (*on_head)(void *ctx, struct fetch *f, const struct http_answer *a);
    bool (*on_data)(void *ctx, struct fetch *f, struct str data);

    /* ---- what came ---- */
    bool is_over;
    int status; /* 0: 'err' says why there is none */
    struct err err;
    enum http_reached reached;
    struct buf text;
    struct buf challenge, digest; /* WWW-Authenticate, Docker-Content-Digest */
    int64_t retry_after_s;        /* 0: not said */

    /* ---- its own ---- */
    struct http_exchange *exchange;
    struct http_client *client;
    unsigned redirects;
    struct buf location;
};

void fetch_begin(struct fetch *f); /* returns at once: 'is_over' may be set already */
void fetch_done(struct fetch *f);  /* cancels it */
/* Let all fetches go on, for 'wait_ms' at most. */
void registry_turn(struct registry *r, int wait_ms);
void fetch_run(struct fetch *f); /* to its end */
/* How long to wait before it is sent again: 'own_ms', or longer if the registry says so; -1: longer than anybody waits. */
int64_t fetch_pause_ms(const struct fetch *f, int64_t own_ms);
int64_t registry_stall_ms(const struct registry *r); /* nothing comes for so long: it is stuck */

/* "https://host:port" of a URL, and the rest. -1: it is none of ours. */
int url_split(struct str url, struct str *ret_origin, struct str *ret_path);

/* ---- token.c ---- */

/* Answer a 401: sets registry.authorization. -1 and no error ('e' as it was): there is nothing to answer with. */
int token_get(struct registry *r, struct str challenge, struct err *e);

/* ---- helper.c ---- */

/* Get the login for the registry 'known' from l->helper: sets user and password, or identity. */
int helper_ask(struct arena *a, struct str known, struct login *l, struct err *e);

/* ---- registry.c ---- */

struct str place_url(struct registry *r, struct arena *a, const char *kind, struct str name);
/* What an answer of this status means. 'what': "the image", "a layer". */
int status_error(struct registry *r, const struct fetch *f, const char *what, struct err *e);

#endif
