import type { Profiler } from 'node:inspector';
import { fileURLToPath } from 'node:url';

/** The time of one function. */
export interface FunctionTime {
  /** The file, the line and the function. */
  name: string;
  micros: number;
}

/** Where the time of a profile went, the longest times first. */
export interface ProfileTimes {
  /** By the function that ran. */
  self: FunctionTime[];
  /** By the outermost function of the project on the stack. Time without one goes to the outermost function of all. */
  top: FunctionTime[];
}

const IDLE = '(idle)';
/** Starts the profile, which takes a while by itself. */
const PROFILER = 'bench/processes/profiler.ts';

/** Names a function by its path in the project or in its package. */
function describeFrame({ functionName, url, lineNumber }: Profiler.ProfileNode['callFrame'], root: string): string {
  const name = functionName === '' ? '(anonymous)' : functionName;
  if (url === '') return name;
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  const modules = path.lastIndexOf('node_modules/');
  const shortPath = modules >= 0 ? path.slice(modules + 'node_modules/'.length) : path.replace(root, '');
  return `${shortPath}:${lineNumber + 1} ${name}`;
}

const isOfProject = (url: string, root: string) =>
  url.startsWith('file:') && fileURLToPath(url).startsWith(root) && !url.includes('/node_modules/');

function sort(times: ReadonlyMap<string, number>): FunctionTime[] {
  return [...times].map(([name, micros]) => ({ name, micros })).sort((a, b) => b.micros - a.micros);
}

/** Adds up the time of a profile by function, without idle time. @param root the folder of the project, with a slash at its end */
export function sumTimes(profile: Profiler.Profile, root: string): ProfileTimes {
  const micros = new Map<number, number>();
  for (const [i, id] of (profile.samples ?? []).entries())
    micros.set(id, (micros.get(id) ?? 0) + (profile.timeDeltas?.[i] ?? 0));
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const self = new Map<string, number>();
  const top = new Map<string, number>();
  const add = (times: Map<string, number>, name: string, time: number) =>
    times.set(name, (times.get(name) ?? 0) + time);
  const visit = (node: Profiler.ProfileNode, outermost: string | undefined, entry: string | undefined) => {
    const { functionName, url } = node.callFrame;
    if (url.endsWith(PROFILER)) return;
    const name = describeFrame(node.callFrame, root);
    const entryName = entry ?? (functionName === '(root)' ? undefined : name);
    const outermostName = outermost ?? (isOfProject(url, root) ? name : undefined);
    const time = micros.get(node.id) ?? 0;
    if (time > 0 && functionName !== IDLE) {
      add(self, name, time);
      add(top, outermostName ?? entryName ?? name, time);
    }
    for (const child of node.children ?? []) visit(nodes.get(child)!, outermostName, entryName);
  };
  visit(profile.nodes[0]!, undefined, undefined);
  return { self: sort(self), top: sort(top) };
}
