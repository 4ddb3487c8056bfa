import type { MailContent } from '../message.ts';
import { formatMinutes, layOutMail, type MailBlock } from './layout.ts';

const UNITS = { minute: ['Minute', 'Minuten'], hour: ['Stunde', 'Stunden'], day: ['Tag', 'Tagen'] } as const;

/** Creates an e-mail in German from its parts. */
export const layOut = (subject: string, blocks: readonly MailBlock[]): MailContent => layOutMail('de', subject, blocks);

/** A duration after `innerhalb von`: `30 Minuten`, `7 Tagen`. */
export const within = (minutes: number): string => formatMinutes(minutes, UNITS);

/** The app, after an account of it. */
export const atHost = (appHost: string | undefined): string => (appHost === undefined ? '' : ` bei ${appHost}`);

/** The day of a time (ISO 8601): `24.11.2026`. */
export const dayOf = (time: string): string => [time.slice(8, 10), time.slice(5, 7), time.slice(0, 4)].join('.');

/** The day and the time of day: `24.11.2026 um 10:15 Uhr (UTC)`. */
export const timeOf = (time: string): string => `${dayOf(time)} um ${time.slice(11, 16)} Uhr (UTC)`;
