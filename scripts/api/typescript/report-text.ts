/** The TypeScript API of an entry point. */
export interface ApiReport {
  /** The declarations that the entry point exports, by name, in the order of their names. Overloads share a name. */
  exported: ReadonlyMap<string, string>;
  /** The declarations that the exported ones refer to, but that the entry point does not export. */
  reachable: ReadonlyMap<string, string>;
}

const DECLARATION =
  /^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:interface|type|class|const|let|function|enum|namespace) ([\w$]+)/m;

/** Splits the code of a report at the empty lines between declarations. */
function splitDeclarations(code: string): string[] {
  const blocks = code.split(/\n\n(?=\S)/).map((block) => block.trim());
  return blocks.filter((block) => block !== '');
}

/** Removes what is not part of the API: the notes of API Extractor. */
function removeNotes(block: string): string {
  const lines = block.split('\n').flatMap((line) => {
    if (!/^\s*\/\/ /.test(line)) return line;
    return line.includes('@deprecated') ? line.replace(/\/\/ .*/, '// @deprecated') : [];
  });
  return lines.join('\n');
}

function collect(blocks: readonly string[]): Map<string, string> {
  const declarations = new Map<string, string>();
  for (const block of blocks) {
    // Imports only repeat the names of other packages that the declarations use.
    if (block === '' || block.startsWith('import ')) continue;
    const [, name] = DECLARATION.exec(block) ?? [];
    const key = name ?? block.split('\n')[0]!;
    const earlier = declarations.get(key);
    declarations.set(key, earlier === undefined ? block : `${earlier}\n\n${block}`);
  }
  return declarations;
}

function codeOf(markdown: string): string {
  return [...markdown.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code).join('\n\n');
}

/**
 * Parses a report of API Extractor.
 *
 * @param augmentations further declarations of interfaces; those of interfaces that the report does not export are left out
 */
export function parseExtractedReport(markdown: string, augmentations = ''): ApiReport {
  const own = splitDeclarations(codeOf(markdown)).map(removeNotes);
  const isOwn = (block: string) => own.some((each) => each.startsWith(`${block.split(' {')[0]} {`));
  const blocks = [...own, ...splitDeclarations(augmentations).filter(isOwn)];
  const isExported = (block: string) => /^(\/\/ @deprecated\n)?export /.test(block);
  return {
    exported: collect(blocks.filter(isExported)),
    reachable: collect(blocks.filter((block) => !isExported(block))),
  };
}

/** Returns a report without the reachable declarations that are also in another report. */
export function withoutDeclarationsOf(report: ApiReport, other: ApiReport): ApiReport {
  const isElsewhere = (name: string, text: string) =>
    other.reachable.get(name) === text || other.exported.get(name) === `export ${text}`;
  const own = [...report.reachable].filter(([name, text]) => !isElsewhere(name, text));
  return { ...report, reachable: new Map(own) };
}

const HEADINGS = { exported: '## Exported', reachable: '## Not exported, but part of exported declarations' };

/** Formats a report as Markdown, as committed. */
export function formatReport(entryPoint: string, report: ApiReport): string {
  const section = (heading: string, declarations: ReadonlyMap<string, string>) =>
    declarations.size === 0 ? '' : `\n${heading}\n\n\`\`\`ts\n${[...declarations.values()].join('\n\n')}\n\`\`\`\n`;
  const introduction = `# The public API of \`${entryPoint}\`\n\nWritten by \`npm run api -- --write\`. Do not edit it. See docs/extend/api-compatibility.md.\n`;
  return introduction + section(HEADINGS.exported, report.exported) + section(HEADINGS.reachable, report.reachable);
}

/** Parses the Markdown of `formatReport`. */
export function parseReport(markdown: string): ApiReport {
  const [exported = '', reachable = ''] = markdown.split(HEADINGS.reachable);
  return {
    exported: collect(splitDeclarations(codeOf(exported))),
    reachable: collect(splitDeclarations(codeOf(reachable))),
  };
}
