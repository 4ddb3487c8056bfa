import type { ComponentChildren } from 'preact';
import { bytesText } from '../../console/kit.ts';
import { locale } from '../../kit/language.ts';

const numberFormat = new Intl.NumberFormat(locale);
const oneDecimal = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });
const twoDecimals = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
const percentFormat = new Intl.NumberFormat(locale, { style: 'percent' });
const finePercentFormat = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
/** Keeps a number and its unit on one line. */
const SPACE = '\u00a0';
const UNITS: [unit: string, seconds: number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];

/** A number that the server may not know. */
type Amount = number | null | undefined;

/** A number with thousands separators; a dash if it is not known. */
export const numberText = (value: Amount) => (value === null || value === undefined ? '–' : numberFormat.format(value));

/** A duration in milliseconds, as short as it can be read: `3.2 ms`, `450 ms`, `1.25 s`. */
export function msText(ms: Amount) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 10) return `${oneDecimal.format(ms)}${SPACE}ms`;
  return ms < 1000 ? `${Math.round(ms)}${SPACE}ms` : `${twoDecimals.format(ms / 1000)}${SPACE}s`;
}

/** A duration in seconds in at most two units: `3 h 12 min`. */
export function durationText(seconds: Amount) {
  if (seconds === null || seconds === undefined) return '–';
  const [first, next] = UNITS.slice(UNITS.findIndex(([, size]) => seconds >= size));
  if (first === undefined || !(seconds >= 1)) return `0${SPACE}s`;
  const [unit, size] = first;
  const count = Math.floor(seconds / size);
  const rest = next === undefined ? 0 : Math.floor((seconds - count * size) / next[1]);
  const text = `${count}${SPACE}${unit}`;
  return next !== undefined && rest > 0 ? `${text} ${rest}${SPACE}${next[0]}` : text;
}

/** The window of a limit in ms. */
export const windowText = (ms: number) => (ms < 1000 ? `${ms} ms` : durationText(Math.round(ms / 1000)));

/** A share from 0 to 1 in percent, with a decimal below 10%. */
export function percentText(share: Amount) {
  if (share === null || share === undefined) return '–';
  return (share < 0.1 ? finePercentFormat : percentFormat).format(share);
}

/** Bytes, up to gigabytes. */
export const sizeText = (bytes: Amount) => {
  if (bytes === null || bytes === undefined) return '–';
  return bytes < 2 ** 30 ? bytesText(bytes).replace(' ', SPACE) : `${oneDecimal.format(bytes / 2 ** 30)}${SPACE}GB`;
};

/** A commit is shown by its first characters. */
export const versionText = (version: string) => (/^[0-9a-f]{20,64}$/i.test(version) ? version.slice(0, 10) : version);

/** A text whose code is between backticks. */
export const Marked = ({ text }: { text: string }) =>
  text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));

/** A value with a sentence that explains it. */
export const Explained = ({ note, children }: { note: string; children: ComponentChildren }) => (
  <span class="operations-stack">
    <span>{children}</span>
    <span class="soft">
      <Marked text={note} />
    </span>
  </span>
);

/** What the columns of a table mean, on request. */
export const ColumnHelp = ({
  title,
  of,
}: {
  title: string;
  of: readonly (readonly [name: string, text: string])[];
}) => (
  <details class="operations-help">
    <summary class="operations-toggle">{title}</summary>
    <dl>
      {of.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </details>
);

/** A part of a whole as a bar, with its text. */
export function Meter(props: { value: number; max: number; text: string; isHigh?: boolean }) {
  const { value, max, text, isHigh = false } = props;
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return (
    <span class="operations-meter">
      <span>{text}</span>
      <span class="operations-meter-track" aria-hidden="true">
        <span class={isHigh ? 'high' : ''} style={{ width: `${Math.round(share * 100)}%` }}></span>
      </span>
    </span>
  );
}
