import { escapeHtml } from '../../helpers/escape-html.ts';
import type { Language } from '../../helpers/language.ts';
import type { MailContent } from '../message.ts';

/** A part of an e-mail: a paragraph, a link, a code to type, or a list. */
export type MailBlock = string | { link: string; label: string } | { code: string } | { list: readonly string[] };

const FONT = 'font-family:system-ui,-apple-system,Segoe UI,Roboto,sans-serif;font-size:16px;line-height:1.5';
const BUTTON =
  'display:inline-block;padding:10px 18px;border-radius:6px;background:#1d4ed8;color:#ffffff;text-decoration:none;font-weight:600';
const CODE = 'font-family:ui-monospace,Menlo,Consolas,monospace;font-size:28px;letter-spacing:6px;font-weight:700';

function renderText(block: MailBlock): string {
  if (typeof block === 'string') return block;
  if ('link' in block) return block.link;
  return 'code' in block ? block.code : block.list.map((item) => `- ${item}`).join('\n');
}

function renderHtml(block: MailBlock): string {
  if (typeof block === 'string') return `<p>${escapeHtml(block)}</p>`;
  if ('link' in block)
    return `<p><a href="${escapeHtml(block.link)}" style="${BUTTON}">${escapeHtml(block.label)}</a></p>`;
  if ('code' in block) return `<p style="${CODE}">${escapeHtml(block.code)}</p>`;
  return `<ul>${block.list.map((item) => `<li>${escapeHtml(item)}</li>`).join('')}</ul>`;
}

/** Creates an e-mail from its parts, as text and as HTML. Values in the parts are escaped. */
export function layOutMail(language: Language, subject: string, blocks: readonly MailBlock[]): MailContent {
  return {
    subject,
    text: `${blocks.map(renderText).join('\n\n')}\n`,
    html: `<div lang="${language}" style="${FONT};max-width:560px">\n${blocks.map(renderHtml).join('\n')}\n</div>`,
  };
}

type DurationUnit = 'minute' | 'hour' | 'day';

const ENGLISH_UNITS: Readonly<Record<DurationUnit, readonly [one: string, many: string]>> = {
  minute: ['minute', 'minutes'],
  hour: ['hour', 'hours'],
  day: ['day', 'days'],
};

/** Formats a duration: `1 minute`, `30 minutes`, `2 hours`, `7 days`. */
export function formatMinutes(minutes: number, units = ENGLISH_UNITS): string {
  const [count, unit]: [number, DurationUnit] =
    minutes >= 2880 && minutes % 1440 === 0
      ? [minutes / 1440, 'day']
      : minutes >= 120 && minutes % 60 === 0
        ? [minutes / 60, 'hour']
        : [Math.max(1, Math.round(minutes)), 'minute'];
  return `${count} ${units[unit][count === 1 ? 0 : 1]}`;
}
