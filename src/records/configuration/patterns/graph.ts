import type { Automaton } from './automaton.ts';

/** For each state its strongly connected component, if it lies on a cycle; undefined for the others. */
export function componentsOf({ size, next }: Automaton): readonly (ReadonlySet<number> | undefined)[] {
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

/** The shortest walk from some nodes to one that is looked for, as what was noted of each step; undefined when there is none. */
export function search<Node extends string | number, Step>(
  starts: readonly Node[],
  isEnd: (node: Node) => boolean,
  stepsFrom: (node: Node) => Iterable<{ to: Node; step: Step }>,
): { end: Node; steps: Step[] } | undefined {
  const cameFrom = new Map<Node, { node: Node; step: Step } | undefined>(starts.map((start) => [start, undefined]));
  const queue = [...starts];
  for (let at = 0; at < queue.length; at++) {
    const node = queue[at]!;
    for (const { to, step } of stepsFrom(node)) {
      if (isEnd(to)) return { end: to, steps: [...walkedTo(cameFrom, node), step] };
      if (cameFrom.has(to)) continue;
      cameFrom.set(to, { node, step });
      queue.push(to);
    }
  }
  return undefined;
}

function walkedTo<Node, Step>(cameFrom: Map<Node, { node: Node; step: Step } | undefined>, node: Node): Step[] {
  const steps: Step[] = [];
  for (let last = cameFrom.get(node); last !== undefined; last = cameFrom.get(last.node)) steps.push(last.step);
  return steps.reverse();
}

/** What is read on the shortest way from one state to another; undefined when there is none, empty from a state to itself. */
export function pathBetween(automaton: Automaton, from: number, to: number): number[] | undefined {
  if (from === to) return [];
  return cycleBetween(automaton, from, to);
}

/** Like `pathBetween`, of at least one step. */
export function cycleBetween({ next, anyLetter }: Automaton, from: number, to: number): number[] | undefined {
  const steps = (state: number) => next[state]!.map((following) => ({ to: following, step: anyLetter(following) }));
  return search([from], (state) => state === to, steps)?.steps;
}
