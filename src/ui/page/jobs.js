// jobs.js - the list of jobs, and one job
import { age, ask, compare, el, facts, link, moodOf, msOf, pathOf, podStatus, renew, restartsOf, state, table } from "./draw.js";
import { request, requestText, urlOf } from "./api.js";
import { gantt } from "./gantt.js";
import { logViewer } from "./logs.js";
import { whyPanel } from "./why.js";

const phaseOf = (job) => ((job.status || {}).state || {}).phase || "Pending";
const groupName = (job) => `${job.metadata.name}-${job.metadata.uid}`;
const replicas = (job) => job.spec.tasks.reduce((n, t) => n + (t.replicas ?? 1), 0);
const isWaiting = (job) => ["Pending", "Inqueue", ""].includes(phaseOf(job));

// The scheduler's last reason for a waiting group.
const reasonOf = (group) => {
  const said = ((group && group.status && group.status.conditions) || []).filter((c) => c.type === "Unschedulable" && c.status === "True");
  return said.length ? said[said.length - 1].message : "";
};

const progress = (job) => {
  const s = job.status || {}, parts = [["running", s.running], ["pending", s.pending], ["done", s.succeeded], ["failed", s.failed]];
  return parts.filter(([, n]) => n).map(([w, n]) => `${n} ${w}`).join(", ") || "—";
};

export const jobsPage = (app) => {
  const jobs = app.follow("Job", {}, () => draw()), groups = app.follow("PodGroup", {}, () => draw());
  const out = el("div");
  const columns = [
    ["Name", (j) => link(pathOf("job", j.metadata.namespace, j.metadata.name), j.metadata.name), { order: (j) => j.metadata.name }],
    ["Namespace", (j) => j.metadata.namespace, { order: (j) => j.metadata.namespace, less: true }],
    ["Status", (j) => state(phaseOf(j)), { order: phaseOf }],
    ["Pods", progress, { order: (j) => (j.status || {}).running || 0 }],
    ["Min", (j) => `${j.spec.minAvailable ?? replicas(j)}/${replicas(j)}`, { number: true, less: true }],
    ["Queue", (j) => j.spec.queue || "default", { order: (j) => j.spec.queue || "default", less: true }],
    ["Age", (j) => age(j.metadata.creationTimestamp), { order: (j) => -msOf(j.metadata.creationTimestamp), number: true }],
    ["", (j) => (isWaiting(j) && reasonOf(byName.get(`${j.metadata.namespace}/${groupName(j)}`))) || ((j.status || {}).state || {}).message || "",
      { wide: true, less: true }],
  ];
  let byName = new Map();
  const draw = () => {
    byName = new Map([...groups.items.values()].map((g) => [`${g.metadata.namespace}/${g.metadata.name}`, g]));
    const rows = [...jobs.items.values()].filter((j) => app.matches(j.metadata.namespace, j.metadata.name, phaseOf(j), j.spec.queue || "default"))
      .sort((a, b) => msOf(b.metadata.creationTimestamp) - msOf(a.metadata.creationTimestamp));
    const counts = new Map();
    for (const j of jobs.items.values()) counts.set(phaseOf(j), (counts.get(phaseOf(j)) || 0) + 1);
    renew(out, el("h1", {}, "Jobs", [...counts].map(([w, n]) => el("small", { class: `state ${moodOf(w)}` }, `${n} ${w}`))),
      table("jobs", columns, rows, { key: (j) => pathOf("job", j.metadata.namespace, j.metadata.name), redraw: draw,
        empty: jobs.isSynced ? "No jobs. Submit one, or use kubectl create -f job.yaml." : "Loading…" }));
  };
  draw();
  return { node: out, redraw: draw };
};

// ---- one job ----

const command = (app, job, action) => request("POST", urlOf("Command", job.metadata.namespace), { body: {
  apiVersion: "bus.volcano.sh/v1alpha1", kind: "Command", action, metadata: { generateName: `${job.metadata.name}-${action.toLowerCase()}-`, namespace: job.metadata.namespace },
  target: { apiVersion: job.apiVersion, kind: "Job", name: job.metadata.name, uid: job.metadata.uid, controller: true } } });

const actions = {
  Suspend: ["AbortJob", "The pods of the job are deleted. You can resume it later.", (p) => ["Pending", "Inqueue", "Running"].includes(p)],
  Resume: ["ResumeJob", "The pods of the job are created again.", (p) => p === "Aborted"],
  Restart: ["RestartJob", "All pods of the job are deleted and created again.", (p) => p === "Running"],
};

const buttons = (app, job) => {
  const phase = phaseOf(job), name = job.metadata.name;
  const act = async (title, text, yes, isDanger, act_) => {
    if (!await ask(title, el("p", {}, text), yes, isDanger)) return;
    try { await act_(); app.say(`${yes}: ${name}`); } catch (e) { app.say(`Failed: ${e.message}`); }
  };
  return [...Object.entries(actions).filter(([, a]) => a[2](phase)).map(([word, [action, text]]) =>
    el("button", { type: "button", onclick: () => act(`${word} ${name}?`, text, word, word === "Restart", () => command(app, job, action)) }, word)),
  el("button", { type: "button", class: "danger", onclick: () => act(`Delete ${name}?`, "The job, its pods and its other objects are deleted.", "Delete", true, async () => {
    await request("DELETE", `${urlOf("Job", job.metadata.namespace, name)}?propagationPolicy=Background`);
    app.go("#/jobs");
  }) }, "Delete")];
};

const podTable = (pods, redraw) => table("pods", [
  ["Pod", (p) => link(pathOf("pod", p.metadata.namespace, p.metadata.name), p.metadata.name), { order: (p) => p.metadata.name }],
  ["Status", (p) => state(podStatus(p)), { order: podStatus }],
  ["Restarts", (p) => String(restartsOf(p)), { order: restartsOf, number: true }],
  ["Node", (p) => p.spec.nodeName || "", { less: true }],
  ["Address", (p) => (p.status || {}).podIP || "", { less: true }],
  ["Age", (p) => age(p.metadata.creationTimestamp), { number: true }],
], pods, { key: (p) => pathOf("pod", p.metadata.namespace, p.metadata.name), empty: "No pods yet.", redraw });

export const eventList = (events) => {
  const when = (e) => msOf(e.lastTimestamp || e.eventTime || e.metadata.creationTimestamp);
  const rows = [...events].sort((a, b) => when(b) - when(a)).slice(0, 300);
  return rows.length ? el("div", { class: "scroll" }, el("table", { id: "events" }, el("tbody", {}, rows.map((e) => el("tr", {},
    el("td", { class: "number" }, age(e.lastTimestamp || e.eventTime || e.metadata.creationTimestamp)),
    el("td", {}, el("span", { class: e.type === "Warning" ? "state bad" : "state" }, e.reason)),
    el("td", { class: "less" }, e.involvedObject.name), el("td", { class: "wide" }, e.message)))))) :
    el("p", { class: "faint" }, "No events, or they have expired.");
};

const sheets = ["Time", "Pods", "Logs", "Decisions", "YAML"];

export const jobPage = (app, namespace, name) => {
  const where = { namespace }, pods = app.follow("Pod", { ...where, labels: `volcano.sh/job-name=${name}` }, () => draw());
  const jobs = app.follow("Job", { ...where, fields: `metadata.name=${name}` }, () => draw());
  const events = app.follow("Event", where, () => draw());
  const head = el("div"), panel = el("div"), body = el("div"), logs = logViewer(), ended = new Map();
  let sheet = "Time", why = null, yamlOf = "";
  app.atEnd(() => logs.stop());

  const tabs = el("div", { class: "tabs", role: "tablist" }, sheets.map((s) => el("button", { type: "button", role: "tab",
    "data-sheet": s, onclick: () => choose(s) }, s)));
  const choose = (s) => { if (sheet === "Logs" && s !== "Logs") logs.stop(); sheet = s; yamlOf = ""; body.replaceChildren(); draw(); };
  const allPods = () => {
    for (const [uid, pod] of pods.gone) if (!ended.has(uid)) ended.set(uid, { ...pod, goneMs: Date.now() });
    return [...pods.items.values(), ...ended.values()];
  };
  const isOurs = (e) => e.involvedObject.name === name || e.involvedObject.name.startsWith(`${name}-`);
  const show = {
    Time: () => renew(body, gantt(allPods(), (p) => { choose("Logs"); logs.show(p.metadata.name); }, body.clientWidth || 1000)),
    Pods: () => renew(body, podTable([...pods.items.values()].sort((a, b) => compare(a.metadata.name, b.metadata.name)), () => draw())),
    Logs: () => { if (body.firstChild !== logs.node) body.replaceChildren(logs.node); logs.update([...pods.items.values()]); },
    Decisions: () => renew(body, eventList([...events.items.values()].filter(isOurs))),
    YAML: async (job) => {
      if (yamlOf === job.metadata.resourceVersion) return;
      yamlOf = job.metadata.resourceVersion;
      body.replaceChildren(el("pre", {}, await requestText(urlOf("Job", namespace, name), { accept: "application/yaml" })));
    },
  };
  const draw = () => {
    const job = [...jobs.items.values()][0];
    if (!job) {
      renew(head, el("h1", {}, name), el("p", {}, jobs.isSynced ? `There is no job ${name} in ${namespace}.` : "Loading…"));
      return;
    }
    const s = job.status || {}, at = s.state || {};
    renew(head, el("h1", {}, name, state(phaseOf(job)), el("span", { class: "row" }, buttons(app, job))), facts([
      ["namespace", namespace], ["queue", job.spec.queue || "default"], ["priority", job.spec.priorityClassName], ["pods", progress(job)],
      ["minAvailable", `${job.spec.minAvailable ?? replicas(job)} of ${replicas(job)}`], ["age", age(job.metadata.creationTimestamp)],
      ["restarts", s.retryCount || ""], ["says", [at.reason, at.message].filter(Boolean).join(": ")]]));
    if (isWaiting(job) && !why) { why = whyPanel(namespace, name, app.say); panel.replaceChildren(why.node); }
    if (!isWaiting(job) && why) { why = null; panel.replaceChildren(); }
    for (const b of tabs.children) b.setAttribute("aria-selected", String(b.dataset.sheet === sheet));
    show[sheet](job);
  };
  const clock = setInterval(() => { if (sheet === "Time" && !document.hidden) draw(); }, 2000);
  app.atEnd(() => clearInterval(clock));
  draw();
  return { node: el("div", {}, head, panel, tabs, body), redraw: draw, keys: { l: () => choose("Logs"), t: () => choose("Time") } };
};
