// digits.js - reads digits that are drawn: strokes become an image as the training data has them, cinfer scores it.

// ---- the model ----

/** Starts the compiled program and opens a model in it. */
export async function openModel(programBytes, modelBytes) {
  // wasi-libc's printf could write to a terminal, and never does here.
  const refuse = () => 8; // EBADF
  const wasi = { fd_close: refuse, fd_seek: refuse, fd_write: refuse };
  const { instance } = await WebAssembly.instantiate(programBytes, { wasi_snapshot_preview1: wasi });
  const program = instance.exports;
  program._initialize();
  const place = program.reserve(modelBytes.byteLength);
  if (place === 0) throw new Error("no memory for the model");
  // Views are made anew for each use: memory that has grown leaves the old ones empty.
  new Uint8Array(program.memory.buffer).set(new Uint8Array(modelBytes), place);
  check(program, program.open_model(place, modelBytes.byteLength));
  return {
    /** The ten probabilities of an image of 64 numbers between 0 and 1. */
    predict(image, times = 1) {
      new Float32Array(program.memory.buffer, program.image(), 64).set(image);
      check(program, program.run(times));
      return new Float32Array(program.memory.buffer, program.scores(), 10).slice();
    },
  };
}

function check(program, status) {
  if (status === 0) return;
  const text = new Uint8Array(program.memory.buffer, program.message());
  throw new Error(new TextDecoder().decode(text.subarray(0, text.indexOf(0))));
}

/** Microseconds a prediction takes: the best of some rounds, each as long as a clock with coarse steps needs. */
export function measure(model, image) {
  let best = Infinity;
  for (let times = 1, rounds = 0; rounds < 5; ) {
    const start = performance.now();
    model.predict(image, times);
    const taken = performance.now() - start;
    if (taken < 5) {
      times *= 2;
    } else {
      best = Math.min(best, (1000 * taken) / times);
      rounds++;
    }
  }
  return best;
}

// ---- the image ----

const GRID = 32; // the data's authors scanned digits to 32 x 32 dots and counted them in fields of 4 x 4
const FIELD = 4;
const PEN = 2.6; // half of the stroke's width, in dots

/** 8 x 8 shares of ink of strokes, each a list of points {x, y}: moved and scaled until they fill the height. */
export function imageOf(strokes) {
  const image = new Float32Array(64);
  const points = fitted(strokes);
  for (let y = 0; y < GRID; y++) {
    for (let x = 0; x < GRID; x++) {
      if (!points.some((stroke) => near(stroke, x + 0.5, y + 0.5))) continue;
      image[8 * Math.floor(y / FIELD) + Math.floor(x / FIELD)] += 1 / (FIELD * FIELD);
    }
  }
  return image;
}

function fitted(strokes) {
  const all = strokes.flat();
  const xs = all.map((p) => p.x), ys = all.map((p) => p.y);
  const left = Math.min(...xs), top = Math.min(...ys);
  const width = Math.max(...xs) - left, height = Math.max(...ys) - top;
  const scale = (GRID - 2 * PEN) / Math.max(width, height, 1);
  const place = (value, from, size) => (value - from - size / 2) * scale + GRID / 2;
  return strokes.map((stroke) => stroke.map((p) => ({ x: place(p.x, left, width), y: place(p.y, top, height) })));
}

function near(stroke, x, y) {
  return stroke.some((point, i) => distance(x, y, stroke[Math.max(i - 1, 0)], point) <= PEN);
}

/** From a point to the line between two others. */
function distance(x, y, a, b) {
  const dx = b.x - a.x, dy = b.y - a.y;
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, ((x - a.x) * dx + (y - a.y) * dy) / length));
  return Math.hypot(x - a.x - along * dx, y - a.y - along * dy);
}

// ---- the page ----

const element = (id) => document.getElementById(id);

export async function showPage() {
  try {
    const [program, file] = await Promise.all([load("digits.wasm"), load("digits.gio")]);
    const model = await openModel(program, file);
    element("sizes").textContent =
      `${kilobytes(program)} of WebAssembly, ${kilobytes(file)} of model; nothing leaves this page.`;
    listen(model);
    element("answer").textContent = "Draw a digit.";
    document.body.dataset.state = "ready";
  } catch (error) {
    element("answer").textContent = error.message;
    document.body.dataset.state = "failed";
  }
}

async function load(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${answer.statusText}; build.py makes it`);
  return answer.arrayBuffer();
}

const kilobytes = (bytes) => `${Math.round(bytes.byteLength / 1024)} KB`;

/** Pointer events are those of mice, pens and fingers. */
function listen(model) {
  const paper = element("paper");
  let strokes = [], drawing = false;
  const show = () => {
    drawStrokes(paper, strokes);
    showImage(strokes.length ? imageOf(strokes) : null, model);
  };
  const add = (event) => {
    const area = paper.getBoundingClientRect();
    const scale = paper.width / area.width;
    strokes.at(-1).push({ x: (event.clientX - area.left) * scale, y: (event.clientY - area.top) * scale });
    show();
  };
  paper.addEventListener("pointerdown", (event) => {
    paper.setPointerCapture(event.pointerId);
    drawing = true;
    strokes.push([]);
    add(event);
  });
  paper.addEventListener("pointermove", (event) => drawing && add(event));
  const end = () => {
    if (!drawing) return;
    drawing = false;
    element("time").textContent = `${Math.round(measure(model, imageOf(strokes))).toLocaleString("en")} µs a prediction`;
  };
  paper.addEventListener("pointerup", end);
  paper.addEventListener("pointercancel", end);
  element("clear").addEventListener("click", () => {
    strokes = [];
    element("time").textContent = "";
    show();
  });
  show();
}

function drawStrokes(paper, strokes) {
  const pen = paper.getContext("2d");
  pen.clearRect(0, 0, paper.width, paper.height);
  pen.lineWidth = paper.width / 14;
  pen.lineCap = pen.lineJoin = "round";
  for (const [first, ...rest] of strokes) {
    pen.beginPath();
    pen.moveTo(first.x, first.y);
    for (const point of rest.length ? rest : [first]) pen.lineTo(point.x, point.y);
    pen.stroke();
  }
}

/** The image that the network gets, its scores as bars, and its answer. */
function showImage(image, model) {
  const scores = image ? model.predict(image) : new Float32Array(10);
  const best = scores.indexOf(Math.max(...scores));
  element("answer").textContent = image ? `${best} (${percent(scores[best])})` : "Draw a digit.";
  element("answer").dataset.digit = image ? best : "";
  element("scores").replaceChildren(...Array.from(scores, (score, digit) => bar(digit, score, image && digit === best)));
  const pen = element("seen").getContext("2d");
  for (let i = 0; i < 64; i++) {
    const grey = 255 - Math.round(255 * (image ? image[i] : 0));
    pen.fillStyle = `rgb(${grey} ${grey} ${grey})`;
    pen.fillRect(i % 8, Math.floor(i / 8), 1, 1);
  }
}

const percent = (score) => `${(100 * score).toFixed(1)} %`;

function bar(digit, score, best) {
  const row = document.createElement("li");
  row.className = best ? "best" : "";
  row.innerHTML = `<span>${digit}</span><div><i style="width:${100 * score}%"></i></div><span>${percent(score)}</span>`;
  return row;
}
