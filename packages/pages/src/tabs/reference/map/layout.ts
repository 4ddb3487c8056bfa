/**
 * Places the boxes of a diagram in layers from left to right: an edge leads to a layer further right, and crossings are reduced by barycentres.
 * The result depends only on the input. Nothing here depends on a browser.
 */
import { createGraph, createLayers, type GraphNode } from './layers.ts';

export interface Box {
  id: string;
  width: number;
  height: number;
}

export interface Edge {
  from: string;
  to: string;
}

/** A box with the position of its upper left corner. */
export type Placed<T extends Box> = T & { x: number; y: number; layer: number };

const LAYER_GAP = 72;
const COLUMN_GAP = 32;
const ROW_GAP = 18;
/** The usual width of a frame in relation to its height. */
const ASPECT = 1.4;
/** The number of heights that are compared. */
const TRIED_HEIGHTS = 60;

/** The boxes below each other. */
type Column<T extends Box> = T[];

const widthOf = (column: Column<Box>) => Math.max(...column.map(({ width }) => width));
const heightOf = (column: Column<Box>) => column.reduce((sum, { height }) => sum + height + ROW_GAP, -ROW_GAP);

/** Splits a layer that is too high into columns. */
function splitLayer<T extends Box>(layer: readonly GraphNode<T>[], maxHeight: number): Column<T>[] {
  let column: Column<T> = [];
  const columns = [column];
  let height = 0;
  for (const { box } of layer) {
    if (column.length > 0 && height + box.height > maxHeight) {
      column = [];
      columns.push(column);
      height = 0;
    }
    column.push(box);
    height += box.height + ROW_GAP;
  }
  return columns;
}

/** The columns of each layer, with the size of all together. */
interface Arrangement<T extends Box> {
  layers: Column<T>[][];
  width: number;
  height: number;
}

function arrange<T extends Box>(given: readonly GraphNode<T>[][], maxHeight: number): Arrangement<T> {
  const layers = given.map((layer) => splitLayer(layer, maxHeight));
  const width = layers
    .map((columns) => columns.reduce((sum, column) => sum + widthOf(column) + COLUMN_GAP, LAYER_GAP - COLUMN_GAP))
    .reduce((sum, one) => sum + one, -LAYER_GAP);
  return { layers, width, height: Math.max(0, ...layers.flat().map(heightOf)) };
}

/** Splits layers into columns so that the drawing is shown as large as possible in a frame of the usual shape. */
function arrangeBest<T extends Box>(layers: readonly GraphNode<T>[][], boxes: readonly T[]): Arrangement<T> {
  const total = boxes.reduce((sum, { height }) => sum + height + ROW_GAP, 0);
  const tried = Array.from({ length: TRIED_HEIGHTS }, (_, index) =>
    arrange(layers, (total * (index + 1)) / TRIED_HEIGHTS),
  );
  const extentOf = ({ width, height }: Arrangement<T>) => Math.max(width, height * ASPECT);
  return tried.reduce((best, one) => (extentOf(one) < extentOf(best) ? one : best));
}

interface Drawing<T extends Box> {
  boxes: Placed<T>[];
  width: number;
  height: number;
}

/** Gives each box of the columns its place. */
function placeColumns<T extends Box>({ layers, height }: Arrangement<T>): Drawing<T> {
  const boxes: Placed<T>[] = [];
  let x = 0;
  for (const [layer, columns] of layers.entries()) {
    for (const [index, column] of columns.entries()) {
      let y = (height - heightOf(column)) / 2;
      for (const box of column) {
        boxes.push({ ...box, x, y, layer });
        y += box.height + ROW_GAP;
      }
      x += widthOf(column) + (index === columns.length - 1 ? LAYER_GAP : COLUMN_GAP);
    }
  }
  return { boxes, width: Math.max(0, x - LAYER_GAP), height };
}

/** Adds boxes in rows below the others. */
function addRows<T extends Box>({ boxes, width, height }: Drawing<T>, alone: readonly T[]): Drawing<T> {
  const widest = Math.max(0, ...alone.map((box) => box.width));
  const rowWidth = Math.max(width, Math.ceil(Math.sqrt(alone.length)) * (widest + COLUMN_GAP));
  const placed = [...boxes];
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

/** Places boxes. Boxes without edges are in rows below all others; edges to unknown boxes are ignored. */
export function layOut<T extends Box>(boxes: readonly T[], edges: readonly Edge[]): Drawing<T> {
  const nodes = createGraph(boxes, edges);
  const isConnected = ({ next, previous }: GraphNode<T>) => next.length + previous.length > 0;
  const layers = createLayers(nodes.filter(isConnected));
  const alone = nodes.filter((node) => !isConnected(node)).map(({ box }) => box);
  return addRows(placeColumns(arrangeBest(layers, boxes)), alone);
}

/**
 * The path of an edge between two placed boxes, as the data of an SVG path: from the side of one box to the nearest side of the other.
 *
 * @param shift moves the ends apart if several edges connect the same boxes
 */
export function edgePath(from: Placed<Box>, to: Placed<Box>, shift = 0): string {
  const startY = from.y + Math.min(from.height / 2, 18) + shift;
  const endY = to.y + Math.min(to.height / 2, 18) + shift;
  if (from.id === to.id) {
    const x = from.x + from.width;
    return `M${x},${startY} C${x + 46},${startY - 6} ${x + 46},${startY + 34} ${x},${startY + 28}`;
  }
  const isRight = to.x >= from.x + from.width;
  const isLeft = to.x + to.width <= from.x;
  const startX = isLeft ? from.x : from.x + from.width;
  const endX = isRight ? to.x : to.x + to.width;
  const distance = Math.max(40, Math.abs(endX - startX) / 2);
  const startBend = isLeft ? startX - distance : startX + distance;
  const endBend = isRight ? endX - distance : endX + distance;
  return `M${startX},${startY} C${startBend},${startY} ${endBend},${endY} ${endX},${endY}`;
}
