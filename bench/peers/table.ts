import { computeRatio, formatRate, type Ratio } from '../figure.ts';
import { median } from '../measure/statistics.ts';
import type { Turn } from './costs.ts';
import type { Measurement } from './measure.ts';
import { getTitle, type Peer } from './peers.ts';

const HEAD = [
  'operation',
  'side',
  'operations',
  'speed: Belfry ÷ peer',
  'CPU time per operation',
  'CPU time: Belfry ÷ peer',
];

const NOTES = [
  'Belfry checks all fields against the declaration, and writes an outbox row with the record, in one transaction, for webhooks and streams. ' +
    'A session is looked up in Postgres with each request. The author of an article is the signed-in user, and only the author may change it. ' +
    'Rate limits are off. Passwords: scrypt, N=2¹⁵, r=8, p=3. Jobs: a row in Postgres that stays, and a pointer to it in Redis; 50 run at once, as with the peers.',
  'A sign-in mostly hashes the password, so its row compares the costs that the projects have chosen: less time is less protection of stolen ' +
    'hashes, unless the algorithm differs.',
];

const formatRatio = ({ value, range }: Ratio) => `${value.toFixed(2)} × (${range})`;

function formatMicros(micros: number): string {
  return micros < 10_000 ? `${Math.round(micros)} µs` : `${(micros / 1000).toFixed(1)} ms`;
}

function createRow(operation: string, side: string, belfry: readonly Turn[], turns: readonly Turn[]): string[] {
  const medianOf = (pick: (turn: Turn) => number) => median(turns.map(pick));
  const ratioOf = (pick: (turn: Turn) => number) =>
    turns === belfry ? '' : formatRatio(computeRatio(belfry.map(pick), turns.map(pick)));
  const [ofProcess, ofDatabases] = [medianOf((turn) => turn.processMicros), medianOf((turn) => turn.databaseMicros)];
  return [
    operation,
    side,
    formatRate(medianOf(({ perSecond }) => perSecond)),
    ratioOf(({ perSecond }) => perSecond),
    `${formatMicros(ofProcess)} + ${formatMicros(ofDatabases)}`,
    ratioOf(({ processMicros, databaseMicros }) => processMicros + databaseMicros),
  ];
}

/** Formats the measurements as a table in Markdown, which is also readable in a terminal. */
export function formatPeersTable(measurements: readonly Measurement[]): string {
  const rows = measurements.flatMap(({ operation, turns }) => {
    const [belfry = []] = Object.values(turns);
    return Object.entries(turns).map(([side, ofSide]) => createRow(operation, side, belfry, ofSide));
  });
  const widths = HEAD.map((head, column) =>
    Math.max(...[HEAD, ...rows].map((row) => row[column]!.length), head.length),
  );
  const formatLine = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const line = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [formatLine(HEAD), line, ...rows.map(formatLine)].join('\n');
}

/** Formats what differs between the sides, as a list in Markdown. */
export function formatNotes(peers: readonly Peer[]): string {
  const [belfry, signIns] = NOTES;
  const lines = [belfry!, ...peers.map((peer) => `${getTitle(peer)}: ${peer.notes}`), signIns!];
  return lines.map((line) => `- ${line}`).join('\n');
}
