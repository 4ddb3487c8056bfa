import { html } from 'htm/preact';
import { dataHref, resourceOf } from './schema.js';

/** Links are followed only to these schemes: a record may hold `javascript:` addresses. */
const SAFE_LINK = /^(https?|mailto):/i;
const IMAGE_TYPE = /^image\/(png|jpe?g|gif|webp|avif)$/;
const relativeFormat = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const CLOCK = { hour: '2-digit', minute: '2-digit' };
const dateFormat = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric', ...CLOCK });
const clockFormat = new Intl.DateTimeFormat(undefined, CLOCK);
const secondFormat = new Intl.DateTimeFormat(undefined, { ...CLOCK, second: '2-digit' });
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

const relativeText = (date) => {
  const distance = date.getTime() - Date.now();
  const [unit, ms] = UNITS.find(([, size]) => Math.abs(distance) >= size) ?? UNITS.at(-1);
  return relativeFormat.format(Math.round(distance / ms), unit);
};

/** The time of day: `14:05`. @param {string | number | Date} value @param {{ hasSeconds?: boolean }} [options] */
export const clockText = (value, { hasSeconds = false } = {}) =>
  (hasSeconds ? secondFormat : clockFormat).format(new Date(value));

/** A text with a capital at its start, such as the name of a state. */
export const sentenceCase = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A time: relative within a week, else the local date. The tooltip has the ISO form. */
export function Time({ value }) {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  const isNear = Math.abs(date.getTime() - Date.now()) < 7 * 86_400_000;
  return html`<time datetime=${value} title=${`${dateFormat.format(date)} · ${value}`}>
    ${isNear ? relativeText(date) : dateFormat.format(date)}
  </time>`;
}

/** A time as an element; nothing if there is none, so that `Facts` leaves it out. */
export const timeOf = (value) => value && html`<${Time} value=${value} />`;

/** A time span in ms as text, which stays on one line. */
export function durationText(ms) {
  const [value, unit] =
    ms < 1000
      ? [ms, 'ms']
      : ms < 60_000
        ? [(ms / 1000).toFixed(1), 's']
        : ms < 3_600_000
          ? [Math.round(ms / 60_000), 'min']
          : [Math.round(ms / 3_600_000), 'h'];
  return `${value}\u00a0${unit}`;
}

export const bytesText = (bytes) => {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 2 ** 20 ? `${(bytes / 1024).toFixed(1)} KB` : `${(bytes / 2 ** 20).toFixed(1)} MB`;
};

export const isSecret = (value) => typeof value === 'object' && value !== null && value.$secret === true;

/** A long value whose text the server has cut for a list. */
const isCut = (value) => typeof value === 'object' && value !== null && value.$cut === true;

export const isSafeLink = (text) => typeof text === 'string' && SAFE_LINK.test(text);

/** Whether the browser shows a file as an image. The address must be one that the page's policy allows. */
export const isImage = (file) => IMAGE_TYPE.test(file?.type ?? '') && typeof file.url === 'string';

/** The address of a file, on this origin if possible: the policy of the page allows images of this origin only. */
export function fileUrl(url) {
  if (!URL.canParse(url, location.origin)) return undefined;
  const parsed = new URL(url, location.origin);
  if (!/^https?:$/.test(parsed.protocol)) return undefined;
  return parsed.pathname.startsWith('/api/files/') ? parsed.pathname + parsed.search : parsed.href;
}

/** A link to a referenced record, with its label if the server has sent it. `href`: default the page of the record in the Data tab. */
export function Reference({ target, id, labels, href }) {
  const known = resourceOf(target) !== undefined;
  const label = labels?.[target]?.[id];
  const text = label ?? id;
  if (!known) return html`<code>${text}</code>`;
  const className = label === undefined ? 'reference missing' : 'reference';
  return html`<a class=${className} href=${href ?? dataHref([target, id])} title=${`${target} ${id}`}>${text}</a>`;
}

const Empty = () => html`<span class="empty-value" title="No value">–</span>`;

const isEmpty = (value) => value === null || value === undefined;

function ListValue({ field, value, labels }) {
  if (value.length === 0) return html`<${Empty} />`;
  const inner = field.type === 'refs' ? { type: 'ref', target: field.target } : (field.inner ?? { type: 'json' });
  return value
    .slice(0, 5)
    .map((item, index) => [index > 0 ? ', ' : '', html`<${Value} field=${inner} value=${item} labels=${labels} />`])
    .concat(value.length > 5 ? [html` <span class="soft">+${value.length - 5}</span>`] : []);
}

/** The value of a field, as a list shows it: on one line, and always as text. */
export function Value({ field, value, labels }) {
  if (isEmpty(value)) return html`<${Empty} />`;
  if (isSecret(value)) return html`<span class="soft">${value.isSet ? '••••••••' : 'not set'}</span>`;
  if (isCut(value)) return `${value.text}…`;
  if (Array.isArray(value)) return html`<${ListValue} field=${field} value=${value} labels=${labels} />`;
  switch (field.type) {
    case 'boolean':
      return html`<span class=${`flag ${value}`}>${value ? 'Yes' : 'No'}</span>`;
    case 'enum':
      return html`<span class="chip">${String(value)}</span>`;
    case 'date':
      return html`<${Time} value=${value} />`;
    case 'ref':
      return html`<${Reference} target=${field.target} id=${value.id ?? value} labels=${labels} />`;
    case 'id':
      return html`<code>${String(value)}</code>`;
    case 'file':
      return html`<span>${value.name} <span class="soft">${bytesText(value.bytes ?? 0)}</span></span>`;
    default:
      return typeof value === 'object' ? html`<code>${JSON.stringify(value)}</code>` : String(value);
  }
}

/** A value as text, for comparisons and the history. */
export function plainText(value) {
  if (isEmpty(value)) return '–';
  if (isSecret(value)) return value.isSet ? '••••••••' : 'not set';
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** Whether two values of JSON are the same; the order of an object's members does not matter. */
export function isSame(a, b) {
  if (a === b || (isEmpty(a) && isEmpty(b))) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || isEmpty(a) || isEmpty(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isSame(a[key], b[key]));
}
