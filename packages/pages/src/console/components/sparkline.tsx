/** A small line without axes, for a cell of a table. */
export function Sparkline({
  label,
  values,
  width = 96,
  height = 24,
}: {
  label: string;
  /** From the oldest to the newest. */
  values: readonly number[];
  /** In pixels. */
  width?: number;
  height?: number;
}) {
  const highest = Math.max(1, ...values);
  const points = values.map((value, index) => {
    const x = values.length < 2 ? 0 : (index / (values.length - 1)) * width;
    return `${x.toFixed(1)},${(height - 2 - (value / highest) * (height - 4)).toFixed(1)}`;
  });
  return (
    <svg class="sparkline" role="img" aria-label={label} width={width} height={height}>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
