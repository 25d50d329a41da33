#include "top/web_page.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tri::tools {
namespace {

// NONCE and INTERVAL_MS are put in. Texts of the job only ever become text nodes, never markup.
constexpr std::string_view page = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>trireme top</title>
<style nonce="NONCE">
body { font: 14px/1.4 system-ui, sans-serif; margin: 1.5em; color: #222; background: #fff; }
h1 { font-size: 1.2em; margin: 0 0 .2em; }
h2 { font-size: 1em; margin: 1.4em 0 .4em; }
#state { color: #555; }
#state.ended { color: #a33; font-weight: bold; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .1em .7em; text-align: right; }
th { border-bottom: 1px solid #999; font-weight: normal; color: #555; }
svg text { font: 11px system-ui, sans-serif; fill: #555; }
.busy { fill: #2b6cb0; } .over { fill: #dd8b2a; } .idle { fill: #e8ecf0; } .gap { fill: none; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; }
.key.k-busy { background: #2b6cb0; } .key.k-over { background: #dd8b2a; } .key.k-idle { background: #e8ecf0; }
@media (prefers-color-scheme: dark) {
  body { background: #181a1d; color: #ddd; } svg text, th, #state { fill: #aaa; color: #aaa; }
  .idle { fill: #30353b; } .key.k-idle { background: #30353b; }
}
</style>
</head>
<body>
<h1 id="job">trireme top</h1>
<div id="state">no figures yet</div>
<h2>Timelines <span class="key k-busy"></span>busy <span class="key k-over"></span>overhead
<span class="key k-idle"></span>idle</h2>
<svg id="timelines" width="900" height="20" role="img" aria-label="busy, overhead and idle time over time"></svg>
<h2>Messages per second, from (down) to (across)</h2>
<svg id="matrix" width="300" height="20" role="img" aria-label="messages per second between PEs"></svg>
<h2>Now</h2>
<table><thead><tr id="columns"></tr></thead><tbody id="rows"></tbody></table>
<script nonce="NONCE">
"use strict";
const interval = INTERVAL_MS, shown = 120, mostInMatrix = 64, mostTimelines = 256;
const history = [];
let last = 0, misses = 0;
const byId = id => document.getElementById(id);
const svg = (name, attributes, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
};
const short = value => {
  const units = ["", "k", "M", "G", "T"];
  let unit = 0;
  while (value >= 9999.5 && unit < 4) { value /= 1000; ++unit; }
  return value.toFixed(0) + units[unit];
};
const percent = value => (100 * value).toFixed(1);

function drawTimelines(figures) {
  const left = 50, width = 840, height = 14, step = width / shown, rows = figures.rows.slice(0, mostTimelines);
  const picture = byId("timelines");
  picture.replaceChildren();
  picture.setAttribute("height", rows.length * (height + 2) + 4);
  rows.forEach((row, line) => {
    const y = line * (height + 2);
    picture.append(svg("text", {x: left - 6, y: y + height - 3, "text-anchor": "end"}, row.number));
    history.forEach((look, at) => {
      const then = look.rows[line];
      if (!then) return;
      const x = left + (shown - history.length + at) * step;
      const busy = then.busy * height, over = then.overhead * height;
      picture.append(svg("rect", {class: "idle", x: x, y: y, width: step, height: height}),
        svg("rect", {class: "over", x: x, y: y + height - busy - over, width: step, height: over}),
        svg("rect", {class: "busy", x: x, y: y + height - busy, width: step, height: busy}));
    });
  });
}

function drawMatrix(figures) {
  const total = Math.max(figures.job.rows, 1), group = Math.ceil(total / mostInMatrix), size = Math.ceil(total / group);
  const cell = Math.max(6, Math.min(24, 480 / size)), left = 50, top = 16;
  const sums = new Map();
  let most = 0;
  for (const each of figures.messages) {
    const key = Math.floor(each.from / group) * size + Math.floor(each.to / group);
    sums.set(key, (sums.get(key) || 0) + each.per_s);
    most = Math.max(most, sums.get(key));
  }
  const picture = byId("matrix");
  picture.replaceChildren();
  picture.setAttribute("width", left + size * cell + 10);
  picture.setAttribute("height", top + size * cell + 4);
  for (let i = 0; i < size; ++i) {
    if (i % Math.ceil(size / 16) !== 0) continue;
    picture.append(svg("text", {x: left - 6, y: top + i * cell + cell - 2, "text-anchor": "end"}, i * group),
      svg("text", {x: left + i * cell + cell / 2, y: top - 4, "text-anchor": "middle"}, i * group));
  }
  picture.append(svg("rect", {class: "idle", x: left, y: top, width: size * cell, height: size * cell}));
  for (const [key, rate] of sums) {
    const made = svg("rect", {class: "busy pair", x: left + key % size * cell, y: top + Math.floor(key / size) * cell,
      width: cell - 1, height: cell - 1, "fill-opacity": 0.15 + 0.85 * rate / most});
    made.append(svg("title", {}, Math.floor(key / size) * group + " to " + key % size * group + ": " + short(rate) + "/s"));
    picture.append(made);
  }
}

function drawTable(figures) {
  const mpi = figures.job.kind === "mpi";
  const columns = [[mpi ? "rank" : "PE", row => row.number], ["process", row => row.process],
    ["busy %", row => percent(row.busy)], ["overhead %", row => mpi ? "" : percent(row.overhead)],
    ["idle %", row => percent(row.idle)], ["sent/s", row => short(row.sent_per_s)],
    ["received/s", row => short(row.received_per_s)], ["bytes/s", row => short(row.bytes_per_s)],
    [mpi ? "helped/s" : "steals/s", row => short(row.steals_per_s)], ["queue", row => mpi ? "" : row.queue],
    ["migrated", row => mpi ? "" : row.totals.migrations]];
  const element = (name, text) => { const made = document.createElement(name); made.textContent = text; return made; };
  byId("columns").replaceChildren(...columns.map(each => element("th", each[0])));
  byId("rows").replaceChildren(...figures.rows.map(row => {
    const line = document.createElement("tr");
    line.append(...columns.map(each => element("td", each[1](row))));
    return line;
  }));
}

function show(figures) {
  const job = figures.job, state = byId("state");
  document.title = "trireme top " + job.number;
  byId("job").textContent = "job " + job.number + ": " + job.program;
  const away = figures.hosts.filter(host => host.state !== "answers");
  state.textContent = job.processes + " processes, " + job.rows + (job.kind === "mpi" ? " ranks" : " PEs") + ", running for " +
    job.age_s.toFixed(0) + " s; busiest " + figures.imbalance.toFixed(2) + " of the mean" +
    away.map(host => host.state === "lost" ? "; host " + host.name + " is lost" :
      "; host " + host.name + " does not answer, for " + host.silent_s.toFixed(1) + " s").join("") +
    (figures.has_ended ? "; the job has ended" : "");
  state.classList.toggle("ended", figures.has_ended);
  if (figures.interval_s > 0) history.push(figures);
  while (history.length > shown) history.shift();
  drawTimelines(figures);
  drawMatrix(figures);
  drawTable(figures);
}

async function look() {
  let ended = false;
  try {
    const figures = await (await fetch("figures.json")).json();
    misses = 0;
    if (figures.look !== last) { last = figures.look; show(figures); }
    ended = figures.has_ended;
  } catch (problem) {
    ended = ++misses >= 3;
    if (ended) {
      byId("state").textContent = "trireme top does not answer any more";
      byId("state").classList.add("ended");
    }
  }
  if (!ended) setTimeout(look, interval);
}
look();
</script>
</body>
</html>
)html";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

made_page web_page(const std::string& nonce, double interval_s) {
  made_page made{std::string(page), nonce};
  replace_all(made.text, "NONCE", nonce);
  replace_all(made.text, "INTERVAL_MS", fmt::format("{:.0f}", interval_s * 1000));
  return made;
}

}  // namespace tri::tools
