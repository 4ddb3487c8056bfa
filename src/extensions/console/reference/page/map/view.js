/** The part of the drawing that is visible. Nothing here depends on a browser. */

const MIN_SCALE = 0.15;
const MAX_SCALE = 2;
/** Below it, the text of boxes is too small to be read. */
export const READABLE_SCALE = 0.6;
/** Around the drawing, also for edges that lead from a box to itself. */
const MARGIN = 48;

/**
 * @typedef {{ x: number, y: number, scale: number }} View `x`, `y`: where the origin of the drawing is, in pixels
 * @typedef {{ width: number, height: number }} Size
 */

const limit = (scale) => Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));

/** The view that shows all of an area, at most in its own size. @param {Size & { x: number, y: number }} area @param {Size} frame @returns {View} */
export function fitView(area, frame) {
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

/** The smallest area that contains all boxes. @param {(Size & { x: number, y: number })[]} boxes at least one */
export function areaOf(boxes) {
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  const right = Math.max(...boxes.map((box) => box.x + box.width));
  const bottom = Math.max(...boxes.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Zooms so that the point of the frame stays where it is. @param {View} view @returns {View} */
export function zoomView({ x, y, scale }, factor, point) {
  const next = limit(scale * factor);
  const ratio = next / scale;
  return { scale: next, x: point.x - (point.x - x) * ratio, y: point.y - (point.y - y) * ratio };
}

/**
 * The view of a selected box: with its neighbours, or alone in the middle if they are so far away that nothing could be read.
 *
 * @param {Size & { x: number, y: number }} box @param {Size & { x: number, y: number }} area of the box and its neighbours
 * @param {Size} frame @returns {View}
 */
export function selectionView(box, area, frame) {
  const view = fitView(area, frame);
  if (view.scale >= READABLE_SCALE) return view;
  return {
    scale: READABLE_SCALE,
    x: frame.width / 2 - (box.x + box.width / 2) * READABLE_SCALE,
    y: frame.height / 2 - (box.y + box.height / 2) * READABLE_SCALE,
  };
}
