import { useState } from 'preact/hooks';
import { BarChart, type ChartPoint } from '../../kit/bar-chart.tsx';
import { clockText, durationText, localNumber } from '../../kit/format.tsx';
import { locale } from '../../kit/language.ts';
import { numberText } from '../../kit/numbers.ts';
import { Choice, Facts } from '../../kit/parts.tsx';
import { Loaded } from '../parts/page.tsx';
import { useData } from '../parts/requests.ts';
import type { Period, Statistics } from '../responses.ts';
import { texts } from '../texts.ts';

/** Days are those of UTC. */
const dayFormat = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** A success rate in percent. A single failure must not be rounded away. */
const percentText = (rate: number) => texts.statistics.percent(numberText(Math.floor(rate * 1000) / 10));

function PeriodStatistics({ period, of }: { period: Period; of: Statistics[Period] }) {
  const own = texts.statistics;
  const { deliveries, successRate, attempts, attemptsPerDelivery, durationMs, series } = of;
  const points = series.map(({ at, succeeded, failed }): ChartPoint => {
    return {
      label: period === 'last24Hours' ? clockText(at) : dayFormat.format(new Date(at)),
      parts: [
        { kind: 'good', name: own.succeeded, value: succeeded },
        { kind: 'bad', name: own.failed, value: failed },
      ],
    };
  });
  if (attempts === 0) return <p class="blank soft">{own.none}</p>;
  return (
    <>
      <BarChart label={own.labels[period]} points={points} height={80} />
      <Facts
        of={[
          [own.successRate, successRate === null ? null : percentText(successRate)],
          [own.deliveries, numberText(deliveries)],
          [own.attemptsPerDelivery, attemptsPerDelivery === null ? null : localNumber(attemptsPerDelivery.toFixed(1))],
          [own.p50, durationMs.p50 === null ? null : durationText(durationMs.p50)],
          [own.p95, durationMs.p95 === null ? null : durationText(durationMs.p95)],
        ]}
      />
    </>
  );
}

/** How many deliveries of an endpoint succeeded, and how long its server took. */
export function StatisticsSection({ id }: { id: string }) {
  const [period, setPeriod] = useState<Period>('last24Hours');
  const statistics = useData<Statistics>(`/${encodeURIComponent(id)}/statistics`);
  const { periods, period: label } = texts.statistics;
  return (
    <>
      <h2 class="visually-hidden">{texts.endpoint.statistics}</h2>
      <Choice<Period>
        label={label}
        options={[
          ['last24Hours', periods.last24Hours],
          ['last14Days', periods.last14Days],
        ]}
        value={period}
        onChange={setPeriod}
      />
      <Loaded from={statistics}>{(data) => <PeriodStatistics period={period} of={data[period]} />}</Loaded>
    </>
  );
}
