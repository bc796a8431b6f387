// Which part of a network of thousands is drawn: what is around one node.

const MOST_NEAR = 40; // neighbours of the node itself
const MOST_AROUND = 60; // with the neighbours of these

// The output with the strongest edges altogether; without edges, that of the first association, or the first of all.
function hubOf(edges, associations, outputs) {
  const strength = new Map();
  for (const edge of edges) for (const end of [edge.a, edge.b]) strength.set(end, (strength.get(end) ?? 0) + edge.strength);
  const strongest = [...strength].reduce((one, other) => (other[1] > one[1] ? other : one), [null, 0])[0];
  return strongest ?? associations[0]?.b ?? outputs[0]?.name ?? null;
}

// Names of outputs around a node: its neighbours, or what it drives, then theirs, the strongest first. Findings come in the
// order of their strength.
function around(side, name, edges, associations) {
  const found = new Set(side === "output" ? [name] : associations.filter((one) => one.a === name).map((one) => one.b).slice(0, MOST_NEAR));
  for (const most of [side === "output" ? MOST_NEAR + 1 : 0, MOST_AROUND]) {
    const begun = new Set(found);
    for (const { a, b } of edges) {
      if (found.size >= most) break;
      if (begun.has(a)) found.add(b);
      else if (begun.has(b)) found.add(a);
    }
  }
  return found;
}

// Nodes on a circle of their own, clockwise from the top, in the order in which they come.
function onCircle(nodes) {
  return nodes.map((node, i) => {
    const angle = 2 * Math.PI * (i + 0.5) / nodes.length - Math.PI / 2;
    return { ...node, x: Math.cos(angle), y: Math.sin(angle) };
  });
}
