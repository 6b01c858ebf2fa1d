// gantt.js - the pods of a job as bars over time: waiting for a node, starting, running, ended
import { msOf, span, svg, el, podStatus } from "./draw.js";

const ROW = 20, MANY = 64, LETTER = 7, ROWS_MAX = 100, SLICES = 160;
const classes = [["bad", "failed"], ["good", "succeeded"], ["running", "runs"], ["starting", "starts"], ["pending", "waits for a node"]];

const conditionMs = (pod, type) => msOf(((pod.status || {}).conditions || []).find((c) => c.type === type && c.status === "True")
  ?.lastTransitionTime);

// The phases of a pod: [from, to, class] in order.
const phasesOf = (pod, now) => {
  const statuses = (pod.status || {}).containerStatuses || [];
  const created = msOf(pod.metadata.creationTimestamp), placed = conditionMs(pod, "PodScheduled");
  const begun = Math.min(...statuses.map((c) => msOf((c.state.running || c.state.terminated || {}).startedAt)).filter((t) => t));
  const ends = statuses.map((c) => msOf((c.state.terminated || {}).finishedAt)).filter((t) => t);
  const phase = (pod.status || {}).phase, isOver = phase === "Succeeded" || phase === "Failed";
  const end = isOver && ends.length ? Math.max(...ends) : pod.goneMs || now;
  const bars = [[created, placed || begun, "pending"], [placed, begun, "starting"],
    [begun, end, phase === "Succeeded" ? "good" : phase === "Failed" ? "bad" : "running"]];
  return bars.map(([from, to, what]) => [from, Number.isFinite(to) ? to : end, what])
    .filter(([from, to]) => Number.isFinite(from) && to >= from);
};

const taskOf = (pod) => (pod.metadata.annotations || {})["volcano.sh/task-spec"] || "";

// One row for each pod, or for each task if there are too many pods.
const rowsOf = (pods, now) => {
  const rows = pods.map((pod) => ({ name: pod.metadata.name, bars: phasesOf(pod, now), pod, status: podStatus(pod), height: ROW }));
  if (rows.length <= ROWS_MAX) return rows;
  const tasks = new Map();
  for (const row of rows) {
    const task = taskOf(row.pod) || "pods";
    if (!tasks.has(task)) tasks.set(task, { name: "", members: [], height: MANY });
    tasks.get(task).members.push(row.bars);
  }
  for (const [task, row] of tasks) row.name = `${task} (${row.members.length})`;
  return [...tasks.values()];
};

// The number of pods of a task in each phase over time, stacked: [x, width, y, height, class, n] as fractions of 1.
const shares = (members, from, to) => {
  const counts = classes.map(() => new Array(SLICES).fill(0)), all = members.length, found = [];
  const slice = (ms) => Math.round(((ms - from) / (to - from)) * SLICES);
  for (const bars of members)
    for (const [a, b, what] of bars) {
      const row = counts[classes.findIndex(([c]) => c === what)];
      for (let i = slice(a); i < Math.min(Math.max(slice(b), slice(a) + 1), SLICES); i++) row[i] += 1;
    }
  const below = new Array(SLICES).fill(0);
  counts.forEach((row, c) => {
    let last = null;
    row.forEach((n, i) => {
      const y = below[i];
      below[i] += n;
      if (last && last.n === n && last.y === y) { last.to = i + 1; return; }
      last = { n, y, from: i, to: i + 1 };
      if (n) found.push({ last, what: classes[c] });
    });
  });
  return found.map(({ last, what: [what, words] }) => ({ x: last.from / SLICES, width: (last.to - last.from) / SLICES,
    y: 1 - (last.y + last.n) / all, height: last.n / all, what, text: `${last.n} of ${all}: ${words}` }));
};

// `width` is the width of the chart's place: labels keep their size, bars use the rest.
export const gantt = (pods, open, width) => {
  if (!pods.length) return el("p", { class: "faint" }, "No pods yet.");
  const now = Date.now(), order = (p) => [taskOf(p), Number((p.metadata.labels || {})["volcano.sh/task-index"] || 0)];
  const sorted = [...pods].sort((a, b) => { const [s, i] = order(a), [t, k] = order(b); return s < t ? -1 : s > t ? 1 : i - k; });
  const rows = rowsOf(sorted, now), bars = rows.flatMap((r) => r.bars || r.members.flat());
  const from = bars.reduce((t, b) => Math.min(t, b[0]), now), to = bars.reduce((t, b) => Math.max(t, b[1]), from + 1000);
  const letters = Math.min(Math.max(...rows.map((r) => r.name.length)), Math.floor(width / LETTER / 3)), left = letters * LETTER + 12;
  const room = width - left - 24, x = (ms) => left + ((ms - from) / (to - from)) * room;
  const ticks = width < 500 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  let y = ROW;
  const one = (row, top) => row.bars.map(([a, b, what]) => svg("rect", { class: what, x: x(a), y: top + 3, height: ROW - 6, rx: 2,
    width: Math.max(x(b) - x(a), 1.5), onclick: () => open(row.pod) },
  svg("title", {}, `${row.name}: ${what === "good" || what === "bad" ? row.status : what} ${span(b - a)}`)));
  const many = (row, top) => shares(row.members, from, to).map((s) => svg("rect", { class: s.what, x: left + s.x * room, width: s.width * room,
    y: top + 3 + s.y * (MANY - 6), height: s.height * (MANY - 6) }, svg("title", {}, s.text)));
  const draw = (row) => {
    const top = y;
    y += row.height;
    return svg("g", { class: row.pod && row.pod.goneMs ? "gone" : null },
      svg("text", { x: left - 8, y: top + row.height / 2 + 4, "text-anchor": "end" }, row.name.length > letters ? `…${row.name.slice(1 - letters)}` : row.name),
      row.bars ? one(row, top) : many(row, top));
  };
  const drawn = rows.map(draw), height = y + 8;
  return [svg("svg", { class: "gantt", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "pods over time" },
    ticks.map((t) => from + (to - from) * t).map((t) => [svg("line", { x1: x(t), x2: x(t), y1: ROW, y2: height }),
      svg("text", { class: "faint", x: x(t), y: ROW - 6, "text-anchor": "middle" }, span(t - from))]), drawn),
  el("p", { class: "legend" }, [...classes].reverse().map(([c, t]) => el("span", {}, el("i", { class: c }), t)))];
};
