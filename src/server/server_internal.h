/* server_internal.h - what the files of server.h share
 *
 * server.c      open, turn, close; one request from its first line to its answer
 * path.c        what a URL is about                              pure
 * accept.c      what the client can read                         pure
 * access.c      who asks, may they, and what they may write; access_pods.c: as whom their pods run;
 *               access_makers.c: whose work Jobs of flows are, and which pods a user may enter
 * body.c what the client sent: JSON, YAML or protobuf, unknown fields owner.c server-side apply, and who owns which
 * field view.c the same object in another form: events.k8s.io, versions of custom kinds custom.c kinds of users:
 * CustomResourceDefinitions; scale.c: their subresource scale status.c Status objects: what went wrong reply.c objects
 * as the client wants them gzip.c large answers compressed discovery.c /api, /apis: which kinds there are, in both
 * forms openapi.c /openapi/v3: schemas; openapi_v2.c: the same for older clients health.c /healthz, /version, /metrics,
 * / page.c /ui: the page for people get.c get one list.c list many: selectors, pages items.c long lists, sent as they
 * are taken create.c create; update.c: update and patch; delete.c: delete and deletecollection admission.c defaults and
 * rules by kind; admission_*.c: those of one kind watch.c changes as they come table.c tables for people; columns.c: of
 * which kind which columns; columns_pod.c, columns_other.c: of some pod.c subresources of pods: log, exec, attach,
 * portforward, binding, eviction proxy_target.c the subresource proxy of pods, Services and nodes: whom a name means
 * review.c questions: SelfSubjectAccessReview, …; tokens of ServiceAccounts, and how others check them usage.c what
 * containers and the node use: metrics.k8s.io amounts.c quantities as Kubernetes writes them held.c objects that are
 * walked while they are written control.c the control loop: observe, plan, apply, with the planners of
 * controller/control_plane.h namespace.c what each namespace has, and how it ends endpoints.c who is behind Services;
 * api_service.c: behind that of this server quota.c what a namespace may have; limits.c: how much each pod, container
 * and claim in it budget.c how many pods may be evicted; orphans.c: pods of deleted nodes; taints.c: pods that
 * NoExecute taints evict
 */
#ifndef SERVER_SERVER_INTERNAL_H
#define SERVER_SERVER_INTERNAL_H

#include "admission/admission.h"
#include "api/admit/admit.h"
#include "api/meta.h"
#include "api/selector.h"
#include "api/pod/status.h"
#include "auth/auth.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/map.h"
#include "base/util.h"
#include "base/vec.h"
#include "controller/control_plane.h"
#include "json/problem.h"
#include "server/server.h"
#include "store/store.h"

/* ---- path.c ---- */

enum verb {
    VERB_GET,
    VERB_LIST,
    VERB_WATCH,
    VERB_CREATE,
    VERB_UPDATE,
    VERB_PATCH,
    VERB_DELETE,
    VERB_DELETE_COLLECTION,
    VERB_NONE, /* the method is none that there is */
    VERB_MAX = VERB_NONE,
};
extern const char *const verb_names[];

struct server_target { /* of a URL */
    struct str group, version;
    struct str resource; /* empty: the group version itself, or nothing of the kind */
    struct str namespace, name, subresource;
    struct str rest; /* behind the subresource proxy, as it came: "/a/b%20c"; a part of the path */
    bool is_api;     /* below /api or /apis at all */
    bool is_watch;   /* by the old prefix */
};

/* -1: the path has an escape that is none, or an empty part inside. */
int path_parse(struct arena *a, struct str path, struct server_target *ret);
enum verb verb_of(struct str method, const struct server_target *t, bool is_watch);

/* ---- accept.c ---- */

enum accept_form {
    ACCEPT_OBJECT, /* as it is */
    ACCEPT_TABLE,
    ACCEPT_PARTIAL, /* PartialObjectMetadata, alone or in a list */
    ACCEPT_DISCOVERY,
};
enum accept_media { MEDIA_JSON, MEDIA_YAML, MEDIA_PROTOBUF };

struct accept {
    enum accept_form form;
    enum accept_media media;
    struct str version; /* "v1" of meta.k8s.io, "v2" of apidiscovery.k8s.io */
};

enum {
    ACCEPT_ALLOWS_DISCOVERY = 1, /* it is for /api or /apis */
    ACCEPT_ALLOWS_PROTOBUF = 2,  /* the kind has such a form */
    ACCEPT_ALLOWS_TABLE = 4      /* there are objects with metadata: reviews have none */
};

/* The first of the client's list that can be had. -1: none can. */
int accept_parse(struct str header, unsigned allows, struct accept *ret);

/* ---- the request ---- */

enum reason {
    REASON_BAD_REQUEST,
    REASON_UNAUTHORIZED,
    REASON_FORBIDDEN,
    REASON_NOT_FOUND,
    REASON_METHOD,
    REASON_NOT_ACCEPTABLE,
    REASON_EXISTS,
    REASON_CONFLICT,
    REASON_EXPIRED,
    REASON_TOO_LARGE,
    REASON_MEDIA,
    REASON_INVALID,
    REASON_TOO_MANY,
    REASON_INTERNAL,
    REASON_UNAVAILABLE,
    REASON_TIMEOUT,
    REASON_MAX,
};

struct cause {
    const char *reason; /* "FieldValueInvalid" */
    struct str message, field;
};

struct server_failure {
    enum reason reason;
    struct str message;
    struct str kind, name; /* other than those of the request; empty: those */
    VEC(struct cause) causes;
    struct str continue_; /* REASON_EXPIRED: how to go on all the same */
    int64_t retry_s;      /* 0: nothing is said about it */
    bool has_no_details;
};

enum validation { VALIDATE_WARN, VALIDATE_STRICT, VALIDATE_IGNORE };

struct server_request {
    struct server *server;
    struct arena *arena; /* until it is answered */
    struct http_call *call;
    struct server_target target;
    const struct resource_type *type; /* of what is stored; NULL: not about a resource */
    const struct resource_type *view; /* the client knows it as this; NULL: as it is */
    enum verb verb;
    struct auth_caller caller;
    struct rbac_question question; /* what it asks for */
    bool is_known;                 /* 'caller' is set, and auth_call_end() is due */
    bool lasts;                    /* a watch, a stream */
    bool is_held;                  /* it ends with what its caller is known by (auth_hold) */
    int status;                    /* of the answer; 0: it has none yet */
    const struct json *sent;       /* for the audit log; NULL: not wanted there, or nothing was sent */
    struct accept accept;
    bool is_pretty, is_dry;
    enum validation validation;
    VEC(struct str) warnings;
    VEC(struct str) odd_fields; /* of the body: "duplicate field \"a\"", … */
    const struct json *shaped;  /* every value of this object is of the type of its field */
    bool is_clean;              /* schema_check() had nothing at all to say of the body: rules need not ask it again */
    struct server_failure failure;
    bool is_answered;
    bool is_applied; /* its managedFields are as they should be */
};

/* The kind as the client knows it: its schema, columns and subresources are those of the version he asked for. */
static inline const struct resource_type *shown_as(const struct server_request *rq)
{
    return rq->view && rq->view->custom ? rq->view : rq->type;
}

/* A custom resource, here or on a Kubernetes cluster. */
static inline bool is_custom(const struct resource_type *t)
{
    return t->custom || str_ends(str_of(t->group), STR(".volcano.sh"));
}

bool param(const struct server_request *rq, const char *name,
           struct str *ret);       /* decoded, in the arena; false: not there */
bool flag_is_set(struct str text); /* of a parameter that is there: all but "0" and "false", in whatever letters */
bool param_flag(const struct server_request *rq, const char *name);
int param_number(struct server_request *rq, const char *name, int64_t fallback, int64_t *ret); /* -1: 400 */

/* ---- status.c ---- these return -1: the request ends with this ---- */

int fail_with(struct server_request *rq, enum reason reason, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int fail_err(struct server_request *rq, const struct err *e);
int fail_not_found(struct server_request *rq, const struct resource_type *type, struct str name);
int fail_problems(struct server_request *rq, struct problems *ps);
int fail_field(struct server_request *rq, const char *reason, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5))); /* 422 with one cause; more of them may follow */
void fail_cause(struct server_request *rq, const char *reason, struct str field, struct str message);

struct json *status_of(struct server_request *rq); /* of rq->failure */
int status_code(const struct server_request *rq);
struct json *status_success(struct server_request *rq, int code);

/* ---- reply.c ---- */

void reply_json(struct server_request *rq, int code, const struct json *j); /* as it is, in JSON or YAML */
/* "application/json" and so on; of objects that are of this kind. */
const char *media_name(enum accept_media media);
void reply_text(struct server_request *rq, int code, const char *type, struct str body, const char *const *headers);
/* With an ETag: clients ask again and again for what seldom changes. */
void reply_tagged(struct server_request *rq, const char *type, struct str body);
void reply_object(struct server_request *rq, int code, const struct json *root); /* as the client wants it */
void reply_stored(struct server_request *rq, int code, const struct object *o);
void reply_failure(struct server_request *rq);
void warn(struct server_request *rq, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The bytes of an object, printed once for all who want them now. Until the next call. */
struct str encoded(struct server *s, const struct object *o);
struct json *partial_of(struct arena *a, const struct json *root);

/* ---- gzip.c ---- */

bool gzip_is_wanted(const struct http_call *call, size_t bytes); /* for an answer of this size */
int gzip_pack(struct str in, struct buf *out);                   /* -1: it cannot be done */

/* ---- body.c ---- */

/* The object that was sent: of the request's kind and its shape, unknown fields told or refused by fieldValidation. */
int body_object(struct server_request *rq, struct json **ret);
/* Whatever was sent: JSON or YAML. '*ret' NULL: nothing. 'types': what is allowed ("application/json", …; NULL-ended).
 * 'schema': what shape it has; NULL: it is a patch, and what it makes is looked at. */
int body_any(struct server_request *rq, const char *const *types, const struct schema *schema, struct json **ret);
extern const char *const body_types[];
/* The object of a client has the shape of its kind in its version; unknown fields are warned of or refused, and
 * dropped. */
int body_check_fields(struct server_request *rq, struct json *object);
/* Every value is of the type of its field: 400, or 422 for custom kinds. Free where the body was found to be so. */
int body_shape(struct server_request *rq, const struct json *object);
int body_check(struct server_request *rq, const struct schema *schema,
               const struct json *tree); /* the same by another schema */

/* ---- view.c ---- */

const struct resource_type *view_stored(const struct resource_type *t); /* NULL: it is stored as it is */
const struct json *view_show(struct arena *a, const struct resource_type *view, const struct json *root);
struct json *view_take(struct arena *a, const struct resource_type *view, const struct resource_type *stored,
                       const struct json *body);
struct str view_fields(struct arena *a, struct str text);

/* ---- owner.c ---- */

int owner_check(struct server_request *rq); /* the parameter fieldManager: 422 */
struct json *owner_update(struct server_request *rq, const struct json *live,
                          struct json *object); /* live: NULL on create */
int owner_apply(struct server_request *rq, const struct json *live, const struct json *config, struct json **ret);

/* ---- handlers ---- */

int handle_discovery(struct server_request *rq); /* is_api and no resource */
int handle_openapi_v2(struct server_request *rq);
int handle_openapi_v3(struct server_request *rq);

/* ---- openapi.c, openapi_v2.c ---- */

struct document {
    struct str path; /* the bytes follow */
    struct buf text;
};
struct document *document_new(struct server *s, struct str path);
void openapi_forget(struct server *s); /* kinds have changed: documents are made anew */
bool is_described(const struct resource_type *t);
struct str schema_name(struct arena *a, const struct resource_type *t); /* "io.k8s.api.core.v1.Pod" */
const char *kind_doc(const struct resource_type *t);                    /* for `kubectl explain`; may be NULL */
struct str kind_url(struct arena *a, const struct resource_type *t, bool has_name);
int handle_version(struct server_request *rq);
int handle_health(struct server_request *rq);
int handle_metrics(struct server_request *rq);
int handle_root(struct server_request *rq);

/* ---- page.c ---- */

int handle_ui(struct server_request *rq);
int handle_door(struct server_request *rq);                     /* "/": to the page, or as handle_root() */
bool page_question(struct str path, struct rbac_question *ret); /* why a job waits says which others there are */
bool page_is_open(struct str path);                             /* a file of the page, served without authentication */

int handle_get(struct server_request *rq);
int handle_list(struct server_request *rq);
int handle_watch(struct server_request *rq);
int handle_create(struct server_request *rq);
int handle_update(struct server_request *rq);
int handle_patch(struct server_request *rq);
int handle_delete(struct server_request *rq);
int handle_delete_collection(struct server_request *rq);

int handle_log(struct server_request *rq);
int handle_exec(struct server_request *rq);
int handle_attach(struct server_request *rq);
int handle_portforward(struct server_request *rq);
int handle_proxy(struct server_request *rq);
int handle_binding(struct server_request *rq);
int handle_eviction(struct server_request *rq);
int handle_finalize(struct server_request *rq);
int handle_token(struct server_request *rq);
int handle_review(struct server_request *rq);
int handle_issuer(struct server_request *rq); /* of ServiceAccounts' tokens: OpenID Connect discovery */
int handle_issuer_keys(struct server_request *rq);
int handle_scale(struct server_request *rq);
int handle_usage(struct server_request *rq);
void usage_done(struct server *s);

/* ---- pod.c, proxy_target.c ---- */

int need_kubelet(struct server_request *rq, struct kubelet **ret); /* 503: no pod can be reached */

struct proxy_name {        /* "NAME", "NAME:PORT", "https:NAME:PORT" */
    struct str name, port; /* port: empty, a number or a name */
    bool is_tls;
};
int proxy_name_parse(struct str id, struct proxy_name *ret); /* -1: it is none */

/* ---- discovery.c ---- */

bool type_allows(const struct resource_type *t, enum verb v);
/* Verbs of a subresource; NULL: it is not served. */
struct subresource {
    const char *name, *group, *version, *kind; /* kind NULL: that of the resource */
    const char *verbs[8];
    int (*handle[VERB_MAX + 1])(struct server_request *rq);
    const struct schema *schema; /* of the body; NULL: that of the resource, or there is none */
    const char *of;              /* the kind that has it so; NULL: all that have it */
};
const struct subresource *subresource_of(const struct resource_type *t, struct str name);

/* ---- list.c ---- */

struct selection {                 /* what a list or watch wants */
    struct selector *labels;       /* NULL: all */
    struct field_selector *fields; /* NULL: all */
    struct str labels_text, fields_text;
    struct str name; /* the only one that has a chance; empty: any */
};
int selection_read(struct server_request *rq, struct selection *ret);
/* Set the rest of 's' from its texts. */
int selection_parse(struct arena *a, const struct resource_type *t, struct selection *s, struct err *e);
bool selection_has(const struct selection *s, const struct json *root);
/* The same of an object that may be without its tree; 'scratch' is reset. */
bool selection_has_object(const struct selection *s, const struct object *o, struct arena *scratch);

/* ---- items.c ---- */

/* All have texts, and more than is sent at once, and as they are. */
bool items_are_many(const struct server_request *rq, struct object *const *objects, size_t n);
/* Answer with 'head', then the objects as a JSON list that is open, then the end of both. */
void items_reply(struct server_request *rq, struct str head, struct object *const *objects, size_t n);
/* What 'n' references to objects with so much text count for the one that holds them: most objects are those of the
 * store, and a quarter of the text stands for those that were replaced since. */
size_t items_held(size_t n, size_t text_bytes);
void items_done(struct server *s);

/* ---- admission.c ---- */

/* Default 'object' and add what is wrong with it. 'old': NULL on create. Its shape was checked before. */
int admission_write(struct server_request *rq, struct json *object, const struct object *old);
int admission_delete(struct server_request *rq, const struct object *old);
struct admit_env admission_env(struct server *s, struct str namespace); /* what rules ask about the cluster */
/* The table of all who take objects (admission/admission.h). False: it has nothing for this kind. */
bool admission_shared(struct server_request *rq, enum admission_operation operation, struct json *object,
                      const struct object *old, struct problems *ps);
/* LimitRanges and quotas: 403. After admission_write(), as they look at what it has completed. */
int admission_amounts(struct server_request *rq, const struct json *object, const struct object *old);
/* The schema and metadata, for kinds that have rules besides. 'name_check': NULL: a DNS subdomain. */
void check_plain(const struct server_request *rq, struct json *object,
                 const char *(*name_check)(struct arena *, struct str), struct problems *ps);
void default_member(struct arena *a, struct json *j, const char *key, const char *value); /* where it is not or empty */
void admit_pod_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);
void service_address(const struct server *s, struct arena *a, struct json *spec); /* one of its own, if it needs one */
void admit_config_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);
void admit_secret_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);
void admit_service_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);
void admit_endpoints_write(struct server_request *rq, struct json *object, const struct object *old,
                           struct problems *ps);
void admit_slice_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);
void service_defaults(struct arena *a, struct json *spec); /* as Kubernetes completes one that has an address or none */
/* Mount the token of its account, where the pod and the account want that. 'old': what is there keeps its name, also
 * where a client writes its file again, which does not know it. NULL: it is new. */
void admit_pod_token(const struct server *s, struct arena *a, struct json *pod, const struct object *old);
/* Where it names none: those of its account, or those it had. */
void admit_pod_pull_secrets(const struct server *s, struct arena *a, struct json *pod, const struct object *old);
int admit_pod_account(struct server_request *rq, const struct json *pod); /* 403: there is none of that name */
/* 'before': its spec, with defaults; it becomes that of the pod, with the amounts that are wished. */
void admit_pod_resize(struct server_request *rq, struct json *pod, struct json *before, const struct object *old,
                      struct problems *ps);
/* Of a new pod: what its RuntimeClass says. ERR_FORBIDDEN: there is none of that name, or the pod says otherwise. */
int admit_pod_runtime(const struct server *s, struct arena *a, struct json *pod, struct err *e);
void admit_runtime_class_write(struct server_request *rq, struct json *object, const struct object *old,
                               struct problems *ps);

/* ---- amounts.c ---- */

/* Quantities of all members of what is at 'path' ("containers.*.resources.limits"), as Kubernetes writes them. */
void amounts_canonical(struct arena *a, struct json *from, const char *path);

/* ---- create.c, update.c, delete.c ---- */

/* Write it, unless it is a dry run; reply. */
int create_object(struct server_request *rq, struct json *object);
int delete_one(struct server_request *rq, const struct object *o, const struct store_delete_options *opt,
               struct object **ret);
int delete_read(struct server_request *rq, struct store_delete_options *ret);
int delete_options(struct server_request *rq, const struct json *body,
                   struct store_delete_options *ret); /* DeleteOptions */

/* ---- table.c, columns.c ---- */

struct column {
    const char *name, *type; /* "string", "integer", "date" */
    bool is_wide;
    const char *path; /* "status.phase"; NULL: 'cell' */
    struct json *(*cell)(struct arena *a, const struct json *object, int64_t now_ms);
    const char *format; /* "name"; NULL: none */
};
const struct column *columns_of(const struct resource_type *t, size_t *ret_n);
/* Rows of these objects; 'has_head': with the columns. */
struct json *table_new(struct arena *a, const struct resource_type *t, bool has_head);
struct table_look {
    const struct resource_type *type; /* whose columns */
    struct str include;               /* includeObject: "Object", "None", else the metadata */
    int64_t now_ms;
};
void table_add(struct arena *a, struct json *table, const struct json *object, const struct table_look *look);
void print_age(struct buf *out, int64_t age_ms);
struct json *cell_age(struct arena *a, struct str time, int64_t now_ms);
struct json *pod_cell_ready(struct arena *a, const struct json *pod, int64_t now_ms);
struct json *pod_cell_status(struct arena *a, const struct json *pod, int64_t now_ms);
struct json *pod_cell_restarts(struct arena *a, const struct json *pod, int64_t now_ms);

/* ---- watch.c ---- */

void watches_init(struct server *s);
void watches_done(struct server *s);
void watches_stop(struct server *s);
void watches_end(struct server *s, const struct resource_type *type); /* those of one kind: clients begin anew */
int64_t watches_turn(struct server *s);                               /* milliseconds until the next bookmark or end */

/* ---- namespace.c ---- */

bool namespace_is_ending(struct server *s, struct str name);
void events_expire(struct server *s);

/* ---- held.c ---- */

struct held { /* store_list() lends objects until the next write */
    struct arena *arena;
    VEC(struct object *) objects; /* references */
};
/* All of a kind, of a namespace (empty: of all), behind those that are there. */
void held_add(struct held *h, const struct server *s, const struct resource_type *type, struct str namespace);
void held_one(void *held, const struct object *o); /* this one, of a store_list() of the caller's */
void held_done(struct held *h);
#define autoheld __attribute__((cleanup(held_done))) struct held

/* ---- control.c ---- */

/* The trees of all objects of a kind, of a namespace (empty: of all); borrowed until the next write. */
const struct json **control_list(const struct server *s, struct arena *a, const struct resource_type *type,
                                 struct str namespace, size_t *ret_n);
struct observed_objects control_observe_kind(const struct server *s, struct arena *a, const struct resource_type *type,
                                             struct str namespace);
/* The same of all kinds that 'wants' says yes to. */
struct observed_objects control_observe(const struct server *s, struct arena *a, struct str namespace,
                                        bool (*wants)(const void *ctx, const struct resource_type *t), const void *ctx);
/* Carry out a plan. -1: one of its writes failed, the others were tried all the same. */
int control_apply(struct server *s, struct plan *plan);
/* The bodies of a plan get text of their own: what was observed is borrowed until the first write. */
void control_own(struct plan *plan);

struct telling { /* of statuses: when it was done last */
    uint64_t rev;
    int64_t ms; /* mono */
};
/* Statuses that are worked out from the whole store: 'tell' for each object of a kind, when something has changed and a
 * moment has passed. Milliseconds until it is due. */
int64_t tell_statuses(struct server *s, const struct resource_type *type, struct telling *last,
                      void (*tell)(struct server *s, const struct object *o));

/* The control loop: each turn gives the milliseconds until it is due again even if nothing happens. */
void control_begin(struct server *s);
int64_t control_turn(struct server *s);
void control_done(struct server *s);

/* What it runs, one controller a file. */
int64_t events_turn(struct server *s); /* namespace.c */
void customs_begin(struct server *s);
int64_t customs_turn(struct server *s);
void customs_done(struct server *s);
void namespaces_begin(struct server *s);
int64_t namespaces_turn(struct server *s);
void namespaces_done(struct server *s);
int64_t quotas_turn(struct server *s);
int64_t budgets_turn(struct server *s);
void endpoints_begin(struct server *s);
int64_t endpoints_turn(struct server *s);
void endpoints_done(struct server *s);
int64_t orphans_turn(struct server *s);
void orphans_done(struct server *s);
int64_t taints_turn(struct server *s);
void taints_done(struct server *s);

/* ---- endpoints.c, api_service.c ---- */

void api_service_keep(struct server *s);     /* make it, or make it as it was */
bool api_service_is(const struct object *o); /* it, or its Endpoints or slice */

/* ---- quota.c ---- */

/* ERR_FORBIDDEN: it would be more than the namespace may have. 'old': what it replaces; NULL: it is new. */
int quota_admit(struct server *s, const struct resource_type *type, const struct json *object, const struct json *old,
                struct err *e);
void admit_quota_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);

/* ---- limits.c ---- */

void limits_default(const struct server *s, struct arena *a, struct json *pod); /* what its containers do not say */
/* ERR_FORBIDDEN: it is not within what the namespace allows. */
int limits_admit(const struct server *s, const struct resource_type *type, const struct json *object, struct err *e);
void admit_limits_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);

/* ---- budget.c ---- */

bool budget_allows(const struct server *s, const struct object *budget); /* one more of its pods may be evicted now */

/* ---- custom.c ---- */

struct custom_kind;
void custom_target(struct server_request *rq); /* the type that its URL names, and the view */
bool custom_is_ending(const struct server *s, const struct resource_type *type);
void admit_definition_write(struct server_request *rq, struct json *object, const struct object *old,
                            struct problems *ps);
void admit_custom_write(struct server_request *rq, struct json *object, const struct object *old, struct problems *ps);

/* Every kind that has URLs, each version of those of users; how many. */
size_t types_served(const struct server *s, struct arena *a, const struct resource_type ***ret);

/* ---- access.c ---- */

bool access_may_send(struct server_request *rq); /* of the head alone, before the body is received */
int access_check(struct server_request *rq);     /* 0, or 400, 401, 403, 429 */
/* It is answered bit by bit or later, and only as long as its caller may ask for it. */
void access_hold(struct server_request *rq);
void access_done(struct server_request *rq); /* it was answered, or goes on */
/* May he write this, the verb aside: rights that he gives away, pods that open the machine. 'object' becomes what he
 * may have. */
int access_write(struct server_request *rq, struct json *object, const struct object *old);
void access_keep_marks(struct server_request *rq, struct json *object, const struct object *old); /* before admission */

/* ---- access_makers.c ---- */

int access_pod(struct server_request *rq, const struct object *pod);   /* could he create it as it is? Else 403 */
int access_enter(struct server_request *rq, const struct object *pod); /* the same for exec, attach and port-forward */
/* Who wrote its spec last, of an object that makes Jobs; before it is written. */
void access_author(struct server_request *rq, struct json *object, const struct object *old);
int access_flow(struct server_request *rq, const struct json *flow); /* the Jobs that it would make now: 403 */
/* May its authors create this Job, which a controller makes? 'job' becomes what they may have. ERR_FORBIDDEN. */
int access_made(struct server *s, struct arena *a, struct json *job, struct err *e);

/* ---- server.c ---- */

enum { ENCODED_MAX = 256, ENCODED_BYTES = 8 << 20 };

struct server {
    struct server_options opt;
    struct watch_hub *hubs; /* by type_row() */
    struct list watches;
    int64_t watches_due_ms; /* mono */
    struct {
        uint64_t requests, watch_events;
        size_t watches;
    } stats; /* for /metrics */
    bool is_stopping;
    struct {
        uint64_t rev;
        struct buf text;
    } encoded[ENCODED_MAX]; /* by revision */
    size_t encoded_bytes;
    struct list items; /* long lists on their way */
    struct watch *namespace_watch, *default_watches[2];
    uint64_t namespaces_rev; /* of the store, when ending ones were looked at */
    bool has_ending;
    int64_t expired_ms; /* mono: when events were looked at */
    struct telling quotas, budgets;
    struct {
        struct map nodes; /* struct orphan_node by name: pods name them, and they are not there */
        int64_t due_ms;   /* mono */
        uint64_t looks;
    } orphans;
    struct {
        struct watch *watch; /* of Nodes */
        bool is_on;          /* some Node has a NoExecute taint */
        struct map waiting;  /* struct tainted_pod by uid: tolerated for a while */
        int64_t due_ms;      /* mono */
        uint64_t looks;
    } taints;
    struct endpoints *endpoints;
    struct arena customs_arena;
    VEC(struct custom_kind *) customs;
    struct watch *custom_watch;
    uint64_t customs_rev;   /* of the store, when ending ones were looked at */
    uint64_t n_definitions; /* changes of what is served */
    struct arena schema_arena;
    const struct json **schemas; /* by row of resource_types, made when they are needed; NULL: none yet */
    struct map documents;        /* of OpenAPI, made once: struct document by path */
    struct look *look;           /* of usage.c; NULL: not used yet */
};

int64_t server_now_ms(const struct server *s);

#endif
