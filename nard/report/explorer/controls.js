// What the user chooses, and what the page says about it. Names are only ever set as text.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
// centre: the node that a large network is drawn around, and around: the outputs drawn then; null if all are drawn.
// wish: the user's kind of threshold, where the method allows it; limits: the last one of either kind.
const state = { cohort: 0, other: null, method: null, wish: "q", limits: { q: null, strength: 0 }, chosen: null, centre: null, around: null, labels: new Map() };
const network = new Network($("network"), (id) => { state.chosen = id; update(); });

function html(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children.filter((child) => child !== null));
  return element;
}

const cohort = () => data.cohorts[state.cohort];
const cohorts = () => [cohort(), ...(state.other === null ? [] : [data.cohorts[state.other]])];
const fits = () => cohorts().map((one) => one.fits[state.method]);

function options(select, entries, value) {
  select.replaceChildren(...entries.map(([key, text]) => html("option", { value: key, textContent: text })));
  select.value = value;
}

function titled(one) {
  return plain(one.title) + (one.simulated ? " (simulated)" : "");
}

// Cohorts that can be compared with the one shown: of its kind, with the same method fitted.
function comparable() {
  return data.cohorts.map((one, i) => [i, one])
    .filter(([i, one]) => i !== state.cohort && one.kind === cohort().kind && state.method in one.fits);
}

// Makes the choices fit each other, after the cohort, the method or the second cohort has changed.
function settle() {
  const methods = Object.keys(cohort().fits);
  if (!methods.includes(state.method)) state.method = methods.includes(data.reference) ? data.reference : methods[0];
  const others = comparable();
  if (!others.some(([i]) => i === state.other)) state.other = null;
  options($("cohort"), data.cohorts.map((one, i) => [i, titled(one)]), state.cohort);
  options($("method"), methods.map((method) => [method, cohort().fits[method].title]), state.method);
  options($("other"), [["", "nothing"], ...others.map(([i, one]) => [i, titled(one)])], state.other ?? "");
  $("other").disabled = !others.length;
  const tested = fits().every((fit) => fit.tested);
  $("by").options[0].disabled = !tested;
  state.by = tested ? state.wish : "strength";
  $("by").value = state.by;
  if (state.chosen && !everybody().some(({ id }) => id === state.chosen)) state.chosen = null;
  setSlider();
  if (isLarge() && state.chosen === null) begin();
}

// Too many outputs for one drawing.
function isLarge() {
  return new Set(cohorts().flatMap((one) => one.outputs.map((node) => node.name))).size > data.most_nodes;
}

// A large network is entered at its hub.
function begin() {
  const hub = hubOf(findings("edges"), findings("associations"), cohort().outputs);
  state.chosen = hub === null ? null : `output:${hub}`;
  state.centre = state.chosen;
}

function setSlider() {
  const slider = $("limit");
  if (state.by === "q") {
    const wanted = state.limits.q ?? Math.min(...fits().map((fit) => fit.fdr));
    state.steps = qSteps(fits());
    slider.max = state.steps.length - 1;
    slider.value = Math.max(state.steps.findLastIndex((q) => q <= wanted), 0);
  } else {
    const strongest = Math.max(0, ...fits().flatMap((fit) => fit.edges.value.map(Math.abs)));
    state.steps = Array.from({ length: Math.ceil(strongest * 100) + 1 }, (_, i) => i / 100);
    slider.max = state.steps.length - 1;
    slider.value = Math.round(state.limits.strength * 100);
  }
}

function threshold() {
  return { by: state.by, limit: state.steps[Number($("limit").value)] };
}

function thresholdText() {
  const { by, limit } = threshold();
  return by === "q" ? `q ≤ ${limit >= 0.001 ? limit : limit.toExponential()}` : `selected and |partial correlation| ≥ ${limit.toFixed(2)}`;
}

// Inputs and outputs of the cohorts shown, each once.
function everybody() {
  const found = new Map();
  for (const one of cohorts()) {
    for (const side of ["output", "input"]) {
      for (const node of one[`${side}s`]) {
        const id = `${side}:${node.name}`;
        if (!found.has(id)) found.set(id, { id, side, node });
      }
    }
  }
  return [...found.values()];
}

// Side and name of a node's id.
function parted(id) {
  return id === null ? [null, null] : [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
}

// How the file spells the name of an input or output.
function labelOf(id) {
  return state.labels.get(id);
}

function measured({ side, node }) {
  return `${plain(node.kind)} (${cohort().words[`${side}s`]})`;
}

function findings(what) {
  const directed = what === "associations";
  const limit = threshold();
  const lists = cohorts().map((one, i) =>
    rowsOf(fits()[i][what], directed ? one.inputs : one.outputs, one.outputs).map((row) => ({ ...row, passing: passes(row, limit, !directed) })));
  return compared(lists[0], lists[1] ?? null, directed);
}

function statusWords() {
  const [first, second] = cohorts().map((one) => plain(one.title));
  return { positive: "positive", negative: "negative", shared: "shared", "only-first": `only ${first}`, "only-second": `only ${second}` };
}

// Everything anew from the choices.
function update() {
  const edges = findings("edges");
  const nodes = everybody();
  state.labels = new Map(nodes.map(({ id, node }) => [id, node.label]));
  const everyOutput = nodes.filter(({ side }) => side === "output").map(({ node }) => node);
  const [side, name] = parted(state.chosen);
  const associations = findings("associations");
  const mine = side === null ? [] : associations.filter((one) => (side === "output" ? one.b : one.a) === name);
  state.centre = state.chosen ?? state.centre;
  state.around = isLarge() && state.labels.has(state.centre) ? around(...parted(state.centre), edges, associations) : null;
  const inside = (edge) => state.around === null || (state.around.has(edge.a) && state.around.has(edge.b));
  const outputs = state.around === null ? everyOutput : onCircle(everyOutput.filter((node) => state.around.has(node.name)));
  const shown = edges.filter(inside).slice(0, Number($("most").value));
  const drawn = side === "output" ? mine.slice(0, MOST_INPUTS) : mine;
  const wanted = side === "input" ? new Set([name]) : new Set(drawn.map((one) => one.a));
  const degree = new Map(), strength = new Map();
  for (const edge of shown) {
    for (const end of [edge.a, edge.b]) {
      degree.set(end, (degree.get(end) ?? 0) + 1);
      strength.set(end, (strength.get(end) ?? 0) + edge.strength);
    }
  }
  const near = new Set(side === "input" ? mine.map((one) => one.b)
    : shown.filter((edge) => edge.a === name || edge.b === name).flatMap((edge) => [edge.a, edge.b]));
  network.draw({
    key: JSON.stringify([state.cohort, state.other, state.method, ...(state.around ?? [])]),
    outputs,
    byName: new Map(outputs.map((node) => [node.name, node])),
    inputs: nodes.filter((one) => one.side === "input" && wanted.has(one.node.name)).map(({ node }) => node),
    edges: shown,
    associations: drawn,
    chosen: state.chosen,
    near: side === null ? new Set() : near,
    degree,
    label: labelOf,
    strength,
    titles: cohorts().map((one) => plain(one.title)),
    empty: `no edges at ${thresholdText()}`,
    elsewhere: state.around !== null,
  });
  state.shown = shown;
  state.groups = groupsOf(outputs);
  $("limit-text").textContent = thresholdText();
  $("limit").setAttribute("aria-valuetext", thresholdText());
  state.said = statusLines(edges, shown, outputs.length, everyOutput.length);
  $("status").textContent = state.said.join(" ");
  $("simulated").hidden = !cohorts().some((one) => one.simulated);
  $("simulated").textContent = `SIMULATED DATA: ${cohorts().filter((one) => one.simulated).map((one) => plain(one.title)).join(", ")}`;
  showCautions();
  showHidden();
  drawLegend();
  fillPanel(side, name, edges, shown, mine, drawn.length);
}

function cautions() {
  return fits().flatMap((fit, i) => fit.cautions.map((text) => `${plain(cohorts()[i].title)}: ${text}`));
}

function showCautions() {
  $("cautions").hidden = !cautions().length;
  $("cautions").replaceChildren(...cautions().map((text) => html("li", { textContent: text })));
}

// How many hidden inputs the findings are adjusted for, and what loads most on each.
function showHidden() {
  const lists = fits().map((fit) => fit.hidden);
  const total = lists.reduce((sum, list) => sum + list.length, 0);
  $("hidden-inputs").hidden = !total;
  $("hidden-count").textContent = hiddenText();
  $("hidden-list").replaceChildren(...lists.flatMap((list, i) => list.map((one, k) => html("li", {
    textContent: `${lists.length > 1 ? `${plain(cohorts()[i].title)}, ` : ""}hidden input ${k + 1}: ${loadings(one, cohorts()[i].outputs)}`,
  }))));
}

function hiddenText() {
  const counts = fits().map((fit, i) => [fit.hidden.length, plain(cohorts()[i].title)]).filter(([number]) => number);
  const where = (title) => (state.other === null ? "" : ` in ${title}`);
  return `Adjusted for ${counts.map(([number, title]) => `${number} hidden input${number === 1 ? "" : "s"}${where(title)}`).join(" and ")}.`;
}

function statusLines(edges, shown, places, everywhere) {
  const fit = fits()[0];
  const parts = [state.around !== null
    ? `Around ${plain(labelOf(state.centre))}: ${places} of ${everywhere} ${cohort().words.outputs} and ${shown.length} of ${edges.length} edges; choose a node, or search, to go on`
    : shown.length < edges.length
    ? `The ${shown.length} strongest of ${edges.length} edges are shown, ${edges.length - shown.length} are hidden`
    : `${edges.length} edges are shown, none is hidden`];
  parts[0] += ` (${thresholdText()}).`;
  if (state.other !== null) {
    const words = statusWords();
    const opposed = edges.filter((edge) => edge.opposed).length;
    parts.push(["shared", "only-first", "only-second"].map((status) => `${count(edges, status)} ${words[status]}`).join(", ") + ".");
    if (opposed) parts.push(`Of the shared ones ${opposed} have opposite signs.`);
  }
  fits().forEach((one, i) => {
    const missing = one.edges.found - one.edges.selected.reduce((a, b) => a + b, 0);
    if (missing) parts.push(`${missing} more findings of ${plain(cohorts()[i].title)} are in its table only.`);
  });
  if (fits().some((one) => one.hidden.length)) parts.push(hiddenText());
  if (!fit.tested) parts.push(`${fit.title} has no q-values: it selects by its own rule.`);
  if (network.labelled < places) parts.push(`${network.labelled} of ${places} ${cohort().words.outputs} are labelled; zoom in for more.`);
  return parts;
}

function groupsOf(nodes) {
  return [...new Map(nodes.map((node) => [node.pathways[0], node.colour]))];
}

function statusesShown() {
  const words = statusWords();
  return (state.other === null ? ["positive", "negative"] : ["shared", "only-first", "only-second"]).map((status) => [status, words[status]]);
}

function drawLegend() {
  const line = (status) => {
    const svg = svgElement("svg", { width: 28, height: 10, "aria-hidden": true });
    svg.append(svgElement("path", { class: `key ${status}`, "stroke-width": 2.5, d: "M1 5H27" }));
    return svg;
  };
  $("legend").replaceChildren(
    ...statusesShown().map(([status, text]) => html("li", {}, line(status), text)),
    ...state.groups.map(([name, colour]) => html("li", {}, chip(colour), plain(name))),
  );
}

function chip(colour) {
  const element = html("span", { className: "chip" });
  element.style.background = colour;
  return element;
}

// Tables of the panel.

function nameButton(id) {
  const button = html("button", { type: "button", className: "name", textContent: plain(labelOf(id)) });
  button.addEventListener("click", () => { state.chosen = id; update(); $("panel-title").focus(); });
  return button;
}

function valueCell(row) {
  const notes = [interval(row), row.q === null ? "not tested" : `q = ${qText(row.q)}`];
  const lines = [...(state.other === null ? [notes.join(" · ")] : notes), naming(row), row.passing ? "" : "does not pass"].filter(Boolean);
  return html("td", { className: row.passing ? "n" : "n below" }, signed(row.value), ...lines.map((text) => html("small", { textContent: text })));
}

// A pair that a cohort's list lacks: not measured there, or further down its table than the page goes.
function absentCell(finding, which, what) {
  const { beyond } = fits()[which][what === "weight" ? "associations" : "edges"];
  const reason = lackedNames(finding, which, what).length ? "not measured" : beyond === null ? "not selected" : `q ≥ ${qText(beyond)}`;
  return html("td", { className: "n below" }, "–", html("small", { textContent: reason }));
}

// Inputs that could take the place of the named one, by cohort: a line that opens.
function standIns(finding) {
  const rows = [finding.first, finding.second].map((row, which) => [row, which]).filter(([row]) => row?.passing && row.standIns.length);
  return rows.map(([row, which]) => {
    const many = row.standIns.length;
    const where = state.other === null ? "" : ` in ${plain(cohorts()[which].title)}`;
    return html("details", { className: "stand-ins", open: many <= 3 },
      html("summary", { textContent: `${many} stand-in${many === 1 ? "" : "s"}${where}` }),
      ...row.standIns.flatMap((name, i) => (i ? [", ", nameButton(`input:${name}`)] : [nameButton(`input:${name}`)])));
  });
}

function findingsTable(list, what, idsOf) {
  if (!list.length) return html("p", { className: "note", textContent: `None at ${thresholdText()}.` });
  const titles = cohorts().map((one) => plain(one.title));
  const heads = state.other === null ? ["", what] : [what, ...titles];
  const names = (finding) => idsOf(finding).flatMap((id, i) => (i ? [" – ", nameButton(id)] : [nameButton(id)]));
  const words = statusWords();
  const rows = list.map((finding) => html("tr", { className: finding.status },
    html("td", {}, ...names(finding), state.other === null ? null : html("small", { textContent: words[finding.status] + (finding.opposed ? ", opposite signs" : "") + missingIn(finding, what) }), ...standIns(finding)),
    ...[finding.first, finding.second].slice(0, titles.length).map((row, which) => (row ? valueCell(row) : absentCell(finding, which, what)))));
  return html("table", {},
    html("thead", {}, html("tr", {}, ...heads.map((text, i) => html(text ? "th" : "td", { className: i ? "n" : "", textContent: text })))),
    html("tbody", {}, ...rows));
}

// A finding can be private because the other cohort does not have its nodes.
function missingIn(finding, what) {
  if (finding.status === "shared") return "";
  const other = finding.status === "only-first" ? 1 : 0;
  const missing = lackedNames(finding, other, what);
  return missing.length ? ` (${missing.map(plain).join(", ")} not measured in ${plain(cohorts()[other].title)})` : "";
}

function lackedNames(finding, which, what) {
  const { inputs, outputs } = cohorts()[which];
  const has = (nodes, name) => nodes.some((node) => node.name === name);
  return [
    has(what === "weight" ? inputs : outputs, finding.a) ? null : labelOf(`${what === "weight" ? "input" : "output"}:${finding.a}`),
    has(outputs, finding.b) ? null : labelOf(`output:${finding.b}`),
  ].filter((name) => name !== null);
}

function section(title, lead, table) {
  return [html("h3", { textContent: title }), lead ? html("p", { className: "note", textContent: lead }) : null, table].filter(Boolean);
}

function fillPanel(side, name, edges, shown, mine, drawn) {
  if (side === null) {
    $("panel-title").textContent = "Strongest edges";
    $("panel").replaceChildren(
      html("p", { className: "note", textContent: "Choose a node in the drawing, or search, to see its neighbours, weights and intervals." }),
      findingsTable(shown.slice(0, 40), "partial correlation", (edge) => [`output:${edge.a}`, `output:${edge.b}`]));
    $("clear").hidden = true;
    return;
  }
  const chosen = everybody().find(({ id }) => id === state.chosen);
  const { node } = chosen;
  const words = cohort().words;
  $("panel-title").textContent = plain(node.label);
  $("clear").hidden = false;
  const about = html("dl", {});
  const fact = (term, ...content) => about.append(html("dt", { textContent: term }), html("dd", {}, ...content));
  if (node.label !== name) fact("in the tables", plain(name));
  fact("measured", measured(chosen));
  fact(cohort().kind === "omics" ? "pathway" : "block", ...node.pathways.map((pathway, i) =>
    html("span", { className: "pathway" }, ...(i ? [] : [chip(node.colour)]), plain(pathway))));
  if (node.genes && side === "output") fact("encoded by", plain(node.genes.replaceAll(";", ", ")));
  const content = [about];
  if (side === "output") {
    const neighbours = edges.filter((edge) => edge.a === name || edge.b === name);
    const hidden = neighbours.filter((edge) => !shown.includes(edge)).length;
    content.push(...section(`Neighbours: ${neighbours.length}`,
      hidden ? `${hidden} of them are hidden in the drawing.` : "",
      findingsTable(neighbours, "partial correlation", (edge) => [`output:${edge.a === name ? edge.b : edge.a}`])));
    content.push(...section(`Driven by (${words.inputs}): ${mine.length}`,
      drawn < mine.length ? `The drawing has the ${drawn} strongest.` : "",
      findingsTable(mine, "weight", (one) => [`input:${one.a}`])));
  } else {
    fits().forEach((fit, i) => {
      const rank = cohorts()[i].inputs.findIndex((input) => input.name === name);
      if (rank >= 0) fact(`relevance in ${plain(cohorts()[i].title)}`, fit.tested ? `q = ${qText(fit.relevance[rank])}` : "not tested");
    });
    content.push(...section(`Drives (${words.outputs}): ${mine.length}`, "", findingsTable(mine, "weight", (one) => [`output:${one.b}`])));
  }
  $("panel").replaceChildren(...content);
}

// Search: live results; Enter takes the first.

function matches() {
  const text = $("search").value.trim().toLowerCase();
  if (!text) return [];
  const alike = (name) => (name === text ? 0 : name.startsWith(text) ? 1 : name.includes(text) ? 2 : 3);
  const rank = ({ node }) => Math.min(...[node.label, node.name].map((name) => alike(name.toLowerCase())));
  return everybody().filter((one) => rank(one) < 3).sort((a, b) => rank(a) - rank(b));
}

function showMatches() {
  const found = matches();
  $("matches").replaceChildren(...found.slice(0, 8).map((one) => {
    const button = html("button", { type: "button" }, plain(one.node.label), html("small", { textContent: `${measured(one)} · ${plain(one.node.pathways[0])}` }));
    button.addEventListener("click", () => take(one));
    return html("li", {}, button);
  }));
  const none = $("search").value.trim() && !found.length;
  $("search-status").textContent = none ? `No such name${withoutFindings()}.` : found.length > 8 ? `${found.length} match; the first 8 are listed.` : "";
}

// Of very many inputs the page has those with a finding.
function withoutFindings() {
  const lacking = cohorts().filter((one) => one.inputs.length < one.n_inputs);
  return lacking.map((one) => ` among the outputs of ${plain(one.title)} and its ${one.inputs.length} ${one.words.inputs} with a finding, of ${one.n_inputs}`).join(";");
}

function take(one) {
  state.chosen = one.id;
  $("search").value = "";
  showMatches();
  update();
  $("panel-title").focus();
}

function caption() {
  const titles = cohorts().map((one) => `${titled(one)}, ${one.samples} samples`).join(" and ");
  return [`NARD explorer: ${titles}. ${fits()[0].title}.`, ...cautions(), ...state.said];
}

function fileName(suffix) {
  const names = [...cohorts().map((one) => one.cohort), state.method].join("_");
  return `${names.replace(/[^A-Za-z0-9_-]/g, "-")}_edges.${suffix}`;
}

$("cohort").addEventListener("change", (event) => { state.cohort = Number(event.target.value); settle(); update(); });
$("method").addEventListener("change", (event) => { state.method = event.target.value; settle(); update(); });
$("other").addEventListener("change", (event) => { state.other = event.target.value === "" ? null : Number(event.target.value); settle(); update(); });
$("by").addEventListener("change", (event) => { state.wish = event.target.value; settle(); update(); });
$("limit").addEventListener("input", () => { state.limits[state.by] = threshold().limit; update(); });
$("most").addEventListener("change", update);
$("search").addEventListener("input", showMatches);
$("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && matches().length) take(matches()[0]);
  if (event.key === "Escape") { event.target.value = ""; showMatches(); }
});
$("clear").addEventListener("click", () => { state.chosen = null; update(); $("panel-title").focus(); });
$("closer").addEventListener("click", () => network.zoom(1.3));
$("further").addEventListener("click", () => network.zoom(1 / 1.3));
$("reset").addEventListener("click", () => network.reset());
$("save-svg").addEventListener("click", () => download(
  standaloneSvg($("network"), $("network-style").textContent, caption(), state.groups, statusesShown()), "image/svg+xml", fileName("svg")));
$("save-tsv").addEventListener("click", () => download(
  edgeTable(state.shown, cohorts(), state.method, statusWords()), "text/tab-separated-values", fileName("tsv")));

settle();
update();
