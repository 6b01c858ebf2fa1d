// submit.js - submits a YAML file, which is validated while it is typed
//
// The validation is a dry run on the server, so the page has no rules of its own.
import { el, link, pathOf } from "./draw.js";
import { request } from "./api.js";

const example = `apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata:
  name: hello
spec:
  minAvailable: 2
  plugins: {env: [], svc: []}
  tasks:
  - name: worker
    replicas: 2
    template:
      spec:
        restartPolicy: Never
        containers:
        - name: main
          image: busybox
          command: [sh, -c, "echo hello from $(hostname)"]
`;

// Documents of a file with their first lines. The page reads only the kind; the server parses the YAML.
const documents = (text) => {
  const found = [];
  let from = 0, lines = [];
  const end = () => {
    const body = lines.join("\n"), member = (name) => (new RegExp(`^${name}:\\s*["']?([^"'\\s#]+)`, "m").exec(body) || [])[1];
    if (lines.some((l) => l.trim() && !l.trim().startsWith("#")))
      found.push({ from, body, kind: member("kind"), apiVersion: member("apiVersion"),
        namespace: (/^metadata:[^\n]*\n(?:[ \t]+[^\n]*\n)*?[ \t]+namespace:\s*["']?([^"'\s#]+)/m.exec(`${body}\n`) || [])[1] });
  };
  text.split("\n").forEach((line, i) => {
    if (!/^---(\s|$)/.test(line)) { lines.push(line); return; }
    end();
    from = i + 1;
    lines = [];
  });
  end();
  return found;
};

// The line of a field, "spec.tasks[1].name", by indentation; 0: not found.
const lineOf = (doc, field) => {
  const parts = String(field || "").split(/\.|(\[\d+\])/).filter(Boolean), lines = doc.body.split("\n");
  let at = -1, indent = -1;
  for (const part of parts) {
    const index = /^\[(\d+)\]$/.exec(part);
    let left = index ? Number(index[1]) : 0, found = -1, items = -1;
    for (let i = at + (index || at < 0 ? 1 : 0); i < lines.length && found < 0; i++) {
      const [, space, rest] = /^(\s*)(.*)$/.exec(lines[i]);
      if (!rest || rest.startsWith("#")) continue;
      if (i > at && space.length < indent) break;
      if (index && rest.startsWith("-")) {
        items = items < 0 ? space.length : items;
        if (space.length === items && left-- === 0) { found = i; indent = items + 1; }
      } else if (!index && rest.replace(/^(-\s+)+/, "").startsWith(`${part}:`)) {
        found = i;
        indent = Math.max(indent, space.length);
      }
    }
    if (found < 0) break;
    at = found;
  }
  return at < 0 ? 0 : doc.from + at + 1;
};

const served = new Map(); // kinds by group version

// The URL where an object of the kind is created, by the server's discovery.
const collection = async (doc, namespace) => {
  if (!doc.kind || !doc.apiVersion) throw new Error("apiVersion and kind are required");
  const root = doc.apiVersion.includes("/") ? `/apis/${doc.apiVersion}` : `/api/${doc.apiVersion}`;
  if (!served.has(root)) served.set(root, (await request("GET", root)).resources);
  const found = served.get(root).find((r) => r.kind === doc.kind && !r.name.includes("/"));
  if (!found) throw new Error(`${doc.apiVersion} has no kind ${doc.kind}`);
  return root + (found.namespaced ? `/namespaces/${encodeURIComponent(doc.namespace || namespace || "default")}` : "") + `/${found.name}`;
};

const post = async (doc, namespace, params) =>
  request("POST", `${await collection(doc, namespace)}?fieldValidation=Strict&fieldManager=pumice-ui${params}`, { body: doc.body, type: "application/yaml" });

export const submitPage = (app) => {
  const text = el("textarea", { id: "yaml", spellcheck: "false", "aria-label": "YAML", oninput: () => later() });
  const verdict = el("div", { id: "verdict", role: "status", "aria-live": "polite" });
  const button = el("button", { type: "button", class: "primary", onclick: () => submit() }, "Submit");
  let timer = 0, round = 0;
  app.atEnd(() => clearTimeout(timer));
  text.value = sessionStorage.getItem("draft") || example;

  const problemsOf = async (doc) => {
    try { await post(doc, app.namespace(), "&dryRun=All"); return []; } catch (e) {
      const causes = e.causes && e.causes.length ? e.causes.map((c) => ({ field: c.field, text: c.message })) : [{ text: e.message }];
      return causes.map((c) => ({ ...c, line: lineOf(doc, c.field) }));
    }
  };
  const check = async () => {
    const mine = ++round, docs = documents(text.value), found = [];
    for (const doc of docs) found.push(...await problemsOf(doc));
    if (mine !== round) return false; // it was typed on
    button.disabled = found.length > 0 || !docs.length;
    verdict.replaceChildren(found.length ? el("ul", { class: "problems" }, found.map((p) => el("li", {},
      p.line ? `line ${p.line}: ` : "", p.field ? el("code", {}, p.field, " ") : "", p.text))) :
      el("p", { class: "fine" }, docs.length ? `Valid: ${docs.map((d) => d.kind).join(", ")}` : "Nothing to submit"));
    return !found.length && docs.length > 0;
  };
  const later = () => {
    sessionStorage.setItem("draft", text.value);
    clearTimeout(timer);
    timer = setTimeout(check, 300);
  };
  const submit = async () => {
    if (!await check()) return;
    const made = [];
    try {
      for (const doc of documents(text.value)) made.push(await post(doc, app.namespace(), ""));
    } catch (e) { app.say(`${made.length ? `After ${made.map((m) => m.metadata.name).join(", ")}: ` : ""}${e.message}`); return; }
    sessionStorage.removeItem("draft");
    const job = made.find((m) => m.kind === "Job");
    if (job) { app.go(pathOf("job", job.metadata.namespace, job.metadata.name)); return; }
    verdict.replaceChildren(el("p", { class: "fine" }, "Created: ", made.map((m) => [`${m.kind} ${m.metadata.name} `])), link("#/jobs", "Show jobs"));
  };
  text.addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) submit(); });
  check();
  return { node: el("div", {}, el("h1", {}, "Submit"), el("p", { class: "faint" }, "Enter a file as for kubectl create -f. The server validates it while you type. Press Ctrl+Enter to submit."),
    text, verdict, el("p", { class: "row" }, button)), redraw: () => {} };
};
