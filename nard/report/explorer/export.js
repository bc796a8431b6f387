// Files: the drawing as SVG with its caption and legend, the shown edges as a table.

function download(text, type, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const LETTER = 7; // pixels that a letter of the caption takes, on average

// The drawing alone on a white page, with everything that is needed to read it.
function standaloneSvg(svg, style, said, groups, statuses) {
  const width = Math.max(svg.clientWidth, 560), height = svg.clientHeight, row = 18;
  const caption = said.flatMap((text) => wrapped(text, (width - 32) / LETTER));
  const copy = svg.cloneNode(true);
  for (const name of ["id", "role", "aria-label", "aria-describedby"]) copy.removeAttribute(name);
  for (const node of copy.querySelectorAll(".node")) {
    for (const name of ["tabindex", "role", "aria-pressed"]) node.removeAttribute(name);
  }
  const columns = Math.max(1, Math.floor(width / 240));
  const rows = Math.ceil((groups.length + statuses.length) / columns);
  const total = height + row * (rows + caption.length + 1);
  const legend = svgElement("g", { class: "legend", "font-size": 12 });
  const entry = (rank, shape, text) => {
    const x = 16 + (rank % columns) * 240, y = height + row * (Math.floor(rank / columns) + 0.5);
    legend.append(svgElement("g", { transform: `translate(${x} ${y})` }, shape, svgElement("text", { x: 30, dy: "0.35em" }, text)));
  };
  statuses.forEach(([status, text], rank) => entry(rank, svgElement("path", { class: `key ${status}`, "stroke-width": 2.5, d: "M0 0H24" }), text));
  groups.forEach(([name, colour], rank) => entry(statuses.length + rank, svgElement("rect", { x: 6, y: -6, width: 12, height: 12, fill: colour }), plain(name)));
  caption.forEach((line, rank) => legend.append(svgElement("text", { x: 16, y: height + row * (rows + rank + 1) }, line)));
  for (const [key, value] of Object.entries({ xmlns: SVG, width, height: total, viewBox: `0 0 ${width} ${total}` })) copy.setAttribute(key, value);
  copy.prepend(
    svgElement("title", {}, said.join(" ")),
    svgElement("style", {}, style),
    svgElement("rect", { width, height: total, fill: "#fff" }),
  );
  copy.append(legend);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

// One row per shown edge; with two cohorts, the columns of each.
function edgeTable(edges, cohorts, method, words) {
  const columns = ["partial_correlation", "lower", "upper", "qvalue", "selected"];
  const values = (row) => row ? [row.value, row.lower, row.upper, row.q, row.selected ? "True" : "False"] : columns.map(() => null);
  const suffix = (cohort) => (cohorts.length > 1 ? `_${plain(cohort.cohort)}` : "");
  const header = ["method", "source", "target", "status", ...cohorts.flatMap((cohort) => columns.map((name) => name + suffix(cohort)))];
  const lines = edges.map((edge) => [
    method, plain(edge.a), plain(edge.b), words[edge.status],
    ...[edge.first, edge.second].slice(0, cohorts.length).flatMap(values),
  ]);
  return [header, ...lines].map((line) => line.map((cell) => cell ?? "").join("\t")).join("\n") + "\n";
}
