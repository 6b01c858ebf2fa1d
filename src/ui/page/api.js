// api.js - the Kubernetes API of this server: requests, and lists that are kept up to date
//
// The page uses only the API that kubectl uses, with the token of the user; the server decides about the user's rights. A
// browser has six connections for one server, shared by all its tabs. So watches live only as long as the page that shows
// them, and stop while the tab is hidden.

let token = sessionStorage.getItem("token") || "";

export const setToken = (text) => {
  token = text;
  if (text) sessionStorage.setItem("token", text);
  else sessionStorage.removeItem("token");
};
export const hasToken = () => token !== "";

export class ApiError extends Error {
  constructor(status, body) {
    super((body && body.message) || `the server answered ${status}`);
    this.status = status;
    this.reason = body && body.reason;
    this.causes = (body && body.details && body.details.causes) || [];
  }
}

const send = async (method, path, { body, type, accept, signal } = {}) => {
  const headers = { Accept: accept || "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = type || "application/json";
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(path, { method, headers, body: text, signal, cache: "no-store", credentials: "omit" });
  if (answer.ok) return answer;
  let status = null;
  try { status = await answer.json(); } catch { /* the body is no Status: use the HTTP status */ }
  throw new ApiError(answer.status, status);
};

export const request = async (method, path, options) => (await send(method, path, options)).json();
export const requestText = async (path, options) => (await send("GET", path, options)).text();

// ---- kinds ----

const core = "/api/v1", batch = "/apis/batch.volcano.sh/v1alpha1", scheduling = "/apis/scheduling.volcano.sh/v1beta1";
const kinds = {
  Job: [batch, "jobs", true], Pod: [core, "pods", true], Event: [core, "events", true], Node: [core, "nodes", false],
  Namespace: [core, "namespaces", false], PodGroup: [scheduling, "podgroups", true], Queue: [scheduling, "queues", false],
  PriorityClass: ["/apis/scheduling.k8s.io/v1", "priorityclasses", false],
  Command: ["/apis/bus.volcano.sh/v1alpha1", "commands", true],
  JobFlow: ["/apis/flow.volcano.sh/v1alpha1", "jobflows", true],
  JobTemplate: ["/apis/flow.volcano.sh/v1alpha1", "jobtemplates", true],
  CronJob: [batch, "cronjobs", true],
};

// The URL of a kind, of all namespaces if none is given, or of one object.
export const urlOf = (kind, namespace, name, sub) => {
  const [root, plural, isNamespaced] = kinds[kind];
  const part = encodeURIComponent;
  return root + (isNamespaced && namespace ? `/namespaces/${part(namespace)}` : "") + `/${plural}` +
    (name ? `/${part(name)}` : "") + (sub ? `/${sub}` : "");
};

// ---- streams ----

// The lines of an answer as they come; `each` is called with complete lines only.
export const lines = async (path, each, signal) => {
  const answer = await send("GET", path, { signal, accept: "*/*" });
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop();
    for (const part of parts) each(part);
  }
  if (rest) each(rest);
};

const wait = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); });
});

const query = (params) => {
  const text = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== undefined && v !== "")).toString();
  return text ? `?${text}` : "";
};

// Objects by uid, kept up to date until stop(). `changed` is called at most a few times a second; `trouble` with the error
// while the server cannot be reached, and with null afterwards.
export const follow = (kind, { namespace, labels, fields }, changed, trouble = () => {}) => {
  const items = new Map(), path = urlOf(kind, namespace), select = { labelSelector: labels, fieldSelector: fields };
  let control = null, timer = 0, version = "", isOver = false;

  const tell = () => { timer = timer || setTimeout(() => { timer = 0; if (!isOver) changed(); }, 120); };
  const list = async (signal) => {
    const all = await request("GET", path + query(select), { signal });
    items.clear();
    for (const item of all.items) items.set(item.metadata.uid, item);
    version = all.metadata.resourceVersion;
    self.isSynced = true;
    tell();
  };
  const take = (line) => {
    const { type, object } = JSON.parse(line);
    if (type === "ERROR") throw new ApiError(object.code, object);
    version = object.metadata.resourceVersion;
    if (type === "DELETED") { items.delete(object.metadata.uid); self.gone.set(object.metadata.uid, object); }
    else if (type !== "BOOKMARK") items.set(object.metadata.uid, object);
    tell();
  };
  const run = async (signal) => {
    for (let failures = 0; !signal.aborted;) {
      try {
        if (!version) await list(signal);
        trouble(null);
        await lines(path + query({ ...select, watch: "1", resourceVersion: version, allowWatchBookmarks: "true",
          timeoutSeconds: 1800 }), (l) => { failures = 0; take(l); }, signal);
        await wait(200, signal);
      } catch (e) {
        if (signal.aborted) return;
        if (e.status === 410 || !e.status) version = ""; // the server may have an older state now: a restored backup
        if (e.status !== 410) trouble(e);
        if (e.status === 401 || e.status === 403 || e.status === 404) return;
        failures += 1;
        await wait(Math.min(250 * 2 ** failures, 10000) * (0.5 + Math.random() / 2), signal);
      }
    }
  };
  const start = () => { control = new AbortController(); run(control.signal); };
  const rest = () => { if (control) control.abort(); control = null; };
  const seen = () => { if (document.hidden) rest(); else if (!control) start(); };
  const self = {
    items, gone: new Map(), isSynced: false,
    stop: () => { isOver = true; rest(); document.removeEventListener("visibilitychange", seen); },
  };
  document.addEventListener("visibilitychange", seen);
  start();
  return self;
};
