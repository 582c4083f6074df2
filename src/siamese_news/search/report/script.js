"use strict";
(() => {
  const list = document.getElementById("clusters");
  const items = [...list.children];
  const filter = document.getElementById("filter");
  const seed = document.getElementById("seed");
  const order = document.getElementById("order");
  const toggle = document.getElementById("toggle");
  const found = document.getElementById("found");
  const texts = new Map();

  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };

  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = seed ? seed.value : "";
    let count = 0;
    for (const item of items) {
      const fits =
        (only === "" || item.dataset.seeds.split(" ").includes(only)) &&
        (words.length === 0 || words.every((word) => textOf(item).includes(word)));
      item.hidden = !fits;
      count += fits;
    }
    found.value = `${count.toLocaleString("en")} of ${items.length.toLocaleString("en")} shown`;
  };

  const rank = (a, b) => a.dataset.rank - b.dataset.rank;
  // A post without a date comes last, whichever end is first.
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

  filter.addEventListener("input", show);
  if (seed) seed.addEventListener("change", show);
  order.addEventListener("change", () => list.append(...items.sort(orders[order.value])));
  toggle.addEventListener("click", () => {
    const open = toggle.textContent === "Open all";
    for (const details of list.querySelectorAll("details.copies")) details.open = open;
    toggle.textContent = open ? "Close all" : "Open all";
  });
  // The map is one picture, not two thousand links: its dots are for the mouse alone.
  document.querySelector(".map")?.addEventListener("click", (event) => {
    const row = event.target.closest("[data-row]")?.dataset.row;
    const post = row && document.getElementById(`post-${row}`);
    if (!post) return;
    if (post.closest(".cluster").hidden) {
      filter.value = "";
      if (seed) seed.value = "";
      show();
    }
    const copies = post.closest("details");
    if (copies) copies.open = true;
    location.hash = post.id;
  });
  const form = document.getElementById("controls");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  show();
})();
