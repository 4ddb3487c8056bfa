/** The part of the drawing that is visible. Nothing here depends on a browser. */

const MIN_SCALE = 0.15;
const MAX_SCALE = 2;
/** Below it, the text of boxes is too small to be read. */
export const READABLE_SCALE = 0.6;
/** Around the drawing, also for edges that lead from a box to itself. */
const MARGIN = 48;

export interface Point {
  x: number;
  y: number;
}

/** `x`, `y`: where the origin of the drawing is, in pixels. */
export interface View extends Point {
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

/** A rectangle of the drawing. */
export type Area = Point & Size;

const limit = (scale: number) => Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));

/** The view that shows all of an area, at most in its own size. */
export function fitView(area: Area, frame: Size): View {
  const scale = limit(
    Math.min(
      1,
      (frame.width - 2 * MARGIN) / Math.max(1, area.width),
      (frame.height - 2 * MARGIN) / Math.max(1, area.height),
    ),
  );
  return {
    scale,
    x: (frame.width - area.width * scale) / 2 - area.x * scale,
    y: (frame.height - area.height * scale) / 2 - area.y * scale,
  };
}

/** The smallest area that contains all boxes, of which there is at least one. */
export function areaOf(boxes: readonly Area[]): Area {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Zooms so that the point of the frame stays where it is. */
export function zoomView({ x, y, scale }: View, factor: number, point: Point): View {
  const next = limit(scale * factor);
  const ratio = next / scale;
  return { scale: next, x: point.x - (point.x - x) * ratio, y: point.y - (point.y - y) * ratio };
}

/**
 * The view of a selected box: with its neighbours, or alone in the middle if they are so far away that nothing could be read.
 *
 * @param area of the box and its neighbours
 */
export function selectionView(box: Area, area: Area, frame: Size): View {
  const view = fitView(area, frame);
  if (view.scale >= READABLE_SCALE) return view;
  return {
    scale: READABLE_SCALE,
    x: frame.width / 2 - (box.x + box.width / 2) * READABLE_SCALE,
    y: frame.height / 2 - (box.y + box.height / 2) * READABLE_SCALE,
  };
}
