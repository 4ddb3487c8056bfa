import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../RESULTS.md', import.meta.url);
const SECTION = /^## Peers\n[\s\S]*?(?=^## |(?![\s\S]))/m;

/** Returns the section of the page about peers with the blank line before it. Empty if there is none. */
export function readPeersSection(): string {
  const [section] = SECTION.exec(readFileSync(PAGE, 'utf8')) ?? [];
  return section === undefined ? '' : `\n${section}`;
}

/** Replaces the section of the page about peers, or appends it. */
export function writePeersSection(section: string): void {
  const others = readFileSync(PAGE, 'utf8').replace(SECTION, '').trimEnd();
  writeFileSync(PAGE, `${others}\n\n${section}`);
}
