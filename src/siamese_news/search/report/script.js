"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const list = byId("clusters");
  const items = [...list.children];
  const posts = new Map([...list.querySelectorAll("[id^=post-]")].map((post) => [post.id, post]));
  const size = Number(list.dataset.page);
  const unit = list.dataset.unit;
  const [filter, seed, order] = [byId("filter"), byId("seed"), byId("order")];
  const [period, toggle, save] = [byId("period"), byId("toggle"), byId("save")];
  const [found, pager, place, paper] = [byId("found"), byId("pager"), byId("place"), byId("paper")];
  const count = (number) => number.toLocaleString("en");

  // The list shows the clusters that match the filters, one page at a time. The others are not in
  // the document: sorting, laying out and searching thousands of them would take many seconds.
  const texts = new Map();
  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };
  let slot = null;
  let page = 0;
  let fitting = items;
  const show = (wanted = 0) => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = seed ? seed.value : "";
    fitting = items.filter(
      (item) =>
        (only === "" || item.dataset.seeds.split(" ").includes(only)) &&
        (slot === null || item.dataset.slots.split(" ").includes(slot)) &&
        words.every((word) => textOf(item).includes(word)),
    );
    const last = Math.max(0, Math.ceil(fitting.length / size) - 1);
    page = Math.min(wanted, last);
    const listed = fitting.slice(page * size, (page + 1) * size);
    list.replaceChildren(...listed);
    const part = `${count(page * size + 1)} to ${count(page * size + listed.length)}`;
    const all = `${count(fitting.length)} of ${count(items.length)}`;
    found.value = last ? `${all} match, ${part} shown` : `${all} shown`;
    pager.hidden = last === 0;
    place.textContent = `Page ${page + 1} of ${last + 1}: ${unit}s ${part}`;
    byId("previous").disabled = page === 0;
    byId("next").disabled = page === last;
    const chosen = [
      words.length ? `with the words “${words.join(" ")}”` : "",
      slot === null ? "" : `of ${nameOf(slot)}`,
      only === "" ? "" : `for the seed “${seed.selectedOptions[0].textContent}”`,
    ].filter(Boolean);
    paper.textContent =
      `This printout has ${unit}s ${listed.length ? part : "0"} of ${count(fitting.length)}` +
      `${chosen.length ? ` ${chosen.join(", ")}` : ""}, and the beginning of each post.`;
  };
  const turn = (step) => {
    show(page + step);
    byId("posts").focus();
    byId("posts").scrollIntoView();
  };

  const rank = (a, b) => a.dataset.rank - b.dataset.rank;
  // Posts without a date come last in both orders.
  const byDate = (sign) => (a, b) => {
    const [x, y] = [a.dataset.date, b.dataset.date];
    if (x === y) return rank(a, b);
    if (x === "" || y === "") return x === "" ? 1 : -1;
    return x < y ? -sign : sign;
  };
  const orders = {
    rank,
    score: (a, b) => b.dataset.score - a.dataset.score || rank(a, b),
    size: (a, b) => b.dataset.size - a.dataset.size || rank(a, b),
    newest: byDate(-1),
    oldest: byDate(1),
  };

  // The timeline is one stop of the Tab key; the arrow keys move within it, as in a toolbar.
  const chart = byId("time-chart");
  const bars = chart ? [...chart.querySelectorAll("[data-slot]")] : [];
  const labelOf = (bar) => bar.querySelector("title").textContent;
  const nameOf = (wanted) => {
    const label = labelOf(bars.find((bar) => bar.dataset.slot === wanted));
    return label.slice(0, label.lastIndexOf(": "));
  };
  const stop = (bar) => {
    for (const other of bars) other.setAttribute("tabindex", other === bar ? "0" : "-1");
  };
  const choose = (wanted) => {
    slot = wanted === slot ? null : wanted;
    chart?.classList.toggle("chosen", slot !== null);
    for (const bar of bars) bar.setAttribute("aria-pressed", String(bar.dataset.slot === slot));
    period.hidden = slot === null;
    period.textContent = slot === null ? "" : `${nameOf(slot)} ✕`;
    period.setAttribute("aria-label", slot === null ? "" : `${nameOf(slot)} ✕ list all posts`);
    show();
  };
  if (bars.length) {
    chart.setAttribute("role", "group");
    chart.classList.add("choice");
    byId("time-hint").hidden = false;
    for (const bar of bars) {
      bar.setAttribute("role", "button");
      bar.setAttribute("aria-label", labelOf(bar));
      bar.setAttribute("aria-pressed", "false");
    }
    stop(bars[0]);
    chart.addEventListener("click", (event) => {
      // A bar can be two pixels wide, so a click selects the nearest one at any height.
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      const far = (bar) => {
        const { x: left, width } = bar.getBBox();
        return Math.max(left - x, x - left - width, 0);
      };
      const bar =
        event.target.closest("[data-slot]") ?? bars.reduce((a, b) => (far(b) < far(a) ? b : a));
      if (far(bar) > 6 && !event.target.closest("[data-slot]")) return;
      stop(bar);
      choose(bar.dataset.slot);
    });
    chart.addEventListener("keydown", (event) => {
      const at = bars.indexOf(event.target);
      const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars.length - 1 }[event.key];
      if (at < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
      if (to !== undefined) {
        const bar = bars[Math.min(Math.max(to, 0), bars.length - 1)];
        stop(bar);
        bar.focus();
      } else if (event.key === "Enter" || event.key === " ") choose(event.target.dataset.slot);
      else if (event.key === "Escape" && slot !== null) choose(slot);
      else return;
      event.preventDefault();
    });
  }

  // The listed posts in the columns of the results file; texts that a spreadsheet would run are
  // quoted.
  const COLUMNS =
    "article,rank,score,post,text,cluster,cluster_size,lang,created_at,terms,link".split(",");
  const cell = (value) => {
    if (typeof value !== "string") return String(value);
    const safe = /^'*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const articles = [...document.querySelectorAll("#seeds li code")].map((id) => id.textContent);
  const record = (post, item) => {
    const own = (path) => post.querySelector(`:scope > ${path}`);
    const text = own("details.whole > p.text") ?? own("p.text");
    const marked = [...text.querySelectorAll("mark")].map((mark) => mark.textContent.toLowerCase());
    return [
      articles[post.dataset.seed],
      Number(post.dataset.rank),
      Number(post.dataset.score),
      own(".meta > span > code").textContent,
      text.textContent,
      Number(item.dataset.rank),
      Number(item.dataset.size),
      own(".meta > .lang")?.textContent ?? "",
      own(".meta > time")?.getAttribute("datetime") ?? "",
      [...new Set(marked)].join("; "),
      own(".meta > .original")?.getAttribute("href") ?? "",
    ];
  };
  save.addEventListener("click", () => {
    const rows = [COLUMNS];
    for (const item of fitting) {
      for (const post of item.querySelectorAll(".post")) rows.push(record(post, item));
    }
    // Excel recognizes UTF-8 by the byte order mark.
    const text = `\ufeff${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    const name = decodeURIComponent(location.pathname.split("/").pop()).replace(/\.html?$/i, "");
    link.download = `${name || "report"}-shown.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });

  // A requested post is listed even if the filters exclude it, and its cluster is opened.
  const reveal = (post) => {
    const item = post.closest(".cluster");
    if (!fitting.includes(item)) {
      filter.value = "";
      if (seed) seed.value = "";
      if (slot !== null) choose(slot);
      show();
    }
    show(Math.floor(fitting.indexOf(item) / size));
    const copies = post.closest("details");
    if (copies) copies.open = true;
    // :target does not match an element that was added after the address changed.
    document.querySelector(".asked")?.classList.remove("asked");
    post.classList.add("asked");
    post.scrollIntoView();
  };
  const revealTarget = () => {
    const post = posts.get(location.hash.slice(1));
    if (post) reveal(post);
  };

  filter.addEventListener("input", () => show());
  seed?.addEventListener("change", () => show());
  period.addEventListener("click", () => {
    choose(slot);
    filter.focus(); // the button that had the focus is hidden now
  });
  order.addEventListener("change", () => {
    items.sort(orders[order.value]);
    show();
  });
  toggle.addEventListener("click", () => {
    const open = toggle.textContent === "Open all";
    for (const item of items) {
      for (const details of item.querySelectorAll("details.copies")) details.open = open;
    }
    toggle.textContent = open ? "Close all" : "Open all";
  });
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  window.addEventListener("hashchange", revealTarget);
  const form = byId("controls");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
  revealTarget();
})();
