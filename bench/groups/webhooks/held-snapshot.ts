import type { Group } from '../../figure.ts';
import { ENDPOINTS, type HeldSnapshot, measureHeldSnapshot } from '../../held-snapshot/measure.ts';

const NAME = 'scale.webhooks.heldSnapshot';
const TIMES = { heldSeconds: 40, windowSeconds: 8 };

/** What statements do, by a part of their text; of jobs, pushes and e-mails their claims. Some searches have a second statement for the time under a snapshot. */
const KINDS = {
  claim: /lease as materialized/,
  results: /^\s*with results as/,
  outbox: /xmin from outbox where/,
  deliveries: /^\s*with claimed as \(\s*delete from outbox/,
  jobs: /^\s*with listed as/,
  pushes: /^\s*with c as/,
  'e-mails': /^\s*update mails set attempts/,
  'overdue sweep': /^\s*with (recursive waiting|recent) as/,
  'lease sweep': /^\s*with lost as/,
};

/** Returns the blocks per call of the statements of a kind. */
function countBlocks(statements: HeldSnapshot['before'], kind: RegExp): number {
  const found = statements.filter(({ text }) => kind.test(text));
  const sum = (key: 'blocks' | 'calls') => found.reduce((total, statement) => total + statement[key], 0);
  return sum('blocks') / sum('calls');
}

/** Measures what claims and sweeps read while another session holds a snapshot, compared to the same load without it. */
export const webhookHeldSnapshot: Group = {
  name: 'scale',
  async run(bench) {
    if (!bench.isRequested(NAME)) return [];
    bench.logProgress(`${NAME} …`);
    const { before, after, deliveries } = await measureHeldSnapshot(bench, TIMES);
    const growth = (kind: RegExp) => countBlocks(after, kind) / countBlocks(before, kind);
    const details = Object.entries(KINDS).map(
      ([name, kind]) => `${name} ${countBlocks(before, kind).toFixed(1)} → ${countBlocks(after, kind).toFixed(1)}`,
    );
    const note = `blocks per call before and after ${deliveries} deliveries to ${ENDPOINTS} endpoints: ${details.join(', ')}`;
    return [{ name: NAME, value: growth(KINDS.claim), unit: '×', note }];
  },
};
