"use strict";
(() => {
  const FAR = 60;

  const marksOf = (plot) =>
    [...plot.querySelectorAll("[data-says]")].filter((mark) => mark.getClientRects().length > 0);

  const middleOf = (mark) => {
    const box = mark.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2, top: box.top };
  };

  const ordered = (plot) => {
    const axis = plot.dataset.along;
    return marksOf(plot).sort((one, other) => middleOf(one)[axis] - middleOf(other)[axis]);
  };

  const watch = (plot) => {
    let shown = null;
    const tip = document.createElement("p");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    tip.hidden = true;
    plot.append(tip);
    plot.tabIndex = 0;
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-roledescription", "chart; arrow keys go from point to point");

    const hide = () => {
      if (shown) shown.classList.remove("on");
      shown = null;
      tip.hidden = true;
    };

    const show = (mark) => {
      if (mark === shown) return;
      hide();
      shown = mark;
      mark.classList.add("on");
      tip.replaceChildren(...mark.dataset.says.split("; ").map((line) => {
        const span = document.createElement("span");
        span.textContent = line;
        return span;
      }));
      tip.hidden = false;
      const here = plot.getBoundingClientRect();
      const middle = middleOf(mark);
      const left = Math.min(Math.max(0, middle.x - here.left - tip.offsetWidth / 2), here.width - tip.offsetWidth);
      const above = middle.top - here.top - tip.offsetHeight - 10;
      tip.style.left = `${left}px`;
      tip.style.top = `${above >= -40 ? above : middle.y - here.top + 16}px`;
    };

    const follow = (event) => {
      const axis = plot.dataset.along;
      const pointer = { x: event.clientX, y: event.clientY };
      let nearest = null;
      let least = FAR;
      for (const mark of marksOf(plot)) {
        const distance = Math.abs(middleOf(mark)[axis] - pointer[axis]);
        if (distance < least) [nearest, least] = [mark, distance];
      }
      if (nearest) show(nearest);
      else hide();
    };

    plot.addEventListener("pointermove", follow);
    plot.addEventListener("pointerdown", follow);
    plot.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") hide();
    });
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
      if (event.key === "Escape") hide();
      if (!(event.key in steps) && event.key !== "Home" && event.key !== "End") return;
      const marks = ordered(plot);
      if (!marks.length) return;
      event.preventDefault();
      const last = marks.length - 1;
      const here = marks.indexOf(shown);
      const step = steps[event.key];
      let next = event.key === "End" ? last : 0;
      if (step && here >= 0) next = Math.min(last, Math.max(0, here + step));
      else if (step === -1) next = last;
      show(marks[next]);
    });
  };

  document.querySelectorAll(".plot").forEach(watch);
})();
