const running = one("#running");
const state = one("#state");
const form = one("#search-form");
const uploading = new Set();

const showCommand = (command) => {
  const line = command || "# none yet: add an article and a file of posts";
  one("#command code").textContent = `# in the project folder\n${line}\n`;
};
const showFiles = (kind, changed) => {
  one(`#${kind}-files`).innerHTML = changed.html;
  showCommand(changed.command);
};

const uploads = (kind, share) => {
  const bar = one(`.drop[data-kind=${kind}] + progress`);
  bar.hidden = share === null;
  if (share !== null) bar.value = share;
};

// Refused files, each with its reason. They stay, even after a visit to another view, until they
// are dismissed or a file of that name is accepted.
let refused = JSON.parse(sessionStorage.getItem("refused") || "[]");
const showRefused = () => {
  sessionStorage.setItem("refused", JSON.stringify(refused));
  for (const place of all(".refused")) {
    place.replaceChildren(...refused.filter((entry) => place.id === `${entry.kind}-refused`).map((entry) => {
      const row = document.createElement("li");
      const words = document.createElement("span");
      words.textContent = entry.message;
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "quiet", textContent: "Dismiss" });
      button.setAttribute("aria-label", `Dismiss: ${entry.name}`);
      button.addEventListener("click", () => { refused = refused.filter((other) => other !== entry); showRefused(); });
      row.append(words, button);
      return row;
    }));
  }
};
showRefused();

// XMLHttpRequest, because fetch does not report the progress of an upload. Returns the problem.
const upload = (kind, file) =>
  new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("PUT", `/api/inputs/${kind}/${encodeURIComponent(file.name)}`);
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => uploads(kind, event.loaded / (event.total || 1)));
    request.addEventListener("loadend", () => {
      uploads(kind, null);
      if (request.status === 200) showFiles(kind, request.response);
      resolve(request.status === 200 ? "" : request.response?.error || `${file.name}: could not be uploaded. Upload the files of a folder, not the folder itself.`);
    });
    request.send(file);
  });

const take = async (kind, files) => {
  problem("");
  const mark = {};
  uploading.add(mark);
  for (const file of files) {
    // The server has the same cap, but a browser reads its answer only when everything is sent.
    const cap = Number(one(`.drop[data-kind=${kind}]`).dataset.cap);
    const message = file.size > cap ? `${file.name}: is larger than ${count(cap)} bytes; name it on the command line` : await upload(kind, file);
    refused = refused.filter((entry) => entry.kind !== kind || entry.name !== file.name);
    if (message) refused.push({ kind, name: file.name, message });
    showRefused();
  }
  uploading.delete(mark);
  if (kind === "posts") columnsOf();
};

// A file of posts whose columns are not understood is shown, and its columns are chosen here.
const columns = one("#columns");
const columnsOf = async () => {
  const fields = ["text_field", "id_field", "date_field", "encoding"].map((name) => [name, form.elements[name].value]);
  const found = await ask(`/api/columns?${new URLSearchParams(fields)}`);
  if (found.file === null) {
    if (!columns.hidden) one("#columns-of").textContent = "The posts are understood with these columns.";
    return;
  }
  columns.hidden = false;
  one("#columns-of").textContent = `Which columns of ${found.file} hold the text, the id and the date?`;
  const rows = Object.entries(found.columns);
  one("tbody", columns).replaceChildren(...rows.map(([name, samples]) => {
    const row = document.createElement("tr");
    row.append(document.createElement("th"), document.createElement("td"));
    row.firstChild.scope = "row";
    row.firstChild.textContent = name;
    row.lastChild.textContent = samples.join(" · ");
    return row;
  }));
  for (const select of all("select", columns)) {
    const offered = rows.map(([name]) => new Option(name, name));
    if (select.dataset.field === "id_field") offered.push(new Option("none: number the rows", "line"));
    select.replaceChildren(select.options[0], ...offered);
    select.value = form.elements[select.dataset.field].value;
    if (select.selectedIndex < 0) select.value = "";
  }
};
columns.addEventListener("change", (event) => {
  form.elements[event.target.dataset.field].value = event.target.value;
  columnsOf();
});
if (state.dataset.state === "failed") columnsOf();

for (const drop of all(".drop")) {
  const kind = drop.dataset.kind;
  const input = one("input", drop);
  input.addEventListener("change", async () => { await take(kind, [...input.files]); input.value = ""; });
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(kind, [...event.dataTransfer.files]);
  });
}
// A file that misses the field must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-remove]");
  if (!button) return;
  const { kind, remove } = button.dataset;
  const found = await ask(`/api/inputs/${kind}/${remove}`, { method: "DELETE" });
  showFiles(kind, found);
  if (kind === "posts" && !columns.hidden) columnsOf();
  one(`.drop[data-kind=${kind}] input`).focus();
});

one("#paste").addEventListener("submit", async (event) => {
  event.preventDefault();
  const found = await send("/api/pasted", { text: one("#pasted").value });
  problem("");
  one("#pasted").value = "";
  showFiles("articles", found);
});

const time = (seconds) => (seconds < 90 ? `${Math.max(1, seconds)} s` : `${Math.round(seconds / 60)} min`);

// What to do where the search says that relevance is unknown, unless posts are kept by score already.
const unknown = one("#unknown");
const showUnknown = (message) => {
  unknown.hidden = form.elements.keep_by.value === "score" || !message.includes(unknown.dataset.remark);
};
showUnknown(state.textContent);
one("button", unknown).addEventListener("click", () => {
  form.elements.keep_by.value = "score";
  form.elements.threshold.value = "0";
  form.requestSubmit();
});

const show = (status) => {
  const busy = status.state === "running" || status.state === "indexing";
  running.hidden = !busy;
  one("#cancel").hidden = status.state !== "running";
  one("#discard").hidden = status.state !== "stopped";
  one("#start").disabled = busy;
  const bar = one("#bar");
  if (status.share === null || status.state === "indexing") bar.removeAttribute("value");
  else bar.value = status.share;
  let text = "Reading the model and the articles…";
  if (status.state === "indexing") text = "Preparing the list…";
  else if (status.posts) {
    const turn = status.turn > 1 ? `Pass ${status.turn}: ` : "";
    text = `${turn}${count(status.posts)} posts`;
    text += status.share === null ? ", preparing the results…" : `, ${Math.floor(status.share * 100)}%`;
    if (status.seconds !== null) text += `, about ${time(status.seconds)} left in this pass`;
  }
  one("#how-far").textContent = text;
  if (busy) return;
  state.dataset.state = status.state;
  state.hidden = status.state === "none";
  if (status.state === "failed") columnsOf();
  state.textContent = status.message;
  one("#onward").hidden = status.state !== "done";
  showUnknown(status.message);
  one("#start").textContent = { stopped: "Resume", done: "Search again" }[status.state] || "Search";
};

const watch = () => {
  const source = new EventSource("/api/search/events");
  source.addEventListener("message", (event) => {
    const status = JSON.parse(event.data);
    show(status);
    if (status.state !== "running" && status.state !== "indexing") source.close();
  });
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  problem("");
  if (uploading.size) { problem("Files are still being uploaded; wait until they are complete."); return; }
  const row = Object.fromEntries(new FormData(form));
  for (const box of all("input[type=checkbox]", form)) row[box.name] = box.checked;
  state.hidden = true;
  unknown.hidden = true;
  const started = await send("/api/search", row);
  one(".command").open = true;
  showCommand(started.command);
  show({ state: "running", share: null, posts: 0 });
  watch();
});
one("#cancel").addEventListener("click", () => send("/api/search/cancel", {}));
one("#discard").addEventListener("click", async () => {
  await send("/api/search/discard", {});
  location.reload();
});
if (!running.hidden) watch();
