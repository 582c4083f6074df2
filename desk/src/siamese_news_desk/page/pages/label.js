const card = one("#card");
if (card) {
  // The posts shown so far and the position among them; the next ones are fetched ahead.
  let shown = [];
  let at = -1;
  let busy = false;
  let fetching = null;
  let turn = 0; // of the queue: answers for an earlier one come too late
  const kind = one("#kind");
  const wanted = new URLSearchParams(location.search).get("kind");
  if (wanted && one(`option[value="${CSS.escape(wanted)}"]`, kind)) kind.value = wanted;
  const note = one("#note");
  const empty = one("#empty");

  // The curve keeps its place, and its table stays open, while labels come in.
  const curve = async () => {
    const place = one("#reading");
    const open = one("details", place)?.open;
    place.innerHTML = (await ask("/api/reading")).html;
    if (open) one("details", place)?.setAttribute("open", "");
  };
  const drawn = later(curve, 200);
  const element = (post) => {
    const box = document.createElement("ol");
    box.innerHTML = post.html;
    return { post: post.post, item: box.firstElementChild };
  };

  const fetchMore = async () => {
    const mine = turn;
    const leave = shown.slice(at < 0 ? 0 : at).map((entry) => entry.post);
    const query = new URLSearchParams({ kind: kind.value, annotator: annotator.value, leave: JSON.stringify(leave) });
    const found = await ask(`/api/queue?${query}`);
    if (mine !== turn) return;
    const known = new Set(shown.map((entry) => entry.post));
    shown.push(...found.posts.filter((post) => !known.has(post.post)).map(element));
    one("#ahead").textContent = found.ahead;
    const { yes, no, skip } = found.counts;
    said = { yes, no, skip };
    tell();
  };
  let said = { yes: 0, no: 0, skip: 0 };
  const tell = () => {
    drawn();
    one("#progress").value = `your labels: ${count(said.yes)} relevant, ${count(said.no)} not, ${count(said.skip)} unsure`;
  };
  const ahead = () => {
    const mine = turn;
    fetching ??= fetchMore().finally(() => { if (mine === turn) fetching = null; });
    return fetching;
  };

  const show = () => {
    const entry = shown[at];
    card.replaceChildren(...(entry ? [entry.item] : []));
    empty.hidden = Boolean(entry);
    if (!entry) {
      empty.innerHTML = "";
      empty.textContent = {
        rank: "You have labeled every post in the list.",
        relevance: "All these posts have your label. The view Posts says what relevance is worth now.",
        learned: "You have labeled every post in the list.",
        teach: "Every text in the list has a label.",
        threshold: "Every post in the list has a label.",
        second: "You have labeled every post that others have labeled.",
        conflict: "You do not disagree with others about any post.",
        unsure: "You have not marked any post as unsure.",
      }[kind.value] ?? "Nothing is left to label here: the planned labels are given, or no further post can join the list. The view Decide shows it.";
    } else {
      entry.item.querySelector("details.whole")?.setAttribute("open", "");
      entry.item.focus({ preventScroll: true });
    }
  };
  const forward = async () => {
    const mine = turn;
    // Never past a post that waits for its label, unless the user moves back and forth.
    // What was fetched before the last label may lack posts that this label chose.
    if (at + 1 >= shown.length) await fetching;
    if (mine === turn && at + 1 >= shown.length) await ahead();
    if (mine !== turn) return;
    if (at + 1 < shown.length) at += 1;
    else if (shown[at]?.item.dataset.label) { at = shown.length; }
    if (shown.length - at < 4) ahead().catch(() => {});
    show();
  };
  const restart = async () => {
    turn += 1;
    fetching = null;
    shown = [];
    at = -1;
    card.replaceChildren();
    await forward();
  };

  const press = async (key) => {
    if (busy) return;
    busy = true;
    const mine = turn;
    try {
      if (key in KEYS) {
        const entry = shown[at];
        if (!entry) return;
        const before = entry.item.dataset.label;
        const label = KEYS[key];
        const given = await giveLabel(entry.item, label, { note: note.value, together: one("#together").checked });
        if (!given || mine !== turn) return;
        if (given.copies) {
          // Near-duplicates that were fetched ahead have their label now: they are left out.
          await fetching;
          shown.splice(at + 1);
        }
        if (before) said[before] -= 1;
        said[label] += 1;
        tell();
        note.value = "";
        await forward();
      } else if (key === "u") {
        const gone = await send("/api/labels/undo", { annotator: annotator.value });
        if (gone.post === null) return;
        const place = shown.findIndex((entry) => entry.post === gone.post);
        if (place >= 0) {
          said[shown[place].item.dataset.label] -= 1;
          showLabel(shown[place].item, "", 0);
          at = place;
          tell();
          show();
        } else await restart();
      } else if (key === "ArrowLeft" && at > 0) {
        at -= 1;
        show();
      } else if (key === "ArrowRight") {
        await forward();
      }
    } catch (error) {
      if (!error.status && !error.lost) throw error;
    } finally {
      busy = false;
    }
  };

  document.addEventListener("keydown", (event) => {
    const known = event.key in KEYS || ["u", "ArrowLeft", "ArrowRight"].includes(event.key);
    if (!known || typing(event) || event.repeat) return;
    event.preventDefault();
    press(event.key);
  });
  note.addEventListener("keydown", (event) => { if (event.key === "Enter") shown[at]?.item.focus(); });
  for (const button of all("[data-key]")) button.addEventListener("click", () => press(button.dataset.key));
  kind.addEventListener("change", restart);
  annotator.addEventListener("change", restart);
  one("#criteria").addEventListener("input", later(async () => {
    await send("/api/settings", { criteria: one("#criteria").value });
    one("#kept").textContent = "Saved.";
  }, 400));
  restart();
}
