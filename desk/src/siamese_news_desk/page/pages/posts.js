for (const button of all("[data-about]")) {
  button.addEventListener("click", async () => {
    await send("/api/search", { about: button.dataset.about });
    location.assign("/");
  });
}
const list = one("#clusters");
if (list) {
  const figure = one("#scores");
  const chart = one("svg", figure);
  const cut = one("#cut");
  const number = one("#cut-number");
  const controls = one("#controls");
  const more = one("#more");
  let next = null;
  let turn = 0;

  // The chart's own axis: two ticks tell the scale.
  const ticks = all("text.tick[text-anchor=middle]", chart).map((tick) => [Number(tick.textContent), Number(tick.getAttribute("x"))]);
  const [low, high] = [ticks[0], ticks[ticks.length - 1]];
  const place = (score) => low[1] + ((score - low[0]) / (high[0] - low[0])) * (high[1] - low[1]);
  const score = (x) => low[0] + ((x - low[1]) / (high[1] - low[1])) * (high[0] - low[0]);

  const by = one("#cut-by");
  let ending = JSON.parse(one(".cut").dataset.end); // where the list ends, as the server says it
  const show = () => {
    cut.value = ending.threshold;
    number.value = by.value === "posts" ? ending.posts : by.value === "relevance" ? ending.relevance : ending.score;
    draw(ending.threshold);
    one("#above").value = ending.line;
    one("#whose").value = ending.detail;
  };
  const ends = async (row) => {
    ending = await send("/api/threshold", row);
    problem("");
    show();
    if (controls.elements.above.checked) reload();
  };
  const keep = later((value) => ends({ threshold: value }), 300);
  const draw = (value) => {
    const x = place(value);
    for (const name of ["x1", "x2"]) one("line.threshold", chart).setAttribute(name, x);
    const label = one(".threshold-label", chart);
    const left = x > 400;
    label.setAttribute("x", x + (left ? -7 : 7));
    label.setAttribute("text-anchor", left ? "end" : "start");
    label.textContent = `threshold ${value.toFixed(3)}`;
    for (const bar of all("rect.bar", chart)) {
      const middle = Number(bar.getAttribute("x")) + Number(bar.getAttribute("width")) / 2;
      bar.classList.toggle("above", middle >= x);
    }
  };
  const choose = (value) => {
    draw(value);
    keep(value);
  };
  cut.addEventListener("input", () => choose(Number(cut.value)));
  by.addEventListener("change", show);
  number.addEventListener("change", () => {
    ends({ by: by.value, threshold: number.value.trim() }).catch(show);
  });
  const drag = (event) => {
    const box = chart.getBoundingClientRect();
    const value = score(((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width);
    cut.value = Math.min(Number(cut.max), Math.max(Number(cut.min), value));
    choose(Number(cut.value));
  };
  chart.addEventListener("pointerdown", (event) => {
    drag(event);
    chart.setPointerCapture(event.pointerId);
    chart.addEventListener("pointermove", drag);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    chart.addEventListener(name, () => chart.removeEventListener("pointermove", drag));
  }

  const load = async (after) => {
    const mine = ++turn;
    const query = new URLSearchParams(new FormData(controls));
    query.delete("above");
    query.set("groups", controls.elements.groups?.checked ? "1" : "");
    if (controls.elements.above.checked) query.set("least", ending.score);
    if (after) query.set("after", after);
    const found = await ask(`/api/posts?${query}`);
    if (mine !== turn) return;
    if (start) one("#all-dates").hidden = !(start.value || end.value);
    if (after) list.insertAdjacentHTML("beforeend", found.html);
    else list.innerHTML = found.html;
    next = found.next;
    more.hidden = next === null;
    if (found.timeline !== undefined) one("#timeline").innerHTML = found.timeline;
    one("#found").value = `${count(found.found)} found`;
  };
  const reload = later(() => load(0), 120);
  controls.addEventListener("input", reload);
  annotator.addEventListener("change", reload);
  controls.addEventListener("submit", (event) => event.preventDefault());
  more.addEventListener("click", () => { more.hidden = true; load(next); });
  new IntersectionObserver((seen) => {
    if (seen[0].isIntersecting && !more.hidden) more.click();
  }, { rootMargin: "600px" }).observe(one("#end"));

  const go = (item, step) => {
    const items = all("#clusters > .item");
    const to = items[items.indexOf(item) + step];
    if (to) { to.focus(); to.scrollIntoView({ block: "nearest" }); }
  };
  list.addEventListener("keydown", async (event) => {
    const item = event.target.closest(".item");
    if (!item || typing(event) || event.repeat && event.key in KEYS) return;
    if (event.key in KEYS) {
      event.preventDefault();
      const together = Boolean(one("#together")?.checked);
      if (await giveLabel(item, KEYS[event.key], { together })) go(item, 1);
    } else if (event.key === "u") {
      const gone = await send("/api/labels/undo", { annotator: annotator.value });
      const back = gone.post !== null && all(".item").find((other) => postOf(other) === gone.post);
      if (back) { showLabel(back, "", 0); back.focus(); }
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      go(item, event.key === "ArrowDown" ? 1 : -1);
    }
  });

  // A bar of the timeline fills in the dates. Its number counts from 1970, as in the charts.
  const iso = (day) => new Date(day * 864e5).toISOString().slice(0, 10);
  const span = (unit, at) => {
    if (unit === "hour") return [iso(Math.floor(at / 24)), iso(Math.floor(at / 24))];
    if (unit === "day") return [iso(at), iso(at)];
    const months = unit === "month" ? 1 : 12;
    const day = (month, d) => new Date(Date.UTC(1970, month, d)).toISOString().slice(0, 10);
    return [day(at * months, 1), day((at + 1) * months, 0)];
  };
  const { start, end } = controls.elements;
  const dates = (from, to) => {
    [start.value, end.value] = [from, to];
    reload();
  };
  one("#timeline").addEventListener("click", (event) => {
    const bar = event.target.closest("[data-slot]");
    if (!bar || !start) return;
    const { unit, first: begin } = bar.closest("figure").dataset;
    dates(...span(unit, Number(begin) + Number(bar.dataset.slot)));
    one("#posts").scrollIntoView();
  });
  one("#all-dates")?.addEventListener("click", () => { dates("", ""); one("#words").focus(); });

  one("#verdicts")?.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem("");
    const file = one("#verdicts-file").files[0];
    const query = new URLSearchParams({ name: file.name, machine: one("#verdicts-name").value });
    await ask(`/api/verdicts?${query}`, { method: "PUT", body: file });
    location.reload();
  });
  one("#forget")?.addEventListener("click", async () => {
    await ask("/api/verdicts", { method: "DELETE" });
    location.reload();
  });
  // Learning takes a while; the page then shows the result.
  one("#learn").addEventListener("click", async () => {
    problem("");
    one("#learn").disabled = true;
    one("#learning").value = "Learning…";
    try {
      await send("/api/learn", {});
      location.reload();
    } catch {
      one("#learn").disabled = false;
      one("#learning").value = "";
    }
  });

  show();
  load(0);
}
