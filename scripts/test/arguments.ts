import { listChangedFiles, selectAffected } from './changed.ts';
import { createReferenceReader } from './imports.ts';
import { assignProjects, DEFAULT_PROJECTS, PROJECTS, type Project } from './projects.ts';

/** Which tests run. */
export interface Selection {
  /** The arguments for vitest. */
  args: string[];
  projects: ReadonlyMap<string, Project>;
  /** Whether a selected file may need Postgres or Redis. */
  needsServices: boolean;
  /** What to say about the selection; empty if there is nothing to say. */
  note: string;
  /** Whether there is nothing to run. */
  isEmpty: boolean;
}

interface Arguments {
  /** The commit since which files have changed; `''`: the last one; undefined: changes do not matter. */
  since: string | undefined;
  names: string[];
  /** Parts of paths. */
  filters: string[];
  options: string[];
}

/**
 * A filter by path is a part of the path. `app` stands for the tests of src/app: as a part of any path, it would match hundreds of other
 * files.
 */
const toPathFilter = (argument: string) => (argument === 'app' ? 'test/app/' : argument);

/** Whether an argument is an option of vitest whose value may follow. */
const isOption = (argument = '') => argument !== '--changed' && /^--?[^=]+$/.test(argument);

function readArguments(given: readonly string[]): Arguments {
  const read: Arguments = { since: undefined, names: [], filters: [], options: [] };
  for (let i = 0; i < given.length; i++) {
    const argument = given[i]!;
    if (argument === '--changed') read.since = '';
    else if (argument.startsWith('--changed=')) read.since = argument.slice('--changed='.length);
    else if (argument === '--project') read.names.push(given[++i] ?? '');
    else if (argument.startsWith('--project=')) read.names.push(argument.slice('--project='.length));
    // A word after an option may be its value.
    else if (argument.startsWith('-') || isOption(given[i - 1])) read.options.push(argument);
    else read.filters.push(toPathFilter(argument));
  }
  return read;
}

/** @throws Error if there is no such project */
function findProjects({ names, filters }: Arguments): readonly Project[] {
  if (names.length === 0) return filters.length === 0 ? DEFAULT_PROJECTS : PROJECTS;
  return names.flatMap((name) => {
    if (name === '*') return PROJECTS;
    const project = PROJECTS.find((one) => one === name);
    if (project === undefined) throw new Error(`There is no project "${name}". Projects: ${PROJECTS.join(', ')}, *`);
    return project;
  });
}

/**
 * Returns which tests the arguments of `npm test` select: those of vitest, with `--changed` and the services that they need.
 *
 * @throws Error if a project or a commit does not exist
 */
export function selectTests(root: string, given: readonly string[]): Selection {
  const read = readArguments(given);
  const readReferences = createReferenceReader(root);
  const projects = assignProjects(root, readReferences);
  const chosen = new Set(findProjects(read));
  const isChosen = (file: string) =>
    chosen.has(projects.get(file)!) && (read.filters.length === 0 || read.filters.some((part) => file.includes(part)));
  let files = [...projects.keys()].filter(isChosen);
  let filters = read.filters;
  let note = '';
  if (read.since !== undefined) {
    const changed = listChangedFiles(root, read.since === '' ? undefined : read.since);
    const affected = selectAffected(root, files, changed, readReferences);
    const subject = changed.length === 1 ? '1 changed file' : `${changed.length} changed files`;
    note = `${subject} can affect ${affected.length} of ${files.length} test files.`;
    files = affected;
    filters = affected;
  }
  return {
    args: [...[...chosen].flatMap((name) => ['--project', name]), ...read.options, ...filters],
    projects,
    // Without a match, vitest explains what it found.
    needsServices: files.length === 0 || files.some((file) => projects.get(file) !== 'unit'),
    note,
    isEmpty: read.since !== undefined && files.length === 0,
  };
}
