// app.js - sign-in, navigation and keyboard
//
//   api.js    requests, lists kept up to date       draw.js   elements, tables, times, amounts
//   jobs.js   all jobs, one job                     gantt.js  pods over time; logs.js  their output; why.js  why a job waits
//   places.js queues, nodes, pods                   submit.js a YAML file, checked as it is typed
import { follow, hasToken, request, setToken, urlOf } from "./api.js";
import { ask, el, tick } from "./draw.js";
import { jobPage, jobsPage } from "./jobs.js";
import { nodesPage, podPage, podsPage, queuesPage } from "./places.js";
import { submitPage } from "./submit.js";

const pages = { jobs: jobsPage, job: jobPage, pods: podsPage, pod: podPage, queues: queuesPage, nodes: nodesPage, submit: submitPage };
const menu = [["jobs", "Jobs", "j"], ["pods", "Pods", "p"], ["queues", "Queues", "q"], ["nodes", "Nodes", "n"], ["submit", "Submit", "s"]];
const parents = { job: "jobs", pod: "pods" };

const at = (id) => document.getElementById(id);
let page = null, endings = [], noticeTimer = 0, troubles = new Map();

// ---- the interface for pages ----

const say = (text, isLasting) => {
  clearTimeout(noticeTimer);
  at("notice").textContent = text;
  at("notice").hidden = !text;
  if (text && !isLasting) noticeTimer = setTimeout(() => { at("notice").hidden = true; }, 8000);
};

const showTrouble = () => {
  const all = [...troubles.values()], first = all.find((e) => e.status === 401) || all[0];
  if (!first) { if (at("notice").dataset.trouble) { say(""); delete at("notice").dataset.trouble; } return; }
  if (first.status === 401) { login("The token is invalid or has expired."); return; }
  at("notice").dataset.trouble = "yes";
  say(first.status === 403 && !namespace() ? `${first.message}. Choose a namespace above.` : first.status ? first.message :
    "The server cannot be reached; the page may be out of date. Retrying…", true);
};

const namespace = () => at("namespace").value.trim();
const app = {
  say,
  namespace,
  go: (hash) => { location.hash = hash; },
  atEnd: (f) => endings.push(f),
  matches: (...texts) => {
    const wanted = at("filter").value.trim().toLowerCase();
    return !wanted || texts.some((t) => String(t || "").toLowerCase().includes(wanted));
  },
  follow: (kind, options, changed) => {
    const key = Symbol(kind), where = options.namespace || (options.everywhere ? "" : namespace());
    const f = follow(kind, { ...options, namespace: where }, changed, (e) => {
      if (e) troubles.set(key, e); else troubles.delete(key);
      showTrouble();
    });
    endings.push(f.stop);
    return f;
  },
};

// ---- pages ----

const close = () => {
  for (const end of endings) end();
  endings = [];
  troubles = new Map();
};

const show = () => {
  const [name, ...args] = location.hash.replace(/^#\//, "").split("/").map(decodeURIComponent);
  const make = pages[name] || jobsPage, shown = pages[name] ? name : "jobs";
  close();
  say("");
  document.title = `${args[1] || shown} · Pumice`;
  at("nav").replaceChildren(...menu.map(([id, text]) => el("a", { href: `#/${id}`, "aria-current": (parents[shown] || shown) === id ? "page" : null }, text)));
  page = make(app, ...args);
  at("main").replaceChildren(page.node);
};

const loadNamespaces = async () => {
  try {
    const all = await request("GET", urlOf("Namespace"));
    at("namespaces").replaceChildren(...all.items.map((n) => el("option", { value: n.metadata.name })));
  } catch { /* without the right to list them, the user types the name */ }
};

// ---- sign-in ----

const login = (why) => {
  close();
  page = null; // after the next sign-in, "back" shows the same page
  setToken("");
  at("who").replaceChildren();
  const token = el("input", { type: "password", id: "token", autocomplete: "off", size: 44, required: true });
  at("main").replaceChildren(el("form", { class: "box", id: "login", onsubmit: (e) => { e.preventDefault(); setToken(token.value.trim()); begin(); } },
    el("h1", {}, "Sign in"), why && el("p", {}, why),
    el("p", {}, "Use the token of a user of this server. On the server's machine, ", el("code", {}, "pumice server token"), " prints a token of the administrator, valid for a day; ",
      el("code", {}, "pumice server user add NAME --token"), " creates users. In a kubeconfig the token is the value of ", el("code", {}, "token:"), "."),
    el("label", {}, "Token ", token), " ", el("button", { class: "primary" }, "Sign in")));
  token.focus();
};

const begin = async () => {
  let me = null;
  try {
    me = await request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", { body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" } });
  } catch (e) { login(e.status === 401 || e.status === 403 ? (hasToken() ? "The token is invalid." : "") : e.message); return; }
  const name = me.status.userInfo.username;
  if (name === "system:anonymous") { login(""); return; }
  at("who").replaceChildren(el("span", {}, `${name} `), el("button", { type: "button", onclick: () => login("") }, "Sign out"));
  loadNamespaces();
  show();
};

// ---- keyboard ----

const keys = [["/", "filter"], ["g j, g p, g q, g n, g s", "jobs, pods, queues, nodes, submit"], ["j, k", "next, previous row"], ["Enter", "open the row"],
  ["Esc", "back"], ["l, t", "logs, times (of a job)"], ["d", "dark or light"], ["?", "this help"]];
const help = () => ask("Keys", el("dl", { class: "facts" }, keys.map(([k, v]) => [el("dt", {}, el("kbd", {}, k)), el("dd", {}, v)])));

const move = (step) => {
  const rows = [...document.querySelectorAll("#main tbody tr[data-key]")], now = rows.findIndex((r) => r.getAttribute("aria-selected") === "true");
  if (!rows.length) return;
  if (now >= 0) rows[now].removeAttribute("aria-selected");
  const next = rows[Math.min(Math.max(now + step, 0), rows.length - 1)];
  next.setAttribute("aria-selected", "true");
  next.scrollIntoView({ block: "nearest" });
};
const openRow = () => {
  const key = document.querySelector("#main tr[aria-selected=true]")?.dataset.key;
  if (key && key.startsWith("#/")) app.go(key);
};
const turnTheme = () => {
  const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
};

let isGoing = false;
const single = { "/": () => at("filter").focus(), "?": help, j: () => move(1), k: () => move(-1), Enter: openRow, d: turnTheme };
document.addEventListener("keydown", (e) => {
  const isTyping = e.target.closest("input, textarea, select") !== null || at("dialog").open;
  if (e.key === "Escape" && e.target.closest("#filter, #namespace")) { e.target.blur(); return; }
  if (isTyping || e.ctrlKey || e.metaKey || e.altKey) return;
  if (isGoing) {
    isGoing = false;
    const found = menu.find(([, , key]) => key === e.key);
    if (found) app.go(`#/${found[0]}`);
    return;
  }
  if (e.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); return; }
  if (e.key === "Escape") { const name = location.hash.split("/")[1]; if (parents[name]) app.go(`#/${parents[name]}`); return; }
  if (e.key === "Enter" && e.target.closest("a, button")) return;
  const act = (page && page.keys && page.keys[e.key]) || single[e.key];
  if (act) { e.preventDefault(); act(); }
});

// ---- start ----

if (localStorage.getItem("theme")) document.documentElement.dataset.theme = localStorage.getItem("theme");
at("namespace").value = localStorage.getItem("namespace") || "";
at("namespace").addEventListener("change", () => { localStorage.setItem("namespace", namespace()); show(); });
at("filter").addEventListener("input", () => page && page.redraw());
setInterval(tick, 1000);
at("scope").addEventListener("submit", (e) => e.preventDefault());
window.addEventListener("hashchange", () => { if (page) show(); });

const given = /^#token=(.+)$/.exec(location.hash); // a link with a token in it: it is not sent anywhere, and not kept in sight
if (given) { setToken(decodeURIComponent(given[1])); history.replaceState(null, "", "#/jobs"); }
begin();
