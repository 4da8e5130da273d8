// The charts under a mouse or a finger: the values at a place, stretches of time in detail, arms hidden and shown. The page is whole
// without this, and it computes nothing: places are attributes of a chart, values are cells of its table.
"use strict";
(() => {
  const numbers = text => text.split(" ").map(Number);

  /** A chart with what a place on it means. */
  const prepare = (figure, index) => {
    const svg = figure.querySelector("svg");
    const [left, right, top, bottom] = numbers(figure.dataset.plot);
    const [from, until] = numbers(figure.dataset.range);
    const make = (name, attributes, parent) => {
      const made = document.createElementNS(svg.namespaceURI, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      return parent.appendChild(made);
    };
    // What is stretched stands in a group behind a window; the lines of time are upright.
    const upright = line => line.tagName !== "line" || line.getAttribute("x1") === line.getAttribute("x2");
    const drawn = [...svg.querySelectorAll("rect, line, [data-arm]")].filter(upright);
    const pane = make("clipPath", { id: `pane-${index}` }, svg);
    make("rect", { x: left, y: top, width: right - left, height: bottom - top }, pane);
    const stretched = make("g", {}, make("g", { "clip-path": `url(#pane-${index})` }, svg));
    stretched.append(...drawn);
    const labels = [...svg.querySelectorAll("text[text-anchor=middle]")];
    const selected = make("rect", { y: top, height: bottom - top, fill: "currentColor", opacity: 0.2, width: 0 }, svg);
    const cursor = make("line", { y1: top, y2: bottom, stroke: "currentColor", "stroke-dasharray": "3 3" }, svg);
    cursor.style.display = "none";
    const entries = [...figure.querySelectorAll(".legend li")];
    const outputs = entries.map(entry => entry.appendChild(document.createElement("output")));
    const place = figure.querySelector("figcaption").appendChild(document.createElement("output"));
    return {
      figure, svg, left, right, from, until, stretched, selected, cursor, entries, outputs, place,
      labels: labels.map(label => ({ label, x: Number(label.getAttribute("x")) })),
      at: numbers(figure.dataset.at),
      rows: [...figure.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent)),
      unit: figure.querySelector("thead th").textContent,
      view: [from, until],
    };
  };

  const charts = [...document.querySelectorAll("figure.chart")].map(prepare);
  /** All charts of one axis are read and stretched together. */
  const beside = chart => charts.filter(other => other.figure.dataset.axis === chart.figure.dataset.axis);
  const pixel = (chart, at) => {
    const [from, until] = chart.view;
    return chart.left + (at - from) / (until - from) * (chart.right - chart.left);
  };
  /** The place on the axis under the pointer, at its nearest end beyond. */
  const under = (chart, event) => {
    const box = chart.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * chart.svg.viewBox.baseVal.width;
    const part = Math.min(1, Math.max(0, (x - chart.left) / (chart.right - chart.left)));
    return chart.view[0] + part * (chart.view[1] - chart.view[0]);
  };

  const read = (chart, at) => {
    const distance = index => Math.abs(chart.at[index] - at);
    let nearest = 0;
    for (let index = 1; index < chart.at.length; index++) if (distance(index) < distance(nearest)) nearest = index;
    const row = chart.rows[nearest];
    if (!row) return;
    const x = pixel(chart, chart.at[nearest]);
    const seen = x >= chart.left && x <= chart.right;
    chart.cursor.style.display = seen ? "" : "none";
    chart.cursor.setAttribute("x1", x);
    chart.cursor.setAttribute("x2", x);
    chart.place.textContent = ` · ${chart.unit} ${row[0]}`;
    // There is no room for the range.
    chart.outputs.forEach((output, index) => { output.textContent = row[index + 1].split(" (")[0]; });
  };

  const leave = chart => {
    chart.cursor.style.display = "none";
    for (const output of [chart.place, ...chart.outputs]) output.textContent = "";
  };

  const stretch = (chart, view) => {
    const whole = { ...chart, view: [chart.from, chart.until] };
    chart.view = view;
    const [first, last] = view.map(at => pixel(whole, at));
    const scale = (chart.right - chart.left) / (last - first);
    chart.stretched.setAttribute("transform", `matrix(${scale} 0 0 1 ${chart.left - first * scale} 0)`);
    for (const { label, x } of chart.labels) {
      const moved = chart.left + (x - first) * scale;
      label.setAttribute("x", moved);
      label.style.display = moved < chart.left - 1 || moved > chart.right + 1 ? "none" : "";
    }
  };

  const select = (chart, from, until) => {
    const [first, last] = [from, until].map(at => pixel(chart, at)).sort((one, other) => one - other);
    chart.selected.setAttribute("x", first);
    chart.selected.setAttribute("width", last - first);
  };

  for (const chart of charts) {
    let begun = null;
    const each = act => beside(chart).forEach(act);
    const end = () => { begun = null; each(other => select(other, other.view[0], other.view[0])); };
    chart.svg.addEventListener("pointerdown", event => {
      begun = under(chart, event);
      if (event.pointerType === "mouse") chart.svg.setPointerCapture(event.pointerId);
    });
    chart.svg.addEventListener("pointermove", event => {
      const at = under(chart, event);
      each(other => read(other, at));
      if (begun !== null) each(other => select(other, begun, at));
    });
    chart.svg.addEventListener("pointerup", event => {
      const view = [begun ?? 0, under(chart, event)].sort((one, other) => one - other);
      const dragged = begun !== null && view[1] - view[0] > (chart.view[1] - chart.view[0]) / 40;
      end();
      if (dragged) each(other => stretch(other, view));
    });
    chart.svg.addEventListener("pointercancel", end);
    chart.svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") each(leave); });
    chart.svg.addEventListener("dblclick", () => each(other => stretch(other, [other.from, other.until])));
    for (const entry of chart.entries) {
      const toggle = () => {
        const off = !entry.classList.contains("off");
        for (const one of document.querySelectorAll(`figure.chart [data-arm="${entry.dataset.arm}"]`)) {
          one.classList.toggle("off", off);
          if (one.tagName === "LI") one.setAttribute("aria-pressed", String(!off));
        }
      };
      entry.setAttribute("role", "button");
      entry.setAttribute("aria-pressed", "true");
      entry.tabIndex = 0;
      entry.addEventListener("click", toggle);
      entry.addEventListener("keydown", event => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        toggle();
      });
    }
  }
  for (const hint of document.querySelectorAll("[data-hint]")) hint.textContent = hint.dataset.hint;
})();
