type Kind = 'good' | 'bad' | 'warn' | 'neutral';

/** A bar: its label, and its parts from the bottom to the top. */
export interface ChartPoint {
  label: string;
  parts: readonly { kind: Kind; name: string; value: number }[];
}

const WIDTH = 600;
const GAP = 2;

/** The bars of a chart, as rectangles in a drawing of the given height. */
function barsOf(points: readonly ChartPoint[], height: number) {
  const highest = Math.max(1, ...points.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0)));
  const step = WIDTH / Math.max(1, points.length);
  return points.flatMap(({ parts }, index) => {
    let top = height;
    return parts
      .filter(({ value }) => value > 0)
      .map(({ kind, value }) => {
        const size = Math.max(2, (value / highest) * height);
        top -= size;
        return { kind, x: index * step + GAP / 2, y: top, width: Math.max(1, step - GAP), height: size };
      });
  });
}

/** A chart of stacked bars over time. A table for screen readers has the same numbers. */
export function BarChart({
  label,
  points,
  height = 120,
}: {
  label: string;
  /** From the oldest to the newest. */
  points: readonly ChartPoint[];
  /** In pixels. */
  height?: number;
}) {
  const names = [...new Map(points.flatMap(({ parts }) => parts.map(({ name, kind }) => [name, kind] as const)))];
  const totalOf = (wanted: string) =>
    points.reduce((sum, { parts }) => sum + (parts.find(({ name }) => name === wanted)?.value ?? 0), 0);
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height} aria-hidden="true">
        {barsOf(points, height).map(({ kind, ...box }) => (
          <rect key={`${box.x}-${kind}`} class={kind} {...box} rx="1.5" />
        ))}
      </svg>
      <div class="chart-axis" aria-hidden="true">
        <span>{points[0]?.label}</span>
        <span>{points.at(-1)?.label}</span>
      </div>
      <figcaption>
        <span class="visually-hidden">{label}</span>
        {names.map(([name, kind]) => (
          <span key={name} class="legend">
            <i class={`dot ${kind}`}></i>
            {name} <b>{totalOf(name)}</b>
          </span>
        ))}
      </figcaption>
      <table class="visually-hidden">
        <caption>{label}</caption>
        <tbody>
          {points.map((point) => (
            <tr key={point.label}>
              <th scope="row">{point.label}</th>
              {point.parts.map(({ name, value }) => (
                <td key={name}>{`${name}: ${value}`}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
