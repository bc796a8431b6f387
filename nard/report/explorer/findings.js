// Which findings pass a threshold, and what two cohorts share. Nothing is drawn here.

const Q_STEPS = [1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1];

// The q-values that the slider offers: none beyond which a list of these fits is not complete.
function qSteps(fits) {
  const beyond = Math.min(...fits.flatMap((fit) => [fit.edges.beyond, fit.associations.beyond]).map((q) => q ?? Infinity));
  const steps = [...new Set([...Q_STEPS, ...fits.map((fit) => fit.fdr)])].sort((a, b) => a - b);
  return steps.filter((q, rank) => q < beyond || rank === 0);
}

// Rows of a list of the payload, with names in place of numbers.
function rowsOf(list, from, to) {
  return list.a.map((a, i) => ({
    a: from[a].name,
    b: to[list.b[i]].name,
    value: list.value[i],
    lower: list.lower[i],
    upper: list.upper[i],
    q: list.q[i],
    selected: list.selected[i] === 1,
    own: list.own?.[i] === 1,
    probability: list.probability?.[i] ?? null,
    stability: list.stability?.[i] ?? null,
    standIns: (list.stand_ins?.[i] ?? []).map((rank) => from[rank].name),
  }));
}

function passes(row, threshold, strengthToo) {
  if (threshold.by === "q") return row.q !== null && row.q <= threshold.limit;
  return row.selected && (!strengthToo || Math.abs(row.value) >= threshold.limit);
}

// One finding per pair that passes in either cohort, the strongest first, with its rows of both, whether they pass or not.
// Without a second cohort all are the first's.
function compared(first, second, directed) {
  const pairs = new Map();
  const add = (rows, which) => {
    for (const row of rows) {
      const ends = directed || row.a < row.b ? [row.a, row.b] : [row.b, row.a];
      const key = JSON.stringify(ends);
      if (!pairs.has(key)) pairs.set(key, { a: ends[0], b: ends[1], first: null, second: null });
      pairs.get(key)[which] = row;
    }
  };
  add(first, "first");
  add(second ?? [], "second");
  const findings = [...pairs.values()].filter(({ first: one, second: two }) => one?.passing || two?.passing);
  for (const finding of findings) {
    const values = [finding.first, finding.second].filter((row) => row?.passing).map((row) => row.value);
    finding.strength = Math.max(...values.map(Math.abs));
    finding.opposed = values.length === 2 && values[0] > 0 !== values[1] > 0;
    if (second === null) finding.status = values[0] > 0 ? "positive" : "negative";
    else if (values.length === 2) finding.status = "shared";
    else finding.status = finding.first?.passing ? "only-first" : "only-second";
  }
  return findings.sort((x, y) => y.strength - x.strength);
}

function count(findings, status) {
  return findings.filter((finding) => finding.status === status).length;
}

// Text: names as they are but for control characters, which neither a table nor an SVG can hold.
function plain(name) {
  return name.replace(/[\u0000-\u001f\u007f\ufffe\uffff]/g, " ");
}

function shorten(name, longest) {
  const letters = [...plain(name)];
  if (letters.length <= longest) return letters.join("");
  const tail = Math.floor((longest - 1) / 2);
  return `${letters.slice(0, longest - 1 - tail).join("")}…${letters.slice(-tail).join("")}`;
}

function signed(value) {
  return (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);
}

function interval(row) {
  return row.lower === null ? "no interval" : `[${signed(row.lower)}, ${signed(row.upper)}]`;
}

function qText(q) {
  if (q === null) return "not tested";
  return q === 0 || q >= 0.001 ? String(Number(q.toPrecision(2))) : q.toExponential(1);
}

// "own", how probable it is that the effect is the named input's, and in how many subsamples the finding comes back;
// nothing where that is not known.
function naming(row) {
  const parts = row.own ? ["own"] : [];
  if (row.probability !== null) parts.push(`probability ${row.probability > 0.995 ? "> 0.99" : row.probability.toFixed(2)}`);
  if (row.stability !== null) parts.push(`in ${Math.round(100 * row.stability)} % of the subsamples`);
  return parts.join(" · ");
}

// The outputs that load most on a hidden input.
function loadings(hidden, outputs) {
  return hidden.map(([rank, loading]) => `${plain(outputs[rank].label)} (${signed(loading)})`).join(", ");
}

// Lines of at most so many letters, broken at blanks.
function wrapped(text, letters) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length >= letters) lines.push(word);
    else lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}
