/** The part of the drawing that is visible. Nothing here depends on a browser. */

const MIN_SCALE = 0.15;
const MAX_SCALE = 2;
const MARGIN = 24;

/**
 * @typedef {{ x: number, y: number, scale: number }} View `x`, `y`: where the origin of the drawing is, in pixels
 * @typedef {{ width: number, height: number }} Size
 */

const limit = (scale) => Math.min(MAX_SCALE, Math.max(MIN_SCALE, scale));

/** The view that shows all of a drawing, at most in its own size. @param {Size} drawing @param {Size} frame @returns {View} */
export function fitView(drawing, frame) {
  const scale = limit(
    Math.min(
      1,
      (frame.width - 2 * MARGIN) / Math.max(1, drawing.width),
      (frame.height - 2 * MARGIN) / Math.max(1, drawing.height),
    ),
  );
  return { scale, x: (frame.width - drawing.width * scale) / 2, y: (frame.height - drawing.height * scale) / 2 };
}

/** Zooms so that the point of the frame stays where it is. @param {View} view @returns {View} */
export function zoomView({ x, y, scale }, factor, point) {
  const next = limit(scale * factor);
  const ratio = next / scale;
  return { scale: next, x: point.x - (point.x - x) * ratio, y: point.y - (point.y - y) * ratio };
}

/** Moves the view so that a box is in the middle of the frame. @param {View} view @returns {View} */
export function centreView({ scale }, box, frame) {
  const readable = Math.max(scale, 0.7);
  return {
    scale: readable,
    x: frame.width / 2 - (box.x + box.width / 2) * readable,
    y: frame.height / 2 - (box.y + box.height / 2) * readable,
  };
}

/** Whether a box is completely visible. */
export function isVisible({ x, y, scale }, box, frame) {
  const left = x + box.x * scale;
  const top = y + box.y * scale;
  return left >= 0 && top >= 0 && left + box.width * scale <= frame.width && top + box.height * scale <= frame.height;
}
