import type { Automaton } from './automaton.ts';
import { cycleBetween, search } from './graph.ts';

/** A word that leads from a state back to itself and, by another way, to `to`. */
export interface Pump {
  from: number;
  to: number;
  word: readonly number[];
}

type Components = readonly (ReadonlySet<number> | undefined)[];

/** Combinations of states that are looked at for one expression. */
const MAX_STEPS = 400_000;

/** Thrown when an expression has too many ways through to look at all of them. */
export class TooManyWays extends Error {}

function counter(): () => void {
  let steps = 0;
  return () => {
    if (++steps > MAX_STEPS) throw new TooManyWays();
  };
}

/** Pairs of states that a word can lead to from one state: the walk from (p, p) over a pair of two back to (p, p). */
function loopWithin(automaton: Automaton, component: ReadonlySet<number>, count: () => void): Pump | undefined {
  const { size, next, common, isDouble } = automaton;
  const inside = (state: number) => next[state]!.filter((following) => component.has(following));
  for (const from of component) {
    for (const to of inside(from)) {
      if (isDouble(from, to)) {
        const back = to === from ? [] : cycleBetween(automaton, to, from)!;
        return { from, to: from, word: [automaton.anyLetter(to), ...back] };
      }
    }
  }
  // A pair is a number; `apart` is added once its states have differed.
  const apart = size * size;
  function* steps(node: number) {
    const pair = node % apart;
    const [a, b] = [Math.floor(pair / size), pair % size];
    for (const nextA of inside(a)) {
      for (const nextB of inside(b)) {
        count();
        const step = common(nextA, nextB);
        if (step === undefined) continue;
        const differed = node >= apart || nextA !== nextB;
        yield { to: nextA * size + nextB + (differed ? apart : 0), step };
      }
    }
  }
  const start = component.values().next().value!;
  const goal = start * size + start;
  const walk = search([goal], (node) => node === goal + apart, steps);
  return walk === undefined ? undefined : { from: start, to: start, word: walk.steps };
}

/** A loop of each component that one word goes round in two ways: n rounds make 2^n ways. */
export function loopsInTwoWays(automaton: Automaton, components: Components): Pump[] {
  const count = counter();
  const distinct = new Set(components.filter((component) => component !== undefined));
  return [...distinct].flatMap((component) => loopWithin(automaton, component, count) ?? []);
}

/** A word from (p, p, q) to (p, q, q). */
function pumpBetween(
  automaton: Automaton,
  [from, to]: readonly [number, number],
  components: Components,
  count: () => void,
): Pump | undefined {
  const { size, next, reads, letters } = automaton;
  const [left, right] = [components[from]!, components[to]!];
  function* steps(node: number) {
    const [a, b, c] = [Math.floor(node / size / size), Math.floor(node / size) % size, node % size];
    for (const nextA of next[a]!) {
      if (!left.has(nextA)) continue;
      for (const nextC of next[c]!) {
        if (!right.has(nextC) || automaton.common(nextA, nextC) === undefined) continue;
        for (const nextB of next[b]!) {
          count();
          const step = letters.findIndex((_one, at) => reads(nextA, at) && reads(nextB, at) && reads(nextC, at));
          if (step >= 0) yield { to: (nextA * size + nextB) * size + nextC, step };
        }
      }
    }
  }
  const node = (a: number, b: number, c: number) => (a * size + b) * size + c;
  const goal = node(from, to, to);
  const walk = search([node(from, from, to)], (one) => one === goal, steps);
  return walk === undefined ? undefined : { from, to, word: walk.steps };
}

/** Loops that a word can leave for another loop at any round: n rounds make n ways. One for each pair of components. */
export function pumpsOf(automaton: Automaton, components: Components): Pump[] {
  const count = counter();
  const looping = components.flatMap((component, state) => (component === undefined ? [] : [state]));
  const found = new Map<string, Pump>();
  const names = new Map([...new Set(components)].map((component, i) => [component, i]));
  for (const from of looping) {
    for (const to of looping) {
      const key = `${names.get(components[from])} ${names.get(components[to])}`;
      if (components[from] === components[to] || found.has(key)) continue;
      const pump = pumpBetween(automaton, [from, to], components, count);
      if (pump !== undefined) found.set(key, pump);
    }
  }
  return [...found.values()];
}
