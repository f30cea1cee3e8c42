// Guesses before the answer: each is kept for the next visit, compared with what is right, and told to whatever on the page asks.
// A form's `data-guess` holds the guess, a number or a list of places; the event `guess`, with {label, guess, right}, tells of a new one.
(() => {
  const keyOf = (form) => `guess ${location.pathname}#${form.id}`;

  // Where a browser forbids to keep anything, a guess lasts as long as the page
  function kept(form) {
    try {
      return JSON.parse(localStorage.getItem(keyOf(form)));
    } catch {
      return null;
    }
  }
  function keep(form, guess) {
    try {
      if (guess === null) localStorage.removeItem(keyOf(form));
      else localStorage.setItem(keyOf(form), JSON.stringify(guess));
    } catch {}
  }

  // How a guess compares: nodes or words
  const compare = {
    number({ within, unit }, guess, answer) {
      const off = Number(Math.abs(guess - answer).toPrecision(6));
      const verdict = off === 0 ? "exactly right" : `it is ${answer}${unit}, ${off <= within ? "so that is close enough" : `so you are off by ${off}`}`;
      return [`You guessed ${guess}${unit}: ${verdict}.`];
    },
    choice(_, [guess], __, form) {
      const meant = [...form.querySelectorAll("details > div > ul:last-child > li")];
      meant.forEach((item, place) => (item.hidden = place === guess)); // it is said above, those of the others stay
      return ["You guessed: ", ...meant[guess].cloneNode(true).childNodes];
    },
    cells(_, guess, answer, form) {
      const labels = [...form.querySelectorAll("label")], says = { found: [], missed: [], extra: [] };
      labels.forEach((label, place) => {
        const right = answer.includes(place), mark = guess.includes(place) ? (right ? "found" : "extra") : right && "missed";
        if (!mark) return;
        label.classList.add(mark);
        says[mark].push(`${label.querySelector("span").textContent} (position ${place})`);
      });
      if (!says.missed.length && !says.extra.length) return [`All right: ${says.found.join(", ")}.`];
      const words = { found: "Right", missed: "Missed", extra: "Not so" };
      return [Object.entries(words).filter(([mark]) => says[mark].length).map(([mark, word]) => `${word}: ${says[mark].join(", ")}.`).join(" ")];
    },
  };

  function bind(form) {
    const [inputs, button, verdict, details] = ["fieldset", "button", ".verdict", "details"].map((name) => form.querySelector(name));
    const { kind } = form.dataset, fields = [...inputs.elements], answer = JSON.parse(form.dataset.answer);
    const read = () => (kind === "number" ? fields[0].valueAsNumber : fields.flatMap(({ checked }, place) => (checked ? place : [])));
    const fits = (guess) => (kind === "number" ? typeof guess === "number" : guess?.every?.((place) => fields[place])); // of a page since changed
    const isRight = (guess) => (kind === "number" ? Math.abs(guess - answer) <= form.dataset.within : `${guess}` === `${answer}`);
    const tell = (guess) => {
      const detail = { label: form.id.replace("guess-", ""), guess, right: guess !== null && isRight(guess) };
      form.dispatchEvent(new CustomEvent("guess", { bubbles: true, detail }));
    };

    function show(guess) {
      fields.forEach((field, place) => (kind === "number" ? (field.value = guess) : (field.checked = guess.includes(place))));
      form.dataset.guess = JSON.stringify(guess);
      verdict.replaceChildren(...compare[kind](form.dataset, guess, answer, form));
      inputs.disabled = details.open = true;
      button.textContent = "Guess again";
      tell(guess);
    }

    function forget() {
      form.querySelectorAll(".found, .missed, .extra").forEach(({ classList }) => classList.remove("found", "missed", "extra"));
      form.querySelectorAll("li[hidden]").forEach((item) => (item.hidden = false));
      form.reset();
      delete form.dataset.guess;
      verdict.replaceChildren();
      inputs.disabled = details.open = false;
      button.textContent = "Guess";
      fields[0].focus();
      tell(null);
    }

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (inputs.disabled) {
        keep(form, null);
        return forget();
      }
      const guess = read();
      if (Array.isArray(guess) && !guess.length) return verdict.replaceChildren("Click on what you guess first.");
      keep(form, guess);
      show(guess);
    });
    const before = kept(form);
    if (fits(before)) show(before);
    verdict.ariaLive = "polite"; // from now on: what was kept is no news
  }

  document.querySelectorAll(".guess-first").forEach(bind);
})();
