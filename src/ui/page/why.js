// why.js - why a job waits, and the changes that would start it, each with a button
//
// The server works it out as `pumice explain` does: every change was tried on a copy of the cluster before it is offered.
import { amounts, ask, el } from "./draw.js";
import { request, urlOf } from "./api.js";

const explain = (namespace, name) =>
  request("GET", `/ui/explain/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);

// ---- applying ----

const pointer = (path) => path.split("/").slice(1).map((p) => p.replace(/~1/g, "/").replace(/~0/g, "~"));

const setAt = (object, path, value) => {
  const parts = pointer(path), last = parts.pop();
  let at = object;
  for (const part of parts) at = at[part] ?? (at[part] = {});
  if (value === undefined) delete at[last];
  else if (Array.isArray(at) && last === "-") at.push(value);
  else at[last] = value;
};

const edit = async (e) => {
  if (e.op === "create") return request("POST", urlOf(e.kind, e.namespace), { body: e.value });
  const url = urlOf(e.kind, e.namespace, e.name);
  if (e.op === "delete") return request("DELETE", `${url}?propagationPolicy=Background`);
  const patch = [e.op === "unset" ? { op: "remove", path: e.path } : { op: "add", path: e.path, value: e.value }];
  return request("PATCH", url, { body: patch, type: "application/json-patch+json" });
};

const gone = async (url) => {
  for (let i = 0; i < 300; i++) {
    try { await request("GET", url); } catch (e) { if (e.status === 404) return; throw e; }
    await new Promise((r) => setTimeout(r, 200));
  }
  throw new Error("the old job is still terminating: create the new job when it is deleted");
};

// A field that cannot change in place: the job is made again. Checked first, so that nothing is deleted in vain.
const recreate = async (edits) => {
  const { namespace, name } = edits.find((e) => e.kind === "Job"), url = urlOf("Job", namespace, name);
  const old = await request("GET", url);
  const body = { apiVersion: old.apiVersion, kind: old.kind, spec: old.spec,
    metadata: { name, namespace, labels: old.metadata.labels, annotations: old.metadata.annotations } };
  for (const e of edits.filter((x) => x.kind === "Job")) setAt(body, e.path, e.op === "unset" ? undefined : e.value);
  await request("POST", `${urlOf("Job", namespace)}?dryRun=All`,
    { body: { ...body, metadata: { ...body.metadata, name: undefined, generateName: "check-" } } });
  for (const e of edits.filter((x) => x.kind !== "Job")) await edit(e);
  await request("DELETE", `${url}?propagationPolicy=Foreground`);
  await gone(url);
  await request("POST", urlOf("Job", namespace), { body });
};

const apply = async (change) => {
  if (change.recreatesJob) return recreate(change.edits);
  // Those of one object together: one alone may not be allowed.
  const groups = new Map();
  for (const e of change.edits) {
    const key = e.op === "set" || e.op === "unset" ? `${e.kind}/${e.namespace}/${e.name}` : Symbol("alone");
    groups.set(key, [...(groups.get(key) || []), e]);
  }
  for (const group of groups.values()) {
    if (group.length === 1) { await edit(group[0]); continue; }
    const body = group.map((e) => (e.op === "unset" ? { op: "remove", path: e.path } : { op: "add", path: e.path, value: e.value }));
    await request("PATCH", urlOf(group[0].kind, group[0].namespace, group[0].name), { body, type: "application/json-patch+json" });
  }
};

const offer = async (change, refresh, say) => {
  const isSure = await ask(`${sentence(change.text)}?`, [
    change.evicts.length ? el("p", {}, `This evicts ${change.evicts.map((v) => `${v.pods} pods of ${v.name}`).join(", ")}.`) : "",
    change.recreatesJob ? el("p", {}, "The job is deleted and created again with the change, and loses its age.") : "",
    el("p", { class: "faint" }, "The equivalent commands:"), el("pre", {}, change.how.join("\n"))], "Apply", change.evicts.length > 0);
  if (!isSure) return;
  try { await apply(change); say(`Done: ${change.text}`); } catch (e) { say(`Failed: ${e.message}`); }
  refresh();
};

// ---- showing ----

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const isPossible = (change) => change.edits.every((e) => e.op !== "add-nodes");

const starting = (x) => (x.evicts.length ? `It starts as soon as pods of other jobs have ended: ${x.evicts.map((v) => `${v.pods} of ${v.name}`).join(", ")}.`
  : "The job can start: the scheduler places it now.");

const draw = (x, refresh, say) => {
  if (x.state !== "Waiting")
    return [el("p", {}, x.state === "Starting" ? starting(x) : x.message || `The job is ${x.state.toLowerCase()}.`)];
  const tasks = (x.needs.tasks || []).filter((t) => t.missing > 0).map((t) => `${t.missing} × ${t.name} (${amounts(t.each) || "no requests"})`);
  const ahead = x.ahead.length ? x.ahead.slice(0, 5).map((j) => j.name).join(", ") + (x.ahead.length > 5 ? ` and ${x.ahead.length - 5} more` : "")
    : "no other job: it is first in its queue";
  const soon = x.estimate.known ? `about ${x.estimate.startsAt}${x.estimate.after.length ? `, when ${x.estimate.after.join(", ")} ends` : ""}`
    : x.estimate.never ? "never, without a change" : "unknown: the runtimes of running jobs are unknown";
  const fact = (k, v) => [el("dt", {}, k), el("dd", {}, v)];
  return [el("dl", { class: "facts" }, fact("reason", x.why.text), fact("needs", tasks.join(", ")),
    fact("free", `${amounts(x.free.total)} on ${x.free.nodeCount} node${x.free.nodeCount === 1 ? "" : "s"}`),
    x.holder ? fact("reserved", `${amounts(x.holder.keeps)} for ${x.holder.name}, until ${x.holder.until || "the pods on its places end"}`) : "",
    fact("ahead", ahead), fact("starts without a change", soon)),
  x.suggestions.length ? [el("p", {}, "Each of these changes would start it now (tried on a copy of the cluster):"),
    el("ol", { class: "changes" }, x.suggestions.map((s) => el("li", {}, sentence(s.text), s.stopsJobs ? " — at the cost of other jobs " : " ",
      isPossible(s) && el("button", { type: "button", onclick: () => offer(s, refresh, say) }, "Apply…"))))] :
    el("p", {}, "None of the tried changes would start it.")];
};

// A panel about one job: {node, refresh()}.
export const whyPanel = (namespace, name, say) => {
  const inside = el("div", {}, el("p", { class: "faint" }, "Searching for changes that would start it…"));
  let isBusy = false;
  const refresh = async () => {
    if (isBusy) return;
    isBusy = true;
    try { inside.replaceChildren(...draw(await explain(namespace, name), refresh, say).flat(9)); }
    catch (e) {
      inside.replaceChildren(el("p", { class: "faint" }, e.status === 403 ?
        "The full explanation needs the right to list jobs of all namespaces. The job's PodGroup has the scheduler's reason." : e.message));
    }
    isBusy = false;
  };
  const node = el("section", { class: "box wait", id: "why" }, el("h2", {}, "Why it waits ",
    el("button", { type: "button", onclick: refresh }, "Refresh")), inside);
  refresh();
  return { node, refresh };
};
