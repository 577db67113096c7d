"use strict";
// Reads figures off the charts, under a pointer or with the arrow keys. The page says the same without it.
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const sessions = new Map(figures.sessions.map((session) => [String(session.place), session]));
  const short = (value) => {
    for (const [limit, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (value >= limit * 0.9995) {
        const scaled = value / limit;
        return scaled.toFixed(scaled >= 99.95 ? 0 : scaled >= 9.995 ? 1 : 2) + letter;
      }
    }
    return String(Math.round(value));
  };
  const chosen = (section) => Number(section.querySelector(".pick:checked").value);
  const shownLine = (section, at) => section.querySelector(`.line-${at}`)?.checked ?? true;

  const words = (session, section, kind, column) => {
    const policy = session.policies[chosen(section)];
    if (kind === "kinds") {
      const sizes = policy.kinds.map((kind, at) => [figures.kinds[at], kind?.[column]]).filter(([, size]) => size);
      return sizes.reverse().map(([name, size]) => `${name} ${short(size * figures.step)}`);
    }
    if (kind === "price") {
      const price = policy.price[column];
      if (price === null) return ["no request"];
      return [`${price.toLocaleString("en")} units`, ...(policy.broke[column] ? [policy.broke[column]] : [])];
    }
    return session.policies
      .filter((one, at) => shownLine(section, at) && one[kind][column] !== null)
      .map((one) => `${one.name} ${short(one[kind][column])}`);
  };

  for (const figure of document.querySelectorAll(".chart")) {
    const section = figure.closest(".session");
    const session = sessions.get(section.dataset.session);
    const area = figure.querySelector(".area");
    const cursor = figure.querySelector(".cursor");
    const read = figure.querySelector(".read");
    const still = read.textContent;
    const columns = session.first.length;
    let column = 0;
    const show = (wanted) => {
      column = Math.max(0, Math.min(columns - 1, wanted));
      const first = session.first[column];
      const last = (session.first[column + 1] ?? session.requests + 1) - 1;
      const name = last > first ? `Requests ${first}–${last}` : `Request ${first}`;
      read.textContent = `${name}: ${words(session, section, figure.dataset.chart, column).join(" · ")}`;
      cursor.style.left = `${((column + 0.5) / columns) * 100}%`;
      cursor.style.display = "block";
    };
    const hide = () => {
      cursor.style.display = "none";
      read.textContent = still;
    };
    area.tabIndex = 0;
    area.addEventListener("pointermove", (event) => {
      const box = area.getBoundingClientRect();
      show(Math.floor(((event.clientX - box.left) / box.width) * columns));
    });
    area.addEventListener("pointerleave", hide);
    area.addEventListener("blur", hide);
    area.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -columns, End: columns }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      show(column + step * (event.shiftKey ? 10 : 1));
    });
  }
})();
