import { z } from 'zod';
import { index, integer, jsonb, pgTable, sql, text, timestamptz } from '../../../extension/index.ts';

/** Erasures of accounts, with their reports. The only personal data in the table are ids. */
export const erasures = pgTable(
  'privacy_erasures',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull().unique(),
    /** The id of the requester: the erased user or an admin. */
    requestedBy: text('requested_by').notNull(),
    /** `running` until the user record is deleted, then `finished`. */
    status: text('status').notNull().default('running'),
    /** Numbers of rows by kind: `{ "deleted:post": 12, "anonymized:comment": 3, "erased:sessions": 2 }`. */
    counts: jsonb('counts').notNull().default({}),
    /** The data that is kept, and the reasons: `[{ name, count, why }]`. */
    kept: jsonb('kept').notNull().default([]),
    requestedAt: timestamptz('requested_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    /** When the job of this erasure must run next; null: never again. */
    dueAt: timestamptz('due_at').defaultNow(),
    /** The number of finished checks for data that was stored after the erasure. */
    looks: integer('looks').notNull().default(0),
    /** The id of the e-mail that confirms the erasure; null if there is none or it has been removed. */
    noticeId: text('notice_id'),
  },
  (table) => [
    index('privacy_erasures_due_at_index').on(table.dueAt).where(sql`due_at is not null`),
    index('privacy_erasures_notice_id_index').on(table.noticeId).where(sql`notice_id is not null`),
  ],
);

const counts = (description: string) => z.record(z.string(), z.int()).meta({ description });

/** An erasure in responses. */
export const erasureShape = z
  .strictObject({
    id: z.string(),
    user: z.string().meta({ description: 'The id of the user' }),
    requestedBy: z.string().meta({ description: 'The user themselves, or an admin' }),
    status: z.enum(['running', 'finished']),
    requestedAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
    deleted: counts('Deleted records, by resource'),
    anonymized: counts('Anonymized records, without owner and personal data, by resource'),
    erased: counts('Other deleted or anonymized rows: sessions, devices, keys'),
    kept: z
      .array(z.strictObject({ name: z.string(), count: z.int().nullable(), why: z.string() }))
      .meta({ description: 'What is kept, and why; available when the erasure is finished' }),
  })
  .meta({ id: 'Erasure' });

/** The response to a user who requests the erasure of their account. */
export const requestedErasureShape = z
  .strictObject({
    id: z.string().meta({ description: 'The id of the erasure, for support requests' }),
    status: z.string(),
  })
  .meta({ id: 'ErasureAsked' });

/** Rows that an erasure keeps, with the name of their resource or feature and the reason. */
export interface KeptData {
  name: string;
  /** Number of kept rows; null if they were not counted. */
  count: number | null;
  why: string;
}

/** An erasure with its report, for admins. */
export interface Erasure {
  id: string;
  user: string;
  requestedBy: string;
  status: 'running' | 'finished';
  requestedAt: string;
  finishedAt: string | null;
  /** Deleted records, by resource. */
  deleted: Record<string, number>;
  /** Anonymized records, by resource. */
  anonymized: Record<string, number>;
  /** Other deleted or anonymized rows, by kind: sessions, devices. */
  erased: Record<string, number>;
  kept: KeptData[];
}

/** A row of `privacy_erasures`. */
export type ErasureRow = [
  id: string,
  userId: string,
  requestedBy: string,
  status: Erasure['status'],
  counts: Record<string, number>,
  kept: KeptData[],
  requestedAt: string,
  finishedAt: string | null,
];

function selectCountsOfKind(counts: Record<string, number>, what: string): Record<string, number> {
  const found = Object.entries(counts).filter(([key, count]) => key.startsWith(`${what}:`) && count > 0);
  return Object.fromEntries(found.map(([key, count]): [string, number] => [key.slice(what.length + 1), count]).sort());
}

/** Converts a row of `privacy_erasures` to an erasure with its report. */
export function toErasure(row: ErasureRow): Erasure {
  const [id, user, requestedBy, status, counts, kept, requestedAt, finishedAt] = row;
  return {
    id,
    user,
    requestedBy,
    status,
    requestedAt,
    finishedAt,
    deleted: selectCountsOfKind(counts, 'deleted'),
    anonymized: selectCountsOfKind(counts, 'anonymized'),
    erased: selectCountsOfKind(counts, 'erased'),
    kept,
  };
}
