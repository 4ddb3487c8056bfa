/**
 * Places the boxes of a diagram in layers from left to right: an edge leads to a layer further right, and crossings are reduced by barycentres.
 * The result depends only on the input.
 *
 * @typedef {{ id: string, width: number, height: number }} Box
 * @typedef {{ from: string, to: string }} Edge
 * @typedef {Box & { x: number, y: number, layer: number }} PlacedBox `x` and `y`: of the upper left corner
 */

const LAYER_GAP = 72;
const COLUMN_GAP = 32;
const ROW_GAP = 18;
const SWEEPS = 12;
/** The usual width of a frame in relation to its height. */
const ASPECT = 1.4;
/** The number of heights that are compared. */
const TRIED_HEIGHTS = 60;

/** The neighbours of each box, without edges to itself. */
function neighbours(boxes, edges) {
  const next = new Map(boxes.map(({ id }) => [id, []]));
  const previous = new Map(boxes.map(({ id }) => [id, []]));
  const seen = new Set();
  for (const { from, to } of edges) {
    const key = `${from}→${to}`;
    if (from === to || seen.has(key) || !next.has(from) || !next.has(to)) continue;
    seen.add(key);
    next.get(from).push(to);
    previous.get(to).push(from);
  }
  return { next, previous };
}

/** The edges without those that close a cycle: a box never leads back to itself. */
function withoutCycles(boxes, next) {
  const state = new Map();
  const kept = new Map(boxes.map(({ id }) => [id, []]));
  for (const { id: root } of boxes) {
    if (state.has(root)) continue;
    // A stack instead of recursion: chains of references may be long.
    const stack = [{ id: root, index: 0 }];
    state.set(root, 'open');
    while (stack.length > 0) {
      const top = stack.at(-1);
      const target = next.get(top.id)[top.index++];
      if (target === undefined) {
        state.set(top.id, 'done');
        stack.pop();
      } else if (state.get(target) !== 'open') {
        kept.get(top.id).push(target);
        if (!state.has(target)) {
          state.set(target, 'open');
          stack.push({ id: target, index: 0 });
        }
      }
    }
  }
  return kept;
}

/** The layer of each box: the length of the longest chain of references from it, counted from the right. */
function assignLayers(boxes, kept) {
  const depth = new Map();
  const depthOf = (root) => {
    const stack = [root];
    while (stack.length > 0) {
      const id = stack.at(-1);
      const open = kept.get(id).filter((target) => !depth.has(target));
      if (open.length > 0) stack.push(...open);
      else {
        depth.set(id, Math.max(-1, ...kept.get(id).map((target) => depth.get(target))) + 1);
        stack.pop();
      }
    }
    return depth.get(root);
  };
  const deepest = Math.max(0, ...boxes.map(({ id }) => depthOf(id)));
  return new Map(boxes.map(({ id }) => [id, deepest - depth.get(id)]));
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Orders the boxes of each layer so that neighbours are close to each other. */
function orderLayers(layers, around) {
  const position = new Map();
  const number = (layer) => {
    for (const [index, id] of layer.entries()) position.set(id, (index + 0.5) / layer.length);
  };
  for (const layer of layers) number(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const inOrder = sweep % 2 === 0 ? layers : layers.toReversed();
    for (const layer of inOrder) {
      const wanted = new Map(
        layer.map((id) => {
          const others = around.get(id).map((other) => position.get(other));
          return [id, others.length === 0 ? position.get(id) : mean(others)];
        }),
      );
      // A stable sort keeps the order of the declarations where nothing else decides.
      layer.sort((a, b) => wanted.get(a) - wanted.get(b));
      number(layer);
    }
  }
}

/** Splits a layer that is too high into columns. */
function columnsOf(layer, heights, maxHeight) {
  const columns = [[]];
  let height = 0;
  for (const id of layer) {
    if (columns.at(-1).length > 0 && height + heights.get(id) > maxHeight) {
      columns.push([]);
      height = 0;
    }
    columns.at(-1).push(id);
    height += heights.get(id) + ROW_GAP;
  }
  return columns;
}

/** The size of layers that are split into columns of a height. */
function sizeOf(layers, byId, heights, maxHeight) {
  const columns = layers.map((layer) => columnsOf(layer, heights, maxHeight));
  const widthOf = (ids) => Math.max(...ids.map((id) => byId.get(id).width));
  const heightOf = (ids) => ids.reduce((sum, id) => sum + heights.get(id) + ROW_GAP, -ROW_GAP);
  const width = columns
    .map((list) => list.reduce((sum, ids) => sum + widthOf(ids) + COLUMN_GAP, LAYER_GAP - COLUMN_GAP))
    .reduce((sum, one) => sum + one, -LAYER_GAP);
  return { columns, heightOf, width, height: Math.max(0, ...columns.flat().map(heightOf)) };
}

/** Splits layers into columns so that the drawing is shown as large as possible in a frame of the usual shape. */
function chooseColumns(layers, byId, heights) {
  const total = [...heights.values()].reduce((sum, height) => sum + height + ROW_GAP, 0);
  const sizes = Array.from({ length: TRIED_HEIGHTS }, (_, index) =>
    sizeOf(layers, byId, heights, (total * (index + 1)) / TRIED_HEIGHTS),
  );
  const extentOf = ({ width, height }) => Math.max(width, height * ASPECT);
  return sizes.reduce((best, one) => (extentOf(one) < extentOf(best) ? one : best));
}

/**
 * Places boxes. Boxes without edges are in rows below all others.
 *
 * @param {Box[]} boxes
 * @param {Edge[]} edges those to unknown boxes are ignored
 * @returns {{ boxes: PlacedBox[], width: number, height: number }}
 */
export function layOut(boxes, edges) {
  const { next, previous } = neighbours(boxes, edges);
  const around = new Map(boxes.map(({ id }) => [id, [...next.get(id), ...previous.get(id)]]));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const connected = boxes.filter(({ id }) => around.get(id).length > 0);
  const layerOf = assignLayers(connected, withoutCycles(connected, next));
  const layerCount = Math.max(0, ...connected.map(({ id }) => layerOf.get(id) + 1));
  const layers = Array.from({ length: layerCount }, (_, index) =>
    connected.filter(({ id }) => layerOf.get(id) === index).map(({ id }) => id),
  );
  orderLayers(layers, around);
  const heights = new Map(boxes.map(({ id, height }) => [id, height]));
  const { columns, heightOf, height: total } = chooseColumns(layers, byId, heights);
  const placed = [];
  let x = 0;
  for (const [layer, list] of columns.entries()) {
    for (const [index, ids] of list.entries()) {
      let y = (total - heightOf(ids)) / 2;
      for (const id of ids) {
        placed.push({ ...byId.get(id), x, y, layer });
        y += heights.get(id) + ROW_GAP;
      }
      const width = Math.max(...ids.map((id) => byId.get(id).width));
      x += width + (index === list.length - 1 ? LAYER_GAP : COLUMN_GAP);
    }
  }
  const width = Math.max(0, x - LAYER_GAP);
  const alone = boxes.filter(({ id }) => around.get(id).length === 0);
  return { ...addRows(placed, alone, { width, height: total }) };
}

/** Adds boxes in rows below the others. */
function addRows(placed, alone, { width, height }) {
  const widest = Math.max(0, ...alone.map((box) => box.width));
  const rowWidth = Math.max(width, Math.ceil(Math.sqrt(alone.length)) * (widest + COLUMN_GAP));
  let x = 0;
  let y = height === 0 ? 0 : height + LAYER_GAP / 2;
  let rowHeight = 0;
  let right = width;
  for (const box of alone) {
    if (x > 0 && x + box.width > rowWidth) {
      x = 0;
      y += rowHeight + ROW_GAP;
      rowHeight = 0;
    }
    placed.push({ ...box, x, y, layer: -1 });
    right = Math.max(right, x + box.width);
    x += box.width + COLUMN_GAP;
    rowHeight = Math.max(rowHeight, box.height);
  }
  return { boxes: placed, width: right, height: alone.length === 0 ? height : y + rowHeight };
}

/**
 * The path of an edge between two placed boxes, as the data of an SVG path: from the side of one box to the nearest side of the other.
 *
 * @param {PlacedBox} from
 * @param {PlacedBox} to
 * @param {number} shift moves the ends apart if several edges connect the same boxes
 */
export function edgePath(from, to, shift = 0) {
  const startY = from.y + Math.min(from.height / 2, 18) + shift;
  const endY = to.y + Math.min(to.height / 2, 18) + shift;
  if (from.id === to.id) {
    const x = from.x + from.width;
    return `M${x},${startY} C${x + 46},${startY - 6} ${x + 46},${startY + 34} ${x},${startY + 28}`;
  }
  const isRight = to.x >= from.x + from.width;
  const isLeft = to.x + to.width <= from.x;
  const startX = isLeft ? from.x : from.x + from.width;
  const endX = isRight ? to.x : isLeft ? to.x + to.width : to.x + to.width;
  const distance = Math.max(40, Math.abs(endX - startX) / 2);
  const startBend = isLeft ? startX - distance : startX + distance;
  const endBend = isRight ? endX - distance : endX + distance;
  return `M${startX},${startY} C${startBend},${startY} ${endBend},${endY} ${endX},${endY}`;
}
