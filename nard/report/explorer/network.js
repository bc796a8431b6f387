// The drawing: outputs on a circle, edges as curves inside it, and the inputs of what is chosen in its middle.

const SVG = "http://www.w3.org/2000/svg";
const LARGEST = 12, SMALLEST = 8; // letters, in pixels
const MOST_INPUTS = 12; // that the middle has room for
const DENSE = 400; // edges from which on they are drawn paler

function svgElement(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Makes the children of a group these, in this order, and leaves alone those that are right already.
function renew(group, children) {
  const wanted = new Set(children);
  for (const child of [...group.children]) if (!wanted.has(child)) child.remove();
  let next = group.firstChild;
  for (const child of children) {
    if (child === next) next = next.nextSibling;
    else group.insertBefore(child, next);
  }
}

function describe(finding, [a, b], titles) {
  const parts = [finding.first, finding.second].map((row, which) =>
    row ? `${titles[which]}: ${signed(row.value)} ${interval(row)}, q ${qText(row.q)}${row.passing ? "" : ", does not pass"}` : null);
  return `${plain(a)} – ${plain(b)}. ${parts.filter(Boolean).join("; ")}`;
}

class Network {
  // `choose` is called with "side:name" or null.
  constructor(svg, choose) {
    this.svg = svg;
    this.choose = choose;
    this.view = { k: 1, x: 0, y: 0 };
    this.moved = new Map(); // places of nodes that were dragged, in units of the circle's radius
    this.scene = null;
    svg.addEventListener("pointerdown", (event) => this.press(event));
    svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    svg.addEventListener("keydown", (event) => this.key(event));
    this.resize();
    new ResizeObserver(() => { this.resize(); this.draw(this.scene); }).observe(svg);
  }

  resize() {
    this.width = this.svg.clientWidth;
    this.height = this.svg.clientHeight;
  }

  // scene: key (cohorts and method: what stays drawn while it does not change), outputs and byName, edges and
  // associations (findings), degree and strength (by name), chosen ("side:name" or null), near (names of outputs), inputs (nodes to
  // show in the middle), titles of the cohorts, empty (text where there are no edges), elsewhere
  // (whether nodes have other places in every stage).
  draw(scene) {
    const focused = document.activeElement?.closest?.(".node")?.dataset.id;
    const stage = `${this.width} ${this.height} ${scene.key}`;
    this.scene = scene;
    if (stage !== this.stage) this.prepare(stage);
    this.svg.classList.toggle("focus", scene.chosen !== null);
    this.svg.classList.toggle("dense", scene.edges.length >= DENSE);
    // The strongest are drawn last, on top.
    renew(this.lines, scene.edges.map((finding) => this.line(finding, "edge")).reverse());
    renew(this.arrows, scene.associations.map((finding) => this.line(finding, "association")));
    this.nodes = new Map();
    for (const side of ["output", "input"]) for (const node of scene[`${side}s`]) this.nodes.set(`${side}:${node.name}`, this.node(node, side));
    renew(this.group, [...this.nodes.values()].map(({ element }) => element));
    this.empty.textContent = scene.edges.length ? "" : scene.empty;
    this.place();
    this.rove(this.nodes.has(focused) ? focused : this.nodes.has(scene.chosen) ? scene.chosen : this.nodes.keys().next().value);
    if (this.nodes.has(focused) && document.activeElement !== this.nodes.get(focused).element) this.nodes.get(focused).element.focus();
  }

  // An empty drawing of the present size. Elements are made once and kept by name until the next one.
  prepare(stage) {
    this.stage = stage;
    if (this.scene.elsewhere) this.moved.clear();
    this.kept = new Map();
    this.longest = this.width < 500 ? 11 : 16; // letters of a label; the tooltip and the panel have the whole name
    this.measure(this.scene.outputs);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    [this.lines, this.arrows, this.group] = [0, 1, 2].map(() => svgElement("g", {}));
    this.empty = svgElement("text", { class: "empty", x: this.width / 2, y: this.height / 2 });
    this.svg.replaceChildren(this.lines, this.arrows, this.group, this.empty);
  }

  keep(key, make) {
    if (!this.kept.has(key)) this.kept.set(key, make());
    return this.kept.get(key);
  }

  // Radius of the circle and size of the letters, so that labels stay inside the drawing and apart from each other.
  measure(outputs) {
    const angles = outputs.map((node) => Math.atan2(node.y, node.x));
    const sorted = [...angles].sort((a, b) => a - b);
    const gaps = sorted.map((angle, i) => (i + 1 < sorted.length ? sorted[i + 1] : sorted[0] + 2 * Math.PI) - angle);
    this.slot = Math.min(...gaps, Math.PI / 4);
    this.middle = new Map();
    outputs.forEach((node) => {
      const sum = this.middle.get(node.pathways[0]) ?? [0, 0];
      this.middle.set(node.pathways[0], [sum[0] + node.x, sum[1] + node.y]);
    });
    this.font = LARGEST;
    for (let pass = 0; pass < 2; pass++) {
      const room = outputs.map((node, i) => {
        const reach = Math.min(this.width / 2 / Math.abs(Math.cos(angles[i])), this.height / 2 / Math.abs(Math.sin(angles[i])));
        return reach - 0.72 * this.font * shorten(node.label, this.longest).length - 16;
      });
      this.radius = Math.max(Math.min(...room), 40);
      if (pass === 0) this.font = Math.max(SMALLEST, Math.min(LARGEST, this.radius * this.slot / 1.15));
    }
  }

  // Where a node stands, in units of the radius.
  at(id) {
    if (this.moved.has(id)) return this.moved.get(id);
    const [side, name] = [id.slice(0, id.indexOf(":")), id.slice(id.indexOf(":") + 1)];
    if (side === "output") {
      const node = this.scene.byName.get(name);
      return [node.x, node.y];
    }
    const inputs = this.scene.inputs;
    const rank = inputs.findIndex((node) => node.name === name);
    const pitch = 1.6 * this.font / this.radius;
    return [inputs.length > 1 ? -0.2 : 0, (rank - (inputs.length - 1) / 2) * pitch];
  }

  screen(id) {
    const [x, y] = this.at(id);
    const { k, x: dx, y: dy } = this.view;
    return [this.width / 2 + dx + k * this.radius * x, this.height / 2 + dy + k * this.radius * y];
  }

  bend(path) {
    path.setAttribute("d", path.classList.contains("edge") ? this.curve(path.finding) : this.ray(path.finding));
  }

  ray(finding) {
    const [a, b] = [`input:${finding.a}`, `output:${finding.b}`].map((id) => this.at(id).map((value) => (value * this.radius).toFixed(1)));
    return `M${a.join(" ")}L${b.join(" ")}`;
  }

  // Neighbours in an arc are joined along the rim; curves between arcs meet near the middle, bundled by arc.
  curve(finding) {
    const [a, b] = [finding.a, finding.b].map((name) => this.at(`output:${name}`).map((value) => value * this.radius));
    const pathways = [finding.a, finding.b].map((name) => this.scene.byName.get(name).pathways[0]);
    const angles = [a, b].map(([x, y]) => Math.atan2(y, x));
    const between = (from, to) => Math.atan2(Math.sin(to - from), Math.cos(to - from));
    const apart = Math.abs(between(...angles));
    const same = pathways[0] === pathways[1];
    const depth = this.radius * (same ? 0.9 - 0.35 * apart : 0.62 - 0.55 * apart / Math.PI);
    const [c, d] = angles.map((angle, i) => {
      const [x, y] = this.middle.get(pathways[i]);
      const turned = same ? angle : angle + 0.5 * between(angle, Math.atan2(y, x));
      return [depth * Math.cos(turned), depth * Math.sin(turned)];
    });
    return `M${a.map((v) => v.toFixed(1))}C${[c, d, b].map((point) => point.map((v) => v.toFixed(1)).join(" ")).join(" ")}`;
  }

  line(finding, kind) {
    const { chosen, titles, label } = this.scene;
    const ends = [label(`${kind === "edge" ? "output" : "input"}:${finding.a}`), label(`output:${finding.b}`)];
    const path = this.keep(JSON.stringify([kind, finding.a, finding.b, finding.status, finding.strength]), () => svgElement("path", {
      class: `${kind} ${finding.status}`,
      "stroke-width": Math.min(0.8 + 5 * finding.strength, 6).toFixed(2),
    }, svgElement("title", {}, describe(finding, ends, titles))));
    path.finding = finding;
    // Inputs stand elsewhere when others join them.
    if (kind === "association" || !path.hasAttribute("d")) this.bend(path);
    path.classList.toggle("near", kind === "edge" && (chosen === `output:${finding.a}` || chosen === `output:${finding.b}`));
    return path;
  }

  node(node, side) {
    const { chosen, near, degree, strength } = this.scene;
    const id = `${side}:${node.name}`;
    const kept = this.keep(id, () => this.makeNode(node, side, id));
    const { element, title } = kept;
    kept.edges = degree.get(node.name) ?? 0;
    kept.strength = strength.get(node.name) ?? 0;
    const close = side === "input" || id === chosen || near.has(node.name);
    const marks = { chosen: id === chosen, near: close, lone: side === "output" && !kept.edges && !close };
    for (const [mark, on] of Object.entries(marks)) element.classList.toggle(mark, on);
    const said = `${plain(node.label)}, ${plain(node.kind)}, ${plain(node.pathways.join(", "))}${side === "output" ? `, ${kept.edges} edges` : ""}`;
    if (title.textContent !== said) title.textContent = said;
    element.setAttribute("aria-label", said);
    element.setAttribute("aria-pressed", id === chosen);
    return kept;
  }

  makeNode(node, side, id) {
    const size = Math.max(2.5, Math.min(5, this.radius * this.slot * 0.4));
    const shape = side === "output"
      ? svgElement("circle", { r: size, fill: node.colour })
      : svgElement("rect", { x: -4.5, y: -4.5, width: 9, height: 9, fill: node.colour });
    const label = svgElement("text", { "font-size": this.font, dy: "0.35em", ...(side === "input" && { class: "halo", x: 9 }) }, shorten(node.label, this.longest));
    const title = svgElement("title", {});
    const element = svgElement("g", { class: `node ${side}`, role: "button", tabindex: -1 }, title, shape, label);
    element.dataset.id = id;
    return { element, title, label, side, size };
  }

  // Puts everything where pan, zoom and dragging want it.
  place() {
    const { k, x, y } = this.view;
    const transform = `translate(${(this.width / 2 + x).toFixed(1)} ${(this.height / 2 + y).toFixed(1)}) scale(${k.toFixed(4)})`;
    this.lines.setAttribute("transform", transform);
    this.arrows.setAttribute("transform", transform);
    for (const [id, node] of this.nodes) {
      const [left, top] = this.screen(id);
      node.element.setAttribute("transform", `translate(${left.toFixed(1)} ${top.toFixed(1)})`);
      if (node.side === "input") continue;
      const [ux, uy] = this.at(id);
      const angle = Math.atan2(uy, ux) * 180 / Math.PI;
      const flipped = ux < 0;
      node.label.setAttribute("transform", `rotate(${(flipped ? angle + 180 : angle).toFixed(1)})`);
      node.label.setAttribute("text-anchor", flipped ? "end" : "start");
      node.label.setAttribute("x", (flipped ? -1 : 1) * (node.size + 4));
    }
    this.thin();
    this.svg.classList.toggle("zoomed", k > 1);
  }

  // Where there is no room for all labels: those of what is chosen, then of the nodes with the strongest edges, and only if
  // these all have theirs, of nodes without an edge.
  thin() {
    const least = 1.1 * this.font / (this.radius * this.view.k);
    const outputs = [...this.nodes].filter(([, node]) => node.side === "output");
    const rank = ([, node]) => (node.element.classList.contains("near") ? 1e6 : 0) + node.strength;
    const kept = [];
    let lacking = false;
    for (const [id, node] of outputs.sort((a, b) => rank(b) - rank(a))) {
      const [x, y] = this.at(id);
      const lone = rank([id, node]) === 0;
      const free = !(lone && lacking) && kept.every(([u, v]) => Math.hypot(x - u, y - v) >= least);
      if (free) kept.push([x, y]);
      else if (!lone) lacking = true;
      node.label.classList.toggle("crowded", !free);
    }
    this.labelled = kept.length;
  }

  zoom(factor, left = this.width / 2, top = this.height / 2) {
    const k = Math.min(Math.max(this.view.k * factor, 0.5), 12);
    const move = (centre, shift) => centre - (k / this.view.k) * (centre - shift);
    this.view = {
      k,
      x: move(left - this.width / 2, this.view.x),
      y: move(top - this.height / 2, this.view.y),
    };
    this.place();
  }

  reset() {
    this.view = { k: 1, x: 0, y: 0 };
    this.moved.clear();
    this.stage = null;
    this.draw(this.scene);
  }

  // A press on a node drags it, one elsewhere the whole; one that goes nowhere chooses.
  press(event) {
    if (event.button !== 0) return;
    const id = event.target.closest(".node")?.dataset.id ?? null;
    const start = [event.clientX, event.clientY];
    let last = start, dragged = false;
    const move = (now) => {
      const [dx, dy] = [now.clientX - last[0], now.clientY - last[1]];
      dragged ||= Math.hypot(now.clientX - start[0], now.clientY - start[1]) > 4;
      if (!dragged) return;
      last = [now.clientX, now.clientY];
      if (id === null) {
        this.view.x += dx;
        this.view.y += dy;
      } else {
        const scale = this.radius * this.view.k;
        const [x, y] = this.at(id);
        this.moved.set(id, [x + dx / scale, y + dy / scale]);
        // Lines that are not drawn at present follow too: a looser threshold brings them back.
        for (const path of this.kept.values()) {
          if (path.finding && (id.endsWith(`:${path.finding.a}`) || id.endsWith(`:${path.finding.b}`))) this.bend(path);
        }
      }
      this.place();
    };
    const end = (last) => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
      window.removeEventListener("pointercancel", end);
      if (!dragged && last.type === "pointerup") this.choose(id);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    window.addEventListener("pointercancel", end);
  }

  // One node at a time is in the tab order; the arrow keys go around.
  rove(id) {
    for (const [name, node] of this.nodes) node.element.setAttribute("tabindex", name === id ? 0 : -1);
  }

  key(event) {
    const ids = [...this.nodes.keys()];
    const id = event.target.closest(".node")?.dataset.id;
    const at = ids.indexOf(id);
    const steps = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const zooms = { "+": 1.3, "=": 1.3, "-": 1 / 1.3 };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in steps && ids.length) {
      const next = ids.at(steps[event.key] % ids.length);
      this.rove(next);
      this.nodes.get(next).element.focus();
    } else if ((event.key === "Enter" || event.key === " ") && id) this.choose(id);
    else if (event.key === "Escape") this.choose(null);
    else if (event.key in zooms) this.zoom(zooms[event.key]);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
  }
}
