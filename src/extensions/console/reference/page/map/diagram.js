import { html, IconButton } from 'belfry/console';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { boxOf, edgesOf, matchesText, ON_DELETE } from './boxes.js';
import { edgePath, layOut } from './layout.js';
import { areaOf, fitView, READABLE_SCALE, selectionView, zoomView } from './view.js';

const STEP = 60;
const ZOOM = 1.25;
const EDGE_SHIFT = 9;
const MAX_NAME = 17;
const MAX_TYPE = 14;
const MAX_POLICY = 32;
/** Of a name that is shown large, in letters. */
const MAX_LARGE_NAME = 28;
const MAX_LINE = 12;

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

/** A name on one line, or on two if it is long and consists of several words. */
function linesOf(label) {
  const text = cut(label, MAX_LARGE_NAME);
  const gaps = [...text.matchAll(/ /g)].map(({ index }) => index);
  if (text.length <= MAX_LINE || gaps.length === 0) return [text];
  const middle = text.length / 2;
  const gap = gaps.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle))[0];
  return [text.slice(0, gap), text.slice(gap + 1)];
}

/** The name of a resource, as large as its box allows. */
function LargeName({ label, width, height }) {
  const lines = linesOf(label);
  const longest = Math.max(...lines.map(({ length }) => length));
  const size = Math.min(30, (width - 16) / (0.58 * longest), (height - 6) / (1.1 * lines.length));
  return lines.map(
    (line, index) => html`<text
      key=${line}
      class="reference-box-name"
      x=${width / 2}
      y=${height / 2 + (index - (lines.length - 1) / 2) * size * 1.1}
      text-anchor="middle"
      dominant-baseline="central"
      style=${{ fontSize: `${size}px` }}
    >${line}</text>`,
  );
}

function BoxDrawing({ box, state, isSmall, onSelect }) {
  const { id, label, rows, more, policy, summary, x, y, width, height } = box;
  if (isSmall)
    return html`<g class=${`reference-box ${state}`} transform=${`translate(${x},${y})`} onClick=${() => onSelect(id)}>
      <title>${id}</title>
      <rect width=${width} height=${height} rx="9" />
      <${LargeName} label=${label} width=${width} height=${height} />
    </g>`;
  return html`<g class=${`reference-box ${state}`} transform=${`translate(${x},${y})`} onClick=${() => onSelect(id)}>
    <title>${id}</title>
    <rect width=${width} height=${height} rx="9" />
    <text class="reference-box-name" x="12" y="20">${cut(label, 26)}</text>
    ${summary && html`<text class="reference-box-type" x="12" y="38">${summary}</text>`}
    ${rows.length > 0 && html`<path class="reference-box-line" d=${`M0,30 H${width}`} />`}
    ${rows.map(
      (row, index) => html`<g key=${row.name} transform=${`translate(0,${46 + index * 19})`}>
        <text x="12" class=${row.isReference ? 'reference-box-ref' : ''}>${cut(row.name, MAX_NAME)}${row.marks}</text>
        <text x=${width - 12} text-anchor="end" class="reference-box-type">${cut(row.text, MAX_TYPE)}</text>
      </g>`,
    )}
    ${more > 0 && html`<text x="12" y=${46 + rows.length * 19} class="reference-box-type">${more} more</text>`}
    ${
      policy &&
      html`<path class="reference-box-line" d=${`M0,${height - 24} H${width}`} />
        <text x="12" y=${height - 8} class="reference-box-type">${cut(policy, MAX_POLICY)}</text>`
    }
  </g>`;
}

function EdgeDrawing({ edge, boxes, state }) {
  const { from, to, field, many, onDelete, number } = edge;
  const path = edgePath(boxes.get(from), boxes.get(to), number * EDGE_SHIFT);
  return html`<g class=${`reference-edge ${onDelete} ${state}`}>
    <title>${`${from}.${field} → ${to}${many ? ' (list)' : ''}. If it is deleted, ${from} ${ON_DELETE[onDelete]}.`}</title>
    <path class="reference-edge-hit" d=${path} />
    <path d=${path} marker-end="url(#reference-arrow)" />
  </g>`;
}

/**
 * Pans and zooms.
 *
 * @param all the area of the whole drawing
 * @param selection the selected box, and its area with its neighbours; undefined: all is shown until the user moves the drawing
 */
function useView(all, selection) {
  const frame = useRef(null);
  const size = useRef({ width: 0, height: 0 });
  const [view, setView] = useState({ x: 0, y: 0, scale: 1 });
  const isMoved = useRef(false);
  const show = (isWhole) => {
    isMoved.current = false;
    if (size.current.width === 0) return;
    setView(
      isWhole || selection === undefined
        ? fitView(all, size.current)
        : selectionView(selection.box, selection.area, size.current),
    );
  };
  const move = (change) => {
    isMoved.current = true;
    setView(change);
  };
  const zoom = (factor, point = { x: size.current.width / 2, y: size.current.height / 2 }) =>
    move((before) => zoomView(before, factor, point));
  const key = JSON.stringify([all, selection?.box.id]);
  useEffect(() => show(false), [key]);
  useEffect(() => {
    const observer = new ResizeObserver(([{ contentRect }]) => {
      size.current = { width: contentRect.width, height: contentRect.height };
      if (!isMoved.current) show(false);
    });
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, [key]);
  useEffect(() => {
    // Preact's listeners are passive for wheel events, so that they cannot keep the page from scrolling.
    const turn = (event) => {
      event.preventDefault();
      const { left, top } = frame.current.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey)
        zoom(Math.exp(-event.deltaY / 200), { x: event.clientX - left, y: event.clientY - top });
      else move((before) => ({ ...before, x: before.x - event.deltaX, y: before.y - event.deltaY }));
    };
    const element = frame.current;
    element.addEventListener('wheel', turn, { passive: false });
    return () => element.removeEventListener('wheel', turn);
  }, []);
  return { frame, view, showAll: () => show(true), move, zoom };
}

/** Moves the drawing with the pointer. A short movement is a click. */
function useDrag(move) {
  const start = useRef(undefined);
  const wasDragged = useRef(false);
  return {
    wasDragged,
    handlers: {
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        start.current = { x: event.clientX, y: event.clientY };
        wasDragged.current = false;
      },
      onPointerMove: (event) => {
        if (start.current === undefined) return;
        const [dx, dy] = [event.clientX - start.current.x, event.clientY - start.current.y];
        if (!wasDragged.current && Math.hypot(dx, dy) < 5) return;
        if (!wasDragged.current) event.currentTarget.setPointerCapture(event.pointerId);
        wasDragged.current = true;
        start.current = { x: event.clientX, y: event.clientY };
        move((before) => ({ ...before, x: before.x + dx, y: before.y + dy }));
      },
      onPointerUp: () => {
        start.current = undefined;
      },
      onPointerCancel: () => {
        start.current = undefined;
      },
    },
  };
}

const KEYS = {
  ArrowLeft: [STEP, 0],
  ArrowRight: [-STEP, 0],
  ArrowUp: [0, STEP],
  ArrowDown: [0, -STEP],
};

/**
 * The drawing of the resources and their references. Screen readers get the list beside it instead.
 *
 * @param {{ resources: object[], mapped: object[], showFields: boolean, selected?: string, search: string, onSelect: (name: string) => void }} props
 */
export function Diagram({ resources, mapped, showFields, selected, search, onSelect }) {
  const { boxes, edges, drawing } = useMemo(() => {
    const byName = new Map(mapped.map((one) => [one.name, one]));
    const all = edgesOf(mapped);
    const placed = layOut(
      resources.map((resource) => boxOf(resource, byName.get(resource.name), showFields)),
      all,
    );
    return { drawing: placed, edges: all, boxes: new Map(placed.boxes.map((box) => [box.id, box])) };
  }, [resources, mapped, showFields]);
  const known = edges.filter(({ from, to }) => boxes.has(from) && boxes.has(to));
  const isNear = ({ from, to }) => from === selected || to === selected;
  const near = new Set([selected, ...known.filter(isNear).flatMap(({ from, to }) => [from, to])]);
  const all = areaOf(drawing.boxes);
  const box = boxes.get(selected);
  const selection = box && { box, area: areaOf([...near].map((name) => boxes.get(name))) };
  const { frame, view, showAll, move, zoom } = useView(all, selection);
  const { handlers, wasDragged } = useDrag(move);
  const found = new Set(resources.filter((resource) => matchesText(resource, search)).map(({ name }) => name));
  const stateOf = (name) => {
    if (name === selected) return 'selected';
    if (search.trim() !== '' && !found.has(name)) return 'faded';
    return selected !== undefined && !near.has(name) ? 'faded' : '';
  };
  const edgeState = (edge) => (selected === undefined ? '' : isNear(edge) ? 'near' : 'faded');
  const handleKey = (event) => {
    const step = KEYS[event.key];
    if (step !== undefined) move((before) => ({ ...before, x: before.x + step[0], y: before.y + step[1] }));
    else if (event.key === '+' || event.key === '=') zoom(ZOOM);
    else if (event.key === '-') zoom(1 / ZOOM);
    else if (event.key === '0') showAll();
    else return;
    event.preventDefault();
  };
  const select = (name) => {
    if (!wasDragged.current) onSelect(name);
  };
  return html`<div class="reference-diagram">
    <div
      class="reference-frame"
      ref=${frame}
      tabindex="0"
      role="group"
      aria-label="Drawing of the map. Arrow keys move it, plus and minus zoom, 0 shows all of it. The list of resources has the same content."
      onKeyDown=${handleKey}
      ...${handlers}
    >
      <svg width="100%" height="100%" aria-hidden="true">
        <defs>
          <marker id="reference-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0,0.5 L8,4 L0,7.5 Z" />
          </marker>
        </defs>
        <g transform=${`translate(${view.x},${view.y}) scale(${view.scale})`}>
          ${known.map((edge) => html`<${EdgeDrawing} key=${edge.id} edge=${edge} boxes=${boxes} state=${edgeState(edge)} />`)}
          ${drawing.boxes.map((box) => html`<${BoxDrawing} key=${box.id} box=${box} state=${stateOf(box.id)} isSmall=${view.scale < READABLE_SCALE} onSelect=${select} />`)}
        </g>
      </svg>
    </div>
    <div class="reference-zoom" role="group" aria-label="Zoom">
      <${IconButton} icon="add" label="Zoom in" onClick=${() => zoom(ZOOM)} />
      <${IconButton} icon="minus" label="Zoom out" onClick=${() => zoom(1 / ZOOM)} />
      <${IconButton} icon="fit" label="Show all" onClick=${showAll} />
    </div>
    <p class="reference-legend" aria-hidden="true">
      ${Object.entries(LEGEND).map(([kind, text]) => html`<span key=${kind} class=${`reference-legend-item ${kind}`}>${text}</span>`)}
      <span>* required</span><span>◆ unique</span>
      <span class="reference-hint">Drag or scroll to move, Ctrl and scroll to zoom</span>
    </p>
  </div>`;
}

/** The kinds of edges, by what happens to the referring record. */
const LEGEND = {
  cascade: 'deleted with it',
  restrict: 'prevents deletion',
  setNull: 'reference is cleared',
  keep: 'nothing happens',
};
