/** Orders the boxes of a diagram in layers. Nothing here depends on a browser. */
import type { Box, Edge } from './layout.ts';

const SWEEPS = 12;

/** A box with its neighbours, without itself. */
export interface GraphNode<T extends Box> {
  box: T;
  next: GraphNode<T>[];
  previous: GraphNode<T>[];
  /** `next` without the nodes that lead back to this one. */
  forward: GraphNode<T>[];
  /** The length of the longest chain of references from the node; undefined until it is known. */
  depth: number | undefined;
  /** From 0 to 1 within its layer. */
  position: number;
}

/** Connects boxes. Edges to unknown boxes are ignored. */
export function createGraph<T extends Box>(boxes: readonly T[], edges: readonly Edge[]): GraphNode<T>[] {
  const createNode = (box: T): GraphNode<T> => ({
    box,
    next: [],
    previous: [],
    forward: [],
    depth: undefined,
    position: 0,
  });
  const nodes = new Map(boxes.map((box) => [box.id, createNode(box)]));
  for (const { from, to } of edges) {
    const [source, target] = [nodes.get(from), nodes.get(to)];
    if (source === undefined || target === undefined || source === target || source.next.includes(target)) continue;
    source.next.push(target);
    target.previous.push(source);
  }
  return [...nodes.values()];
}

/** Leaves out the edges that close a cycle: a box never leads back to itself. */
function removeCycles<T extends Box>(nodes: readonly GraphNode<T>[]): void {
  const state = new Map<GraphNode<T>, 'open' | 'done'>();
  for (const root of nodes) {
    if (state.has(root)) continue;
    // A stack instead of recursion: chains of references may be long.
    const stack = [{ node: root, index: 0 }];
    state.set(root, 'open');
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const target = top.node.next[top.index++];
      if (target === undefined) {
        state.set(top.node, 'done');
        stack.pop();
      } else if (state.get(target) !== 'open') {
        top.node.forward.push(target);
        if (!state.has(target)) {
          state.set(target, 'open');
          stack.push({ node: target, index: 0 });
        }
      }
    }
  }
}

/** Returns the depth of a node, after those of all nodes to which it leads. */
function computeDepth<T extends Box>(root: GraphNode<T>): number {
  const stack = [root];
  for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
    const open = node.forward.filter(({ depth }) => depth === undefined);
    if (open.length > 0) stack.push(...open);
    else {
      node.depth = Math.max(-1, ...node.forward.map(({ depth }) => depth ?? -1)) + 1;
      stack.pop();
    }
  }
  return root.depth ?? 0;
}

/** The layers, counted from the right by the length of the longest chain of references from each box. */
function assignLayers<T extends Box>(nodes: readonly GraphNode<T>[]): GraphNode<T>[][] {
  removeCycles(nodes);
  const deepest = Math.max(-1, ...nodes.map(computeDepth));
  return Array.from({ length: deepest + 1 }, (_, index) => nodes.filter(({ depth }) => depth === deepest - index));
}

/** Where a box is closest to its neighbours. */
function wantedPosition<T extends Box>({ next, previous, position }: GraphNode<T>): number {
  const around = [...next, ...previous];
  return around.length === 0 ? position : around.reduce((sum, one) => sum + one.position, 0) / around.length;
}

function numberPositions<T extends Box>(layer: readonly GraphNode<T>[]): void {
  for (const [index, node] of layer.entries()) node.position = (index + 0.5) / layer.length;
}

/** Places nodes in layers, an edge leading to a layer further right, and orders each layer so that neighbours are close to each other. */
export function createLayers<T extends Box>(nodes: readonly GraphNode<T>[]): GraphNode<T>[][] {
  const layers = assignLayers(nodes);
  for (const layer of layers) numberPositions(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? layers : layers.toReversed()) {
      // A stable sort keeps the order of the declarations where nothing else decides.
      const ranked = layer.map((node) => ({ node, wanted: wantedPosition(node) })).sort((a, b) => a.wanted - b.wanted);
      layer.splice(0, layer.length, ...ranked.map(({ node }) => node));
      numberPositions(layer);
    }
  }
  return layers;
}
