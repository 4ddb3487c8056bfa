import { bytesText, html } from 'belfry/console';

const numberFormat = new Intl.NumberFormat('en');
/** Keeps a number and its unit on one line. */
const SPACE = '\u00a0';
const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
];

/** A number with thousands separators; a dash if it is not known. */
export const numberText = (value) => (value === null || value === undefined ? '–' : numberFormat.format(value));

/** A duration in milliseconds, as short as it can be read: `3.2 ms`, `450 ms`, `1.25 s`. */
export function msText(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 10) return `${Number(ms.toFixed(1))}${SPACE}ms`;
  return ms < 1000 ? `${Math.round(ms)}${SPACE}ms` : `${Number((ms / 1000).toFixed(2))}${SPACE}s`;
}

/** A duration in seconds in at most two units: `3 h 12 min`. */
export function durationText(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const index = UNITS.findIndex(([, size]) => seconds >= size);
  if (index === -1) return `0${SPACE}s`;
  const [unit, size] = UNITS[index];
  const first = Math.floor(seconds / size);
  const [nextUnit, nextSize] = UNITS[index + 1] ?? [];
  const rest = nextSize === undefined ? 0 : Math.floor((seconds - first * size) / nextSize);
  return rest > 0 ? `${first}${SPACE}${unit} ${rest}${SPACE}${nextUnit}` : `${first}${SPACE}${unit}`;
}

/** A share from 0 to 1 in percent, with a decimal below 10%. */
export function percentText(share) {
  if (share === null || share === undefined) return '–';
  const percent = share * 100;
  return `${percent < 10 && percent > 0 ? percent.toFixed(1) : Math.round(percent)}%`;
}

/** Bytes, up to gigabytes. */
export const sizeText = (bytes) => {
  if (bytes === null || bytes === undefined) return '–';
  return bytes < 2 ** 30 ? bytesText(bytes).replace(' ', SPACE) : `${(bytes / 2 ** 30).toFixed(1)}${SPACE}GB`;
};

/** A commit is shown by its first characters. */
export const versionText = (version) => (/^[0-9a-f]{20,64}$/i.test(version ?? '') ? version.slice(0, 10) : version);

/** A part of a whole as a bar, with its text. @param {{ value: number, max: number, text: string, isHigh?: boolean }} props */
export function Meter({ value, max, text, isHigh = false }) {
  const share = max > 0 ? Math.min(1, value / max) : 0;
  return html`<span class="operations-meter">
    <span>${text}</span>
    <span class="operations-meter-track" aria-hidden="true">
      <span class=${isHigh ? 'high' : ''} style=${{ width: `${Math.round(share * 100)}%` }}></span>
    </span>
  </span>`;
}
