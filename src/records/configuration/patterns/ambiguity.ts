import type { Nfa } from './nfa.ts';

/** The strongly connected component of each state; undefined for states that are on no cycle. */
export function findStronglyConnectedComponents({ size, next }: Nfa): readonly (ReadonlySet<number> | undefined)[] {
  const index = new Map<number, number>();
  const low = new Map<number, number>();
  const stack: number[] = [];
  const stacked = new Set<number>();
  const found = Array.from<ReadonlySet<number> | undefined>({ length: size });

  function visit(state: number): void {
    index.set(state, index.size);
    low.set(state, index.get(state)!);
    stack.push(state);
    stacked.add(state);
    for (const following of next[state]!) {
      if (!index.has(following)) visit(following);
      if (stacked.has(following)) low.set(state, Math.min(low.get(state)!, low.get(following)!));
    }
    if (low.get(state) !== index.get(state)) return;
    const component = new Set(stack.splice(stack.indexOf(state)));
    for (const one of component) stacked.delete(one);
    if (component.size === 1 && !next[state]!.includes(state)) return;
    for (const one of component) found[one] = component;
  }

  for (let state = 0; state < size; state++) if (!index.has(state)) visit(state);
  return found;
}

/** Breadth-first search: the labels of the shortest path from some nodes to an end node; undefined if there is none. */
function findShortestPath<Node extends string | number, Step>(
  starts: readonly Node[],
  isEnd: (node: Node) => boolean,
  stepsFrom: (node: Node) => Iterable<{ to: Node; step: Step }>,
): { end: Node; steps: Step[] } | undefined {
  const cameFrom = new Map<Node, { node: Node; step: Step } | undefined>(starts.map((start) => [start, undefined]));
  const queue = [...starts];
  for (let at = 0; at < queue.length; at++) {
    const node = queue[at]!;
    for (const { to, step } of stepsFrom(node)) {
      if (isEnd(to)) return { end: to, steps: [...traceStepsTo(cameFrom, node), step] };
      if (cameFrom.has(to)) continue;
      cameFrom.set(to, { node, step });
      queue.push(to);
    }
  }
  return undefined;
}

function traceStepsTo<Node, Step>(cameFrom: Map<Node, { node: Node; step: Step } | undefined>, node: Node): Step[] {
  const steps: Step[] = [];
  for (let last = cameFrom.get(node); last !== undefined; last = cameFrom.get(last.node)) steps.push(last.step);
  return steps.reverse();
}

/** The word on the shortest path from one state to another; undefined if there is none, empty from a state to itself. */
export function shortestWordBetween(nfa: Nfa, from: number, to: number): number[] | undefined {
  if (from === to) return [];
  return shortestNonEmptyWordBetween(nfa, from, to);
}

/** The word on the shortest path with at least one step, also from a state back to itself; undefined if there is none. */
function shortestNonEmptyWordBetween({ next, anyLetter }: Nfa, from: number, to: number): number[] | undefined {
  const stepsFrom = (state: number) => next[state]!.map((following) => ({ to: following, step: anyLetter(following) }));
  return findShortestPath([from], (state) => state === to, stepsFrom)?.steps;
}

/** A word that leads from a state back to itself and, by another path, to `to`. Attack strings repeat it. */
export interface Pump {
  from: number;
  to: number;
  word: readonly number[];
}

type Components = readonly (ReadonlySet<number> | undefined)[];

/** Maximum number of state combinations to search for one expression. */
const MAX_STEPS = 400_000;

/** Thrown when an expression has too many paths to search all of them. */
export class TooAmbiguousError extends Error {}

function createStepLimiter(): () => void {
  let steps = 0;
  return () => {
    if (++steps > MAX_STEPS) throw new TooAmbiguousError();
  };
}

/** Searches pairs of states for a path from (p, p) over a pair of different states back to (p, p). */
function findAmbiguousLoop(nfa: Nfa, component: ReadonlySet<number>, count: () => void): Pump | undefined {
  const { size, next, common, isDouble } = nfa;
  const successorsInComponent = (state: number) => next[state]!.filter((following) => component.has(following));
  for (const from of component) {
    for (const to of successorsInComponent(from)) {
      if (isDouble(from, to)) {
        const back = to === from ? [] : shortestNonEmptyWordBetween(nfa, to, from)!;
        return { from, to: from, word: [nfa.anyLetter(to), ...back] };
      }
    }
  }
  // A pair is encoded as a number; `apart` is added once its states have differed.
  const apart = size * size;
  function* stepsFromPair(node: number) {
    const pair = node % apart;
    const [a, b] = [Math.floor(pair / size), pair % size];
    for (const nextA of successorsInComponent(a)) {
      for (const nextB of successorsInComponent(b)) {
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
  const walk = findShortestPath([goal], (node) => node === goal + apart, stepsFromPair);
  return walk === undefined ? undefined : { from: start, to: start, word: walk.steps };
}

/** Exponential ambiguity: in each component, a loop that one word can take by two paths, so that n rounds have 2^n paths. */
export function findExponentialPumps(nfa: Nfa, components: Components): Pump[] {
  const count = createStepLimiter();
  const distinct = new Set(components.filter((component) => component !== undefined));
  return [...distinct].flatMap((component) => findAmbiguousLoop(nfa, component, count) ?? []);
}

/** Searches triples of states for a word from (p, p, q) to (p, q, q). */
function findPumpBetween(
  nfa: Nfa,
  [from, to]: readonly [number, number],
  components: Components,
  count: () => void,
): Pump | undefined {
  const { size, next, reads, letters } = nfa;
  const [left, right] = [components[from]!, components[to]!];
  function* stepsFromTriple(node: number) {
    const [a, b, c] = [Math.floor(node / size / size), Math.floor(node / size) % size, node % size];
    for (const nextA of next[a]!) {
      if (!left.has(nextA)) continue;
      for (const nextC of next[c]!) {
        if (!right.has(nextC) || nfa.common(nextA, nextC) === undefined) continue;
        for (const nextB of next[b]!) {
          count();
          const step = letters.findIndex((_one, at) => reads(nextA, at) && reads(nextB, at) && reads(nextC, at));
          if (step >= 0) yield { to: (nextA * size + nextB) * size + nextC, step };
        }
      }
    }
  }
  const encodeTriple = (a: number, b: number, c: number) => (a * size + b) * size + c;
  const goal = encodeTriple(from, to, to);
  const walk = findShortestPath([encodeTriple(from, from, to)], (one) => one === goal, stepsFromTriple);
  return walk === undefined ? undefined : { from, to, word: walk.steps };
}

/**
 * Polynomial ambiguity: loops that a word can leave for another loop in any round, so that n rounds have n paths. Returns one per pair of
 * components.
 */
export function findPolynomialPumps(nfa: Nfa, components: Components): Pump[] {
  const count = createStepLimiter();
  const looping = components.flatMap((component, state) => (component === undefined ? [] : [state]));
  const found = new Map<string, Pump>();
  const names = new Map([...new Set(components)].map((component, i) => [component, i]));
  for (const from of looping) {
    for (const to of looping) {
      const key = `${names.get(components[from])} ${names.get(components[to])}`;
      if (components[from] === components[to] || found.has(key)) continue;
      const pump = findPumpBetween(nfa, [from, to], components, count);
      if (pump !== undefined) found.set(key, pump);
    }
  }
  return [...found.values()];
}
