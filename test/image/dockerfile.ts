import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

interface Instruction {
  keyword: string;
  text: string;
}

interface Stage {
  name: string;
  instructions: Instruction[];
}

/** A folder that stands for the file system of a built image. */
export interface BuiltImage {
  /** The folder that stands for `/`. */
  root: string;
  /** The folder that stands for the working directory. */
  workdir: string;
  env: Record<string, string>;
  user: string;
  command: string[];
}

interface BuildOptions {
  /** Contains a folder for each stage. */
  folder: string;
  /** The environment of RUN commands, besides ENV. */
  env: Record<string, string | undefined>;
  /** Replaces RUN commands of a stage. Gets the folder that stands for the working directory. */
  replaced: Record<string, Record<string, (workdir: string) => void>>;
}

function parseStages(text: string): Stage[] {
  const stages: Stage[] = [];
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n/g, ' ');
  for (const line of lines.split('\n').filter((line) => line.trim() !== '')) {
    const [, keyword, text] = /^(\w+)\s+(.*)$/.exec(line)!;
    if (keyword === 'FROM')
      stages.push({ name: / AS (\S+)$/.exec(text!)?.[1] ?? String(stages.length), instructions: [] });
    else stages.at(-1)!.instructions.push({ keyword: keyword!, text: text! });
  }
  return stages;
}

/** Returns the paths of the context that .dockerignore lets through. It must ignore everything else first. */
function readAllowedPaths(): { allowed: Set<string>; ignored: string[] } {
  const patterns = readFileSync('.dockerignore', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (patterns[0] !== '*') throw new Error('.dockerignore must start with *');
  const allowed = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1));
  return { allowed: new Set(allowed), ignored: patterns.slice(1).filter((pattern) => !pattern.startsWith('!')) };
}

/** Returns the path of a copy made by COPY, which copies the content of a folder, or a file under its own name. */
const toCopy = (source: string, to: string) => (statSync(source).isDirectory() ? to : join(to, basename(source)));

/** Copies a path of the context. */
function copyFromContext(source: string, to: string, ignored: readonly string[]): void {
  cpSync(source, toCopy(source, to), {
    recursive: true,
    filter: (file) => !ignored.some((pattern) => resolve(file) === resolve(pattern)),
  });
}

/**
 * Carries out the stages of the Dockerfile of this repository without a container engine. A folder stands for the file system of each
 * stage, and commands run on this machine: base images are not used. RUN commands therefore must not name absolute paths.
 *
 * @throws Error if an instruction is unknown, or if a command fails
 */
export async function buildWithoutEngine({ folder, env, replaced }: BuildOptions): Promise<BuiltImage> {
  const { allowed, ignored } = readAllowedPaths();
  const images = new Map<string, BuiltImage>();
  let image: BuiltImage | undefined;
  for (const { name, instructions } of parseStages(readFileSync('Dockerfile', 'utf8'))) {
    const root = join(folder, name);
    mkdirSync(root, { recursive: true });
    const stage: BuiltImage = { root, workdir: root, env: {}, user: 'root', command: [] };
    const handlers: Record<string, (text: string) => unknown> = {
      WORKDIR: (path) => {
        stage.workdir = join(root, path);
        mkdirSync(stage.workdir, { recursive: true });
      },
      ENV: (text) => {
        for (const [, key, value] of text.matchAll(/(\w+)=(\S+)/g))
          stage.env[key!] = value!.startsWith('/') ? join(root, value!) : value!;
      },
      COPY: (text) => {
        const [, from, paths] = /^(?:--from=(\S+) )?(.*)$/.exec(text)!;
        const sources = paths!.split(' ');
        const target = join(stage.workdir, sources.pop()!);
        for (const source of sources) {
          // No other instruction needs what an earlier stage made, and moving it is quicker.
          if (from !== undefined) {
            const made = join(images.get(from)!.root, source);
            renameSync(made, toCopy(made, target));
          } else if (allowed.has(source)) copyFromContext(source, target, ignored);
          else throw new Error(`COPY ${source}: .dockerignore leaves it out`);
        }
      },
      RUN: (command) => {
        const replacement = replaced[name]?.[command];
        if (replacement !== undefined) return replacement(stage.workdir);
        const commandEnv = { ...env, HOME: root, ...stage.env };
        return promisify(execFile)('sh', ['-ec', command], { cwd: stage.workdir, env: commandEnv });
      },
      USER: (user) => {
        stage.user = user;
      },
      EXPOSE: () => undefined,
      CMD: (text) => {
        stage.command = JSON.parse(text);
      },
    };
    for (const { keyword, text } of instructions) {
      const handler = handlers[keyword];
      if (handler === undefined) throw new Error(`${keyword} is not supported by this test`);
      await handler(text);
    }
    images.set(name, stage);
    image = stage;
  }
  return image!;
}
