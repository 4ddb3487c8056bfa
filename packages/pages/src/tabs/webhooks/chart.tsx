import { BarChart, type ChartPoint, Choice, clockText, place, setParams } from '../../console/kit.ts';
import { locale } from '../../kit/language.ts';
import type { Chart, ChartRange, DeliveryCounts } from './responses.ts';
import { texts } from './texts.ts';

const dayFormat = new Intl.DateTimeFormat(locale, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});

/** The range of charts that the address names. */
export const chosenRange = (): ChartRange => (place.value.params.get('range') === 'twoWeeks' ? 'twoWeeks' : 'day');

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

/** A chart of deliveries, by the hour or day of their results. */
export function DeliveryChart({ chart: { range, bars } }: { chart: Chart }) {
  const labelOf = (at: string) => (range === 'day' ? clockText(at) : dayFormat.format(new Date(at)));
  const points: ChartPoint[] = bars.map(({ at, succeeded, failed }) => ({
    label: labelOf(at),
    parts: [
      { kind: 'good', name: texts.chart.succeeded, value: succeeded },
      { kind: 'bad', name: texts.chart.failed, value: failed },
    ],
  }));
  return (
    <div class="card webhooks-chart">
      <BarChart label={texts.chart.labels[range]} points={points} />
    </div>
  );
}

/** The share of deliveries that succeeded in percent; null if there were none. */
export function percentOf({ succeeded, failed }: DeliveryCounts): number | null {
  const total = succeeded + failed;
  // A single failure must not be rounded away.
  return total === 0 ? null : Math.floor((succeeded / total) * 1000) / 10;
}

/** Adds up the bars of a chart. */
export function totalsOf({ bars }: Chart): DeliveryCounts {
  const sum = (name: keyof DeliveryCounts) => bars.reduce((total, bar) => total + bar[name], 0);
  return { succeeded: sum('succeeded'), failed: sum('failed') };
}
