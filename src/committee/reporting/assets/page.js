"use strict";
// Text of the data only ever reaches the page as textContent.
(() => {
  const numbers = JSON.parse(document.getElementById("numbers").textContent);
  const $ = (id) => document.getElementById(id);
  const colour = (name) => `var(--${name})`;
  function figures(x) {
    if (x === null) return "–";
    if (Math.abs(x) >= 1e9) return x.toExponential(2);
    return Number(x.toPrecision(3)).toLocaleString("en", { maximumSignificantDigits: 3 });
  }

  // A number in the format that the tables have: { scale, decimals, unit }.
  function written(format, x) {
    if (x === null) return "–";
    const value = x * format.scale;
    const digits = format.decimals;
    return (digits === null ? figures(value) : value.toLocaleString("en", {
      minimumFractionDigits: digits, maximumFractionDigits: digits,
    })) + format.unit;
  }
  // Ticks of it: percent where the tables have percent.
  const scaled = (format) => (format.unit ? (x) => `${Number((x * format.scale).toPrecision(6))}${format.unit}` : undefined);

  // Parts of a name between which a line may break, as the tables have them.
  const pieces = (text) => text.split(/(?<=[_\-./,:;=])(?=\w)|(?<=[a-z])(?=[A-Z])|(?<=\s)(?=\S)/);
  function named(element, text) {
    pieces(text).forEach((piece, i) => {
      if (i) element.append(document.createElement("wbr"));
      element.append(piece);
    });
  }
  // Two lines of a name at most, broken between its parts.
  function folded(text, most) {
    if (text.length <= most) return text;
    let first = "";
    const parts = pieces(text);
    while (parts.length && (first + parts[0]).trimEnd().length <= most) first += parts.shift();
    if (!first) return cut(text, most);
    return `${first.trimEnd()}\n${cut(parts.join(""), most)}`;
  }

  function size(bytes) {
    const units = ["B", "kB", "MB", "GB", "TB"];
    let i = 0;
    while (bytes >= 999.5 && i < units.length - 1) { bytes /= 1000; i += 1; }
    return `${figures(bytes)} ${units[i]}`;
  }

  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  // Draw into a box, and again whenever its width changes.
  function draw(id, options) {
    const box = $(id);
    let width = 0;
    const paint = () => {
      width = box.clientWidth;
      const plot = Plot.plot({
        width: Math.max(width, 240),
        height: 300,
        marginLeft: 52,
        marginRight: 14,
        marginTop: 28,
        marginBottom: 44,
        style: { background: "transparent", color: "inherit", fontSize: "12px" },
        ...options(width),
      });
      box.replaceChildren(plot);
    };
    new ResizeObserver(() => { if (box.clientWidth !== width) paint(); }).observe(box);
    return paint;
  }

  // Ticks that fit beside a picture, whatever the unit: 1.2M, and 3e+20 beyond.
  function short(values) {
    const [low, high] = d3.extent(values);
    const largest = Math.max(Math.abs(low), Math.abs(high));
    if (!(largest >= 1e5) && (largest >= 1e-3 || !largest)) return undefined;
    const digits = d3.precisionPrefix((high - low) / 10 || largest, largest);
    const format = largest >= 1e15 || largest < 1e-3
      ? d3.format(".2~e") : d3.formatPrefix(`.${digits}`, largest);
    return (x) => (x === 0 ? "0" : format(x));
  }
  // So many pixels between ticks that labels of this length do not touch.
  const spacing = (format, values) => (format ? Math.max(70, 24 + 7 * format(d3.max(values)).length) : 70);

  const axes = (x, y, ticks, xs = [], ys = [], format = undefined) => [
    Plot.gridY({ stroke: colour("line"), strokeOpacity: 1, tickSpacing: 45 }),
    Plot.axisX({ label: x, labelAnchor: "center", labelArrow: "none", labelOffset: 38, color: colour("muted"), tickSpacing: spacing(short(xs), xs), ticks, tickFormat: ticks ? "d" : short(xs) }),
    Plot.axisY({ label: y, labelArrow: "none", color: colour("muted"), tickSpacing: 45, tickFormat: format ?? short(ys) }),
  ];
  const tip = (options) => ({ fill: colour("paper"), stroke: colour("grey"), ...options });
  // Few sizes are all named: no ticks between whole numbers.
  const wholeTicks = (sizes) => (sizes[sizes.length - 1] - sizes[0] < 12 ? sizes : undefined);

  function path(data) {
    const slider = $("path-slider");
    const steps = data.size.map((n, i) => ({
      i, n, error: data.error[i], se: data.error_se ? data.error_se[i] : null, here: data.here[i],
    }));
    const known = steps.filter((s) => s.here !== null);
    if (known.length === 0) $("path-here-key").hidden = true;
    const measured = steps.filter((s) => s.error !== null && s.se !== null);
    const several = steps.length > 1;
    const paint = draw("path-chart", () => ({
      height: 320,
      y: { nice: true },
      marks: [
        ...axes("number of members", data.measure, wholeTicks(data.size), [], [...data.error, ...data.here], scaled(data.format)),
        several ? Plot.areaY(measured, {
          x: "n", y1: (s) => s.error - s.se, y2: (s) => s.error + s.se,
          fill: colour("blue"), fillOpacity: 0.18,
        }) : Plot.ruleX(measured, {
          x: "n", y1: (s) => s.error - s.se, y2: (s) => s.error + s.se, stroke: colour("blue"),
        }),
        Plot.lineY(steps, { x: "n", y: "error", stroke: colour("blue"), strokeWidth: 2 }),
        Plot.lineY(known, { x: "n", y: "here", stroke: colour("vermilion"), strokeWidth: 2, strokeDasharray: "5 4" }),
        data.chosen === null ? null : Plot.ruleX([data.size[data.chosen]], { stroke: colour("grey"), strokeDasharray: "2 3" }),
        Plot.ruleX([data.size[slider.value]], { stroke: "currentColor", strokeWidth: 1.5 }),
        Plot.dot([steps[slider.value]], { x: "n", y: "error", r: 5, fill: colour("blue"), stroke: colour("paper") }),
        Plot.tip(steps, Plot.pointerX(tip({ x: "n", y: "error", title: (s) => describe(s).join("\n") }))),
      ],
    }));
    const describe = (s) => [
      `${s.n} member${s.n === 1 ? "" : "s"}`,
      `${data.measure} ${written(data.format, s.error)}${s.se === null ? "" : ` ± ${written(data.format, s.se)}`}`,
      ...(s.here === null ? [] : [`on these rows ${written(data.format, s.here)}`]),
      ...(data.bytes === null || data.bytes[s.i] === null ? [] : [`bytes, pickled: ${size(data.bytes[s.i])}`]),
    ];

    function show() {
      const i = Number(slider.value);
      const facts = describe(steps[i]);
      slider.setAttribute("aria-valuetext", facts[0]);
      $("path-text").textContent = facts.join(", ") + (i === data.chosen ? " (chosen)." : ".");
      const largest = Math.max(...data.weights[i].map(Math.abs));
      const long = d3.max(data.members[i], (n) => (numbers.names[n] ?? "").length) > 16;
      $("path-members").style.setProperty("--column", long ? "19rem" : "10.5rem");
      $("path-members").replaceChildren(...data.members[i].map((number, k) => {
        const item = document.createElement("li");
        const name = document.createElement("span");
        const weight = document.createElement("span");
        named(name, cut(numbers.names[number] ?? `#${number}`, 60));
        name.title = numbers.names[number] ?? "";
        weight.textContent = figures(data.weights[i][k]);
        item.style.setProperty("--share", Math.abs(data.weights[i][k]) / largest);
        item.append(name, weight);
        return item;
      }));
      $("path-more").textContent = data.more[i] ? `and ${data.more[i]} more` : "";
      paint();
    }
    $("path-chart").addEventListener("click", () => {
      const under = $("path-chart").firstElementChild.value;
      if (under) { slider.value = under.i; show(); }
    });
    slider.addEventListener("input", show);
    $("path-chosen").addEventListener("click", () => { slider.value = data.chosen; show(); });
    show();
  }

  function weights(data) {
    const bars = data.names.map((name, i) => ({
      name, w: data.weight[i], low: data.std ? data.weight[i] - data.std[i] : null,
      high: data.std ? data.weight[i] + data.std[i] : null,
    }));
    const label = (name) => folded(name, 26);
    const lines = data.names.flatMap((name) => label(name).split("\n"));
    const longest = Math.max(...lines.map((line) => line.length));
    const high = lines.length > data.names.length ? 30 : 17;
    draw("weights-chart", (width) => ({
      height: 56 + high * bars.length,
      marginTop: 8,
      marginLeft: Math.min(16 + 7 * longest, width / 2),
      x: { nice: true, zero: true },
      y: { domain: data.names },
      marks: [
        Plot.axisX({ label: "weight", labelAnchor: "center", labelArrow: "none", labelOffset: 38, color: colour("muted"), tickSpacing: 70 }),
        Plot.axisY({ label: null, tickSize: 0, tickFormat: label, color: "currentColor" }),
        Plot.ruleX([0], { stroke: colour("grey") }),
        Plot.ruleY(bars, { y: "name", x1: 0, x2: "w", stroke: colour("line"), strokeWidth: 2 }),
        data.std ? Plot.ruleY(bars, { y: "name", x1: "low", x2: "high", stroke: colour("blue"), strokeWidth: 2 }) : null,
        Plot.dot(bars, { y: "name", x: "w", r: 4, fill: colour("blue") }),
        Plot.tip(bars, Plot.pointer(tip({ y: "name", x: "w", title: (b) => `${b.name}\n${figures(b.w)}` }))),
      ],
    }))();
  }

  // Labels that fit into the picture and touch no label before them: { x, y, text }, in
  // pixels of a linear scale; a label on the right edge ends at its point.
  function placed(items, width, height, domains) {
    const [left, right, top, bottom] = [52, width - 14, 34, height - 44];
    const px = (v, [low, high], from, to) => from + ((v - low) / (high - low || 1)) * (to - from);
    const taken = [];
    return items.flatMap((item) => {
      const x = px(item.x, domains.x, left, right);
      const y = px(item.y, domains.y, bottom, top);
      const wide = 7 * item.text.length + 4;
      const end = x + 6 + wide > right;
      const box = [end ? x - 6 - wide : x + 6, y - 20, end ? x - 6 : x + 6 + wide, y - 6];
      const free = box[0] >= 0 && taken.every((b) => b[2] < box[0] || b[0] > box[2] || b[3] < box[1] || b[1] > box[3]);
      if (!free) return [];
      taken.push(box);
      return [{ ...item, end }];
    });
  }

  function pairs(data) {
    const points = [...data.others, ...data.kept, ...data.hull];
    // A single pair has no extent: a tenth of its value on both sides has round ticks.
    const around = ([low, high]) => (low < high ? [low, high] : [low - (Math.abs(low) / 10 || 0.1), high + (Math.abs(high) / 10 || 0.1)]);
    const domains = { x: around(d3.extent(points, (p) => p[0])), y: around(d3.extent(points, (p) => p[1])) };
    // Members are numbered here; the table of members has their names.
    const labels = (data.labels ?? []).map((l) => ({ ...l, text: l.names.map((name) => name.split(" ")[0]).join(" + ") }));
    const named = (some, end) => Plot.text(some.filter((l) => l.end === end), {
      x: "x", y: "y", text: "text", dx: end ? -6 : 6, dy: -6, textAnchor: end ? "end" : "start", lineAnchor: "bottom",
      fontSize: 11, stroke: colour("paper"), strokeWidth: 3, fill: "currentColor",
    });
    draw("pairs-chart", (width) => {
      const some = placed(d3.sort(labels, (l) => l.y), Math.max(width, 240), 300, domains);
      return {
        marginTop: 34,
        x: { domain: domains.x },
        y: { domain: domains.y },
        marks: [
          ...axes(data.x_label, data.y_label, undefined, [], data.hull.map((p) => p[1]), scaled(data.format)),
          Plot.dot(data.others, { x: (p) => p[0], y: (p) => p[1], r: 2.2, fill: colour("grey"), fillOpacity: 0.55 }),
          Plot.dot(data.kept, { x: (p) => p[0], y: (p) => p[1], r: 2.5, fill: colour("blue"), fillOpacity: 0.8 }),
          Plot.line(data.hull, { x: (p) => p[0], y: (p) => p[1], stroke: colour("vermilion"), strokeWidth: 1.5, marker: "dot" }),
          named(some, false),
          named(some, true),
          labels.length ? Plot.tip(labels, Plot.pointer(tip({ x: "x", y: "y", title: (l) => `${l.names.join("\n+ ")}\n${written(data.format, l.y)}` }))) : null,
        ],
      };
    })();
  }

  function ambiguity(data) {
    const rows = data.size.map((n, i) => ({
      n, member: data.member[i], ensemble: data.ensemble[i], diversity: data.diversity[i],
    }));
    const curve = (y, name, dash) => (rows.length > 1
      ? Plot.lineY(rows, { x: "n", y, stroke: colour(name), strokeWidth: 2, strokeDasharray: dash })
      : Plot.dot(rows, { x: "n", y, fill: colour(name), r: 4 }));
    draw("ambiguity-chart", () => ({
      y: { zero: true, nice: true },
      marks: [
        ...axes("number of members, largest weights first", "squared error", wholeTicks(data.size), [], data.member),
        curve("member", "orange", "6 4"),
        curve("diversity", "green", "2 3"),
        curve("ensemble", "blue"),
        Plot.tip(rows, Plot.pointerX(tip({
          x: "n", y: "ensemble",
          title: (r) => `${r.n} members\nmember error ${figures(r.member)}\n− diversity ${figures(r.diversity)}\n= ${figures(r.ensemble)}`,
        }))),
      ],
    }))();
  }

  function gate(data) {
    if (!data.picture) return;
    const names = ["blue", "orange", "green", "vermilion"];
    const symbols = ["circle", "square", "triangle", "diamond"];
    const { groups } = data.picture;
    const points = groups.flatMap((group, i) => group.points.map(([x, y, w]) => ({
      x, y, w, name: group.name, ink: colour(group.rest ? "grey" : names[i]), symbol: group.rest ? "plus" : symbols[i],
    })));
    draw("gate-chart", () => ({
      marks: [
        ...axes(data.picture.x_label, data.picture.y_label, undefined, points.map((p) => p.x), points.map((p) => p.y)),
        ...d3.groups(points, (p) => p.symbol).map(([symbol, some]) => Plot.dot(some, {
          x: "x", y: "y", r: 2.6, symbol, stroke: "ink", strokeWidth: symbol === "plus" ? 1 : 0.4, fill: symbol === "plus" ? "none" : "ink", fillOpacity: (p) => 0.2 + 0.7 * p.w,
        })),
        Plot.tip(points, Plot.pointer(tip({ x: "x", y: "y", title: (p) => `${p.name}\nweight ${figures(p.w)}` }))),
      ],
      opacity: { type: "identity" },
    }))();
  }

  // ROC, and precision against recall: a line for each answer, or for each class.
  function curves(data) {
    const two = data.positive !== null;
    const look = (i) => (two
      ? { stroke: colour(i ? "vermilion" : "blue"), strokeWidth: 2, strokeDasharray: i ? "5 4" : undefined }
      : { stroke: colour("blue"), strokeWidth: 1, strokeOpacity: 0.55 });
    const chart = (id, key, x, y, base, score) => draw(id, () => ({
      x: { domain: [0, 1] },
      y: { domain: [0, 1] },
      marks: [
        ...axes(x, y),
        base ? Plot.line(base, { x: (p) => p[0], y: (p) => p[1], stroke: colour("grey"), strokeDasharray: "2 3" }) : null,
        ...data.lines.map((line, i) => Plot.line(line[key], { x: (p) => p[0], y: (p) => p[1], ...look(i) })).reverse(),
        two ? null : Plot.tip(data.lines.flatMap((line) => line[key].map((p) => ({ p, line }))), Plot.pointer(tip({
          x: (d) => d.p[0], y: (d) => d.p[1], title: (d) => `${d.line.name}\n${d.line[score].toFixed(3)}`,
        }))),
      ],
    }))();
    chart("roc-chart", "roc", "false positive rate", "true positive rate", [[0, 0], [1, 1]], "area");
    chart("pr-chart", "pr", "recall", "precision", two ? [[0, data.share], [1, data.share]] : null, "average");
  }

  function calibration(data) {
    const bins = data.predicted.map((p, i) => ({
      p, share: data.observed[i], low: data.low[i], high: data.high[i], n: data.n_rows[i],
    }));
    const counts = bins.map((b) => ({ x: b.p, y: b.high, text: b.n.toLocaleString("en") }));
    const unit = { x: [0, 1], y: [0, 1] };
    draw("calibration-chart", (width) => ({
      x: { domain: [0, 1] },
      y: { domain: [0, 1] },
      marks: [
        ...axes("predicted probability", "observed share"),
        Plot.line([[0, 0], [1, 1]], { stroke: colour("grey"), strokeDasharray: "2 3" }),
        Plot.ruleX(bins, { x: "p", y1: "low", y2: "high", stroke: colour("blue"), strokeWidth: 1.5 }),
        Plot.line(bins, { x: "p", y: "share", stroke: colour("blue"), strokeWidth: 2, marker: "dot" }),
        Plot.text(placed(counts, Math.max(width, 240), 300, unit), { x: "x", y: "y", text: "text", dy: -8, fill: colour("muted"), fontSize: 11 }),
      ],
    }))();
  }

  function truth(points) {
    const ends = d3.extent(points.flat());
    draw("truth-chart", () => ({
      marks: [
        ...axes("prediction", "target", undefined, points.map((p) => p[0]), points.map((p) => p[1])),
        Plot.line([[ends[0], ends[0]], [ends[1], ends[1]]], { stroke: colour("grey"), strokeDasharray: "2 3" }),
        Plot.dot(points, { x: (p) => p[0], y: (p) => p[1], r: 2.2, fill: colour("blue"), fillOpacity: 0.5 }),
      ],
    }))();
  }

  function residuals(data) {
    truth(data.points.map(([x, left]) => [x, x + left]));
    draw("residuals-chart", () => ({
      marks: [
        ...axes("prediction", "target − prediction", undefined, data.points.map((p) => p[0]), data.points.map((p) => p[1])),
        Plot.ruleY([0], { stroke: colour("grey") }),
        Plot.dot(data.points, { x: (p) => p[0], y: (p) => p[1], r: 2.2, fill: colour("blue"), fillOpacity: 0.5 }),
      ],
    }))();
  }

  // A header sorts by its column; once more turns it round.
  function sortable(table) {
    const headers = [...table.tHead.rows[0].cells];
    const value = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b));
    headers.forEach((header, column) => header.firstElementChild.addEventListener("click", () => {
      const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * compare(value(a, column), value(b, column)));
      table.tBodies[0].append(...rows);
      const by = header.textContent.trim();
      table.querySelector(".order").textContent = `by ${by}, ${sign > 0 ? "least" : "largest"} first`;
    }));
  }

  // A table that goes on to the right fades there, and says so below.
  function scrollable(box) {
    const hint = document.createElement("p");
    hint.className = "hint";
    hint.textContent = "scroll sideways for more →";
    box.after(hint);
    const look = () => {
      const over = box.scrollWidth - box.clientWidth;
      hint.hidden = over <= 1;
      box.classList.toggle("more", box.scrollLeft < over - 1);
    };
    box.addEventListener("scroll", look);
    new ResizeObserver(look).observe(box);
    look();
  }

  const painters = { path, weights, pairs, ambiguity, gate, curves, calibration, residuals };
  Object.entries(painters).forEach(([name, paint]) => { if (numbers[name]) paint(numbers[name]); });
  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll(".scroll").forEach(scrollable);
})();
