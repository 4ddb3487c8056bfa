import { BarChart, type ChartPoint, Choice, clockText, place, setParams } from '../../console/kit.ts';
import { locale } from '../../kit/language.ts';
import { numberText } from '../../kit/numbers.ts';
import type { Chart, ChartRange, DeliveryCounts } from './responses.ts';
import { texts } from './texts.ts';

const dayFormat = new Intl.DateTimeFormat(locale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

/** The range of charts that the address names. */
export const chosenRange = (): ChartRange => (place.value.params.get('range') === 'week' ? 'week' : 'day');

/** Chooses the range of charts, in the address. */
export function RangeChoice() {
  const choose = (range: string) => setParams({ range: range === 'day' ? undefined : range }, { replace: true });
  return (
    <Choice
      label={texts.chart.range}
      options={Object.entries(texts.chart.ranges)}
      value={chosenRange()}
      onChange={choose}
    />
  );
}

/** A chart of deliveries, by the hour or day of their events. */
export function DeliveryChart({ chart: { range, bars, newest } }: { chart: Chart }) {
  const labelOf = (at: string) => (range === 'day' ? clockText(at) : dayFormat.format(new Date(at)));
  const points: ChartPoint[] = bars.map(({ at, succeeded, failed, pending }) => ({
    label: labelOf(at),
    parts: [
      { kind: 'good', name: texts.chart.succeeded, value: succeeded },
      { kind: 'bad', name: texts.chart.failed, value: failed },
      { kind: 'neutral', name: texts.chart.waiting, value: pending },
    ],
  }));
  return (
    <div class="card webhooks-chart">
      <BarChart label={texts.chart.labels[range]} points={points} />
      {newest !== null && <p class="soft webhooks-note">{texts.chart.newest(numberText(newest))}</p>}
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
