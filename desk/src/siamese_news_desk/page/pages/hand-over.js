const whose = one("#whose");
if (whose) {
  whose.value = localStorage.getItem("annotator") || "";
  one("#import").addEventListener("submit", async (event) => {
    event.preventDefault();
    problem("");
    const file = one("#labeled").files[0];
    const query = new URLSearchParams({ name: file.name, annotator: whose.value });
    const found = await ask(`/api/labels/import?${query}`, { method: "PUT", body: file });
    one("#taken").value = `${count(found.taken)} imported, ${count(found.already)} already existed, ${count(found.unknown)} for posts that are not in the results${found.conflicts ? `, ${count(found.conflicts)} left out because the file says both relevant and not relevant` : ""}`;
  });
  // A file is made when requested; a problem is shown here and not as a page of its own.
  for (const link of all(".offers a")) {
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      problem("");
      const answer = await fetch(link.href);
      if (!answer.ok) { problem((await answer.json()).error); return; }
      const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))?.[1] || "file";
      const place = document.createElement("a");
      place.href = URL.createObjectURL(await answer.blob());
      place.download = name;
      place.click();
      URL.revokeObjectURL(place.href);
    });
  }
}
