// places.js - where jobs run: queues, nodes, pods, and one pod
import { age, amount, amountText, ask, compare, el, facts, isOver, link, meter, pathOf, podStatus, renew, restartsOf, state, table } from "./draw.js";
import { request, urlOf } from "./api.js";
import { eventList } from "./jobs.js";
import { logViewer } from "./logs.js";

const byName = (a, b) => compare(a.metadata.name, b.metadata.name);
const doIt = async (app, word, act) => {
  try { await act(); app.say(word); } catch (e) { app.say(`Failed: ${e.message}`); }
};

// ---- queues ----

export const queuesPage = (app) => {
  const out = el("div"), queues = app.follow("Queue", {}, () => draw()), groups = app.follow("PodGroup", {}, () => draw());
  const turn = (q, action) => doIt(app, `${action}: ${q.metadata.name}`, () => request("POST", urlOf("Command", "default"), { body: {
    apiVersion: "bus.volcano.sh/v1alpha1", kind: "Command", action, metadata: { generateName: `${q.metadata.name}-`, namespace: "default" },
    target: { apiVersion: q.apiVersion, kind: "Queue", name: q.metadata.name, uid: q.metadata.uid, controller: true } } }));
  const isOpen = (q) => ((q.status || {}).state || "Open") === "Open";
  const count = (q, phase) => [...groups.items.values()].filter((g) => (g.spec.queue || "default") === q.metadata.name && (g.status || {}).phase === phase).length;
  const use = (q) => {
    const have = (q.status || {}).allocated || {}, most = q.spec.capability || q.spec.deserved || {};
    return Object.entries(have).filter(([r, v]) => r !== "pods" && amount(v) > 0).map(([r, v]) => el("div", {}, most[r]
      ? meter(amount(v), amount(most[r]), `${v} of ${most[r]} ${r}`) : `${v} ${r}`));
  };
  const columns = [
    ["Queue", (q) => q.metadata.name, { order: (q) => q.metadata.name }], ["State", (q) => state((q.status || {}).state || "Open")],
    ["Parent", (q) => q.spec.parent || "", { less: true }], ["Weight", (q) => String(q.spec.weight ?? 1), { number: true }],
    ["Running", (q) => String(count(q, "Running")), { number: true }], ["Waiting", (q) => String(count(q, "Pending") + count(q, "Inqueue")), { number: true }],
    ["In use", use], ["", (q) => (q.metadata.name === "root" ? "" : el("button", { type: "button",
      onclick: () => turn(q, isOpen(q) ? "CloseQueue" : "OpenQueue") }, isOpen(q) ? "Close" : "Open"))],
  ];
  const draw = () => renew(out, el("h1", {}, "Queues"), table("queues", columns, [...queues.items.values()].filter((q) => app.matches(q.metadata.name)).sort(byName),
    { key: (q) => q.metadata.name, empty: queues.isSynced ? "No queue matches." : "Loading…", redraw: draw }));
  draw();
  return { node: out, redraw: draw };
};

// ---- nodes ----

export const nodesPage = (app) => {
  const out = el("div"), nodes = app.follow("Node", {}, () => draw()), pods = app.follow("Pod", { everywhere: true }, () => draw());
  const statusOf = (n) => [((n.status || {}).conditions || []).some((c) => c.type === "Ready" && c.status === "True") ? "Ready" : "NotReady",
    n.spec.unschedulable && "SchedulingDisabled"].filter(Boolean);
  const requests = (node) => {
    const sum = {};
    for (const p of pods.items.values()) {
      if (p.spec.nodeName !== node.metadata.name || isOver(p)) continue;
      sum.pods = (sum.pods || 0) + 1;
      for (const c of p.spec.containers) for (const [r, v] of Object.entries((c.resources || {}).requests || {})) sum[r] = (sum[r] || 0) + amount(v);
    }
    return sum;
  };
  const use = (node) => {
    const used = requests(node), all = (node.status || {}).allocatable || {};
    return Object.keys(all).filter((r) => amount(all[r]) > 0 && !/^hugepages|^ephemeral/.test(r)).map((r) => el("div", {}, meter(used[r] || 0, amount(all[r]),
      `${amountText(r, used[r] || 0)} of ${amountText(r, amount(all[r]))} ${r}`)));
  };
  const cordon = (n) => doIt(app, `${n.metadata.name}: ${n.spec.unschedulable ? "uncordoned" : "cordoned"}`, () =>
    request("PATCH", urlOf("Node", "", n.metadata.name), { body: { spec: { unschedulable: n.spec.unschedulable ? null : true } }, type: "application/merge-patch+json" }));
  const columns = [
    ["Node", (n) => n.metadata.name, { order: (n) => n.metadata.name }], ["Status", (n) => statusOf(n).map((w) => el("div", {}, state(w)))],
    ["Requested", use], ["Age", (n) => age(n.metadata.creationTimestamp), { number: true, less: true }],
    ["Version", (n) => ((n.status || {}).nodeInfo || {}).kubeletVersion || "", { less: true }],
    ["", (n) => el("button", { type: "button", onclick: () => cordon(n) }, n.spec.unschedulable ? "Uncordon" : "Cordon")],
  ];
  const draw = () => renew(out, el("h1", {}, "Nodes"), table("nodes", columns, [...nodes.items.values()].filter((n) => app.matches(n.metadata.name)).sort(byName),
    { key: (n) => n.metadata.name, empty: nodes.isSynced ? "No node matches." : "Loading…", redraw: draw }));
  draw();
  return { node: out, redraw: draw };
};

// ---- pods ----

export const podsPage = (app) => {
  const out = el("div"), pods = app.follow("Pod", {}, () => draw());
  const columns = [
    ["Pod", (p) => link(pathOf("pod", p.metadata.namespace, p.metadata.name), p.metadata.name), { order: (p) => p.metadata.name }],
    ["Namespace", (p) => p.metadata.namespace, { less: true, order: (p) => p.metadata.namespace }],
    ["Status", (p) => state(podStatus(p)), { order: podStatus }], ["Restarts", (p) => String(restartsOf(p)), { number: true, order: restartsOf }],
    ["Job", (p) => { const j = (p.metadata.labels || {})["volcano.sh/job-name"]; return j ? link(pathOf("job", p.metadata.namespace, j), j) : ""; }, { less: true }],
    ["Node", (p) => p.spec.nodeName || "", { less: true, order: (p) => p.spec.nodeName || "" }],
    ["Age", (p) => age(p.metadata.creationTimestamp), { number: true }],
  ];
  const draw = () => renew(out, el("h1", {}, "Pods"), table("pods", columns, [...pods.items.values()]
    .filter((p) => app.matches(p.metadata.namespace, p.metadata.name, podStatus(p), p.spec.nodeName)).sort(byName),
  { key: (p) => pathOf("pod", p.metadata.namespace, p.metadata.name), empty: pods.isSynced ? "No pods." : "Loading…", redraw: draw }));
  draw();
  return { node: out, redraw: draw };
};

const stateText = (c) => {
  const { running, waiting, terminated } = c.state || {};
  if (running) return `running since ${running.startedAt}`;
  if (terminated) return `${terminated.reason || "ended"}, exit ${terminated.exitCode}, ${terminated.finishedAt}`;
  return waiting ? [waiting.reason, waiting.message].filter(Boolean).join(": ") : "waits";
};

export const podPage = (app, namespace, name) => {
  const only = { namespace, fields: `metadata.name=${name}` }, pods = app.follow("Pod", only, () => draw());
  const events = app.follow("Event", { namespace, fields: `involvedObject.name=${name}` }, () => draw());
  const head = el("div"), list = el("div"), logs = logViewer();
  app.atEnd(() => logs.stop());
  const remove = async () => {
    if (await ask(`Delete ${name}?`, el("p", {}, "The controller of the job may create it again."), "Delete", true))
      doIt(app, `Delete: ${name}`, () => request("DELETE", urlOf("Pod", namespace, name)));
  };
  const draw = () => {
    const pod = [...pods.items.values()][0];
    if (!pod) return renew(head, el("h1", {}, name), el("p", {}, pods.isSynced ? `There is no pod ${name} in ${namespace}.` : "Loading…"));
    const job = (pod.metadata.labels || {})["volcano.sh/job-name"], s = pod.status || {};
    renew(head, el("h1", {}, name, state(podStatus(pod)), el("button", { type: "button", class: "danger", onclick: remove }, "Delete")), facts([
      ["job", job && link(pathOf("job", namespace, job), job)], ["node", pod.spec.nodeName], ["address", s.podIP], ["age", age(pod.metadata.creationTimestamp)],
      ...[...(s.initContainerStatuses || []), ...(s.containerStatuses || [])].map((c) => [c.name, `${stateText(c)}${c.restartCount ? `, ${c.restartCount} restarts` : ""}`]),
      ["says", [s.reason, s.message].filter(Boolean).join(": ")]]));
    logs.update([pod]);
    renew(list, el("h2", {}, "Events"), eventList([...events.items.values()]));
  };
  draw();
  return { node: el("div", {}, head, el("h2", {}, "Log"), logs.node, list), redraw: draw };
};
