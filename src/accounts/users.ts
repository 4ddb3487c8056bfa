import type { Request } from 'express';
import type { Host, ResourceView, StoredRecord } from '../declare/host.ts';
import type { Viewer } from '../declare/policy.ts';
import { requestIdOf } from '../platform/http/request-id.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { create } from '../records/operations/create.ts';

/** An account with the hash that its password is checked against. */
export interface Account {
  user: StoredRecord;
  passwordHash: string;
}

/** The user records, for accounts. */
export interface Users {
  /** Creates a user as `POST /api/users` would with nobody signed in, without asking its create policy. */
  register(body: unknown, req: Request): Promise<StoredRecord>;
  /** @param email normalised */
  findForLogin(email: string): Promise<Account | undefined>;
  /** Replaces a hash, unless the password was changed in between. */
  setPasswordHash(id: string, from: string, to: string): Promise<void>;
  /** The record as its own user sees it. */
  showToSelf(user: StoredRecord, req: Request): Promise<Record<string, unknown>>;
}

/** Makes the account side of the user resource. */
export function createUsers(host: Host, context: RecordsContext, entity: Entity, view: ResourceView): Users {
  const { database } = host;
  const table = `"${view.table}"`;
  const password = entity.resource.field.get('password')!.column;
  // Relies on the unique index of the e-mail.
  const find = `select u."${password}", ${view.columns('u')} from ${table} u where u."email" = $1`;
  const change = `update ${table} set "${password}" = $3 where "id" = $1 and "${password}" = $2`;
  return {
    register(body, req) {
      const acting = { user: undefined, req, requestId: requestIdOf(req), system: false };
      return create(context, entity, body, acting, { authorized: true });
    },
    async findForLogin(email) {
      const rows = await database.read<[string, ...unknown[]]>({ name: 'user_login', text: find, values: [email] });
      const row = rows[0];
      return row === undefined ? undefined : { passwordHash: row[0], user: view.fromRow(row.slice(1)) };
    },
    async setPasswordHash(id, from, to) {
      await database.write({ text: change, values: [id, from, to] });
    },
    async showToSelf(user, req) {
      return (await view.serialize([user], { user: user as StoredRecord & Viewer, req }))[0]!;
    },
  };
}
