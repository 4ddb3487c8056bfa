import { expect, test } from 'vitest';
import { layouts, type PlacedBox, views } from './pages.ts';

const box = (id: string, height = 40) => ({ id, width: 200, height });
const edge = (from: string, to: string) => ({ from, to });

/** The pairs of boxes that cover each other. */
function overlaps(boxes: PlacedBox[]): string[] {
  return boxes.flatMap((a, index) =>
    boxes
      .slice(index + 1)
      .filter((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
      .map((b) => `${a.id} ${b.id}`),
  );
}

/** A random but repeatable graph. */
function createGraph(count: number, seed: number) {
  let state = seed;
  const next = (limit: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % limit;
  };
  const boxes = Array.from({ length: count }, (_, index) => box(`n${index}`, 40 + next(160)));
  const edges = Array.from({ length: count * 2 }, () => edge(`n${next(count)}`, `n${next(count)}`));
  return { boxes, edges };
}

test('a box is to the left of the boxes that it refers to', () => {
  const { boxes } = layouts.layOut(
    ['user', 'ticket', 'message'].map((id) => box(id)),
    [edge('message', 'ticket'), edge('ticket', 'user'), edge('message', 'user')],
  );
  const at = Object.fromEntries(boxes.map((one) => [one.id, one.x]));
  expect(at.message).toBeLessThan(at.ticket!);
  expect(at.ticket).toBeLessThan(at.user!);
});

test.each([1, 2, 10, 60, 150])(
  '%i boxes with cycles never cover each other, and the result is always the same',
  (count) => {
    for (const seed of [1, 7, 99]) {
      const { boxes, edges } = createGraph(count, seed);
      const result = layouts.layOut(boxes, edges);
      expect(result.boxes).toHaveLength(count);
      expect(overlaps(result.boxes)).toEqual([]);
      expect(layouts.layOut(boxes, edges)).toEqual(result);
      for (const one of result.boxes) {
        expect(one.x + one.width).toBeLessThanOrEqual(result.width);
        expect(one.y + one.height).toBeLessThanOrEqual(result.height + 0.001);
        expect(Math.min(one.x, one.y)).toBeGreaterThanOrEqual(-0.001);
      }
    }
  },
);

test('many boxes that refer to one box are spread over several columns', () => {
  const many = Array.from({ length: 60 }, (_, index) => box(`n${index}`));
  const { width, height } = layouts.layOut(
    [...many, box('user')],
    many.map(({ id }) => edge(id, 'user')),
  );
  expect(height / width).toBeLessThan(2);
});

test('boxes without edges are below the others, and an empty map has no size', () => {
  const { boxes } = layouts.layOut(
    [box('alone'), box('a'), box('b')],
    [edge('a', 'b'), edge('alone', 'alone'), edge('a', 'gone')],
  );
  const alone = boxes.find(({ id }) => id === 'alone')!;
  for (const other of boxes.filter(({ id }) => id !== 'alone')) expect(alone.y).toBeGreaterThan(other.y + other.height);
  expect(layouts.layOut([], [])).toEqual({ boxes: [], width: 0, height: 0 });
});

test('crossings are avoided if the order of the boxes allows it', () => {
  const names = ['a', 'b', 'c'];
  const { boxes } = layouts.layOut(
    [...names.map((id) => box(id)), ...names.toReversed().map((id) => box(`${id}2`))],
    names.map((id) => edge(id, `${id}2`)),
  );
  const inOrder = (suffix: string) =>
    boxes
      .filter(({ id }) => id.endsWith('2') === (suffix === '2'))
      .toSorted((one, other) => one.y - other.y)
      .map(({ id }) => id[0]);
  expect(inOrder('2')).toEqual(inOrder(''));
});

test('an edge ends at the sides of its boxes, also if it leads to the left or to its own box', () => {
  const left = { ...box('left'), x: 0, y: 0, layer: 0 };
  const right = { ...box('right'), x: 400, y: 0, layer: 1 };
  expect(layouts.edgePath(left, right)).toMatch(/^M200,18 .* 400,18$/);
  expect(layouts.edgePath(right, left)).toMatch(/^M400,18 .* 200,18$/);
  expect(layouts.edgePath(left, left)).toMatch(/^M200,18 .* 200,46$/);
});

test('the drawing fits into its frame, and zooming keeps the point under the pointer in place', () => {
  const frame = { width: 800, height: 600 };
  const { x, y, scale } = views.fitView({ x: 100, y: 50, width: 3000, height: 900 }, frame);
  expect(scale).toBeLessThan(1);
  expect(x + 100 * scale).toBeGreaterThan(0);
  expect(x + 3100 * scale).toBeLessThan(800);
  expect(y + 950 * scale).toBeLessThan(600);
  const point = { x: 300, y: 200 };
  const zoomed = views.zoomView({ x, y, scale }, 1.5, point);
  expect((point.x - zoomed.x) / zoomed.scale).toBeCloseTo((point.x - x) / scale);
  expect(views.zoomView({ x, y, scale }, 1e9, point).scale).toBe(2);
});
