import { BarChart, type ChartPoint, Choice, clockText, place, setParams } from '../../console/kit.ts';
import type { Chart, ChartRange, DeliveryCounts } from './responses.ts';

const dayFormat = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

const RANGES: Readonly<Record<ChartRange, string>> = { day: 'Last 24 hours', week: 'Last 7 days' };

/** The range of charts that the address names. */
export const chosenRange = (): ChartRange => (place.value.params.get('range') === 'week' ? 'week' : 'day');

/** Chooses the range of charts, in the address. */
export function RangeChoice() {
  const choose = (range: string) => setParams({ range: range === 'day' ? undefined : range }, { replace: true });
  return <Choice label="Time range" options={Object.entries(RANGES)} value={chosenRange()} onChange={choose} />;
}

/** A chart of deliveries, by the hour or day of their events. */
export function DeliveryChart({ chart: { range, bars, newest } }: { chart: Chart }) {
  const labelOf = (at: string) => (range === 'day' ? clockText(at) : dayFormat.format(new Date(at)));
  const points: ChartPoint[] = bars.map(({ at, succeeded, failed, pending }) => ({
    label: labelOf(at),
    parts: [
      { kind: 'good', name: 'Succeeded', value: succeeded },
      { kind: 'bad', name: 'Failed', value: failed },
      { kind: 'neutral', name: 'Waiting', value: pending },
    ],
  }));
  return (
    <div class="card webhooks-chart">
      <BarChart label={`Deliveries by result, ${RANGES[range].toLowerCase()}`} points={points} />
      {newest !== null && (
        <p class="soft webhooks-note">
          Counts the newest {newest.toLocaleString('en')} deliveries; earlier ones are left out.
        </p>
      )}
    </div>
  );
}

/** The number of deliveries in a chart, and the share of the finished ones that succeeded in percent; null if none is finished. */
export function summarize({ bars }: Chart): { total: number; rate: number | null } {
  const sum = (name: keyof DeliveryCounts) => bars.reduce((total, bar) => total + bar[name], 0);
  const succeeded = sum('succeeded');
  const finished = succeeded + sum('failed');
  // A single failure must not be rounded away.
  const rate = finished === 0 ? null : Math.floor((succeeded / finished) * 1000) / 10;
  return { total: finished + sum('pending'), rate };
}
