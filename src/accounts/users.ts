import type { Request } from 'express';
import type { Host, ResourceGateway, StoredRecord } from '../declare/host.ts';
import type { Viewer } from '../declare/policy.ts';
import type { Executor } from '../platform/postgres/database.ts';
import { requestContext } from '../records/access/operation-context.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { createRecord } from '../records/operations/create.ts';
import { toBeSerialized } from '../records/serialize/serialize.ts';
import { storedHash } from './password-hash.ts';
import { registrationFaults } from './password-rules.ts';

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
  /** Undefined when the user is gone. */
  findById(id: string): Promise<Account | undefined>;
  /** The hash that a user's password is checked against; undefined when the user is gone. */
  passwordHashOf(id: string): Promise<string | undefined>;
  /** Replaces a hash. False when the password was changed, or the user deleted, in between. */
  setPasswordHash(id: string, from: string, to: string, on?: Executor): Promise<boolean>;
  /** Replaces a hash, whatever it was. False when the user is gone. */
  replacePassword(id: string, hash: string, on: Executor): Promise<boolean>;
  /** What a handler returns to have the record serialized as its own user sees it, whoever is signed in. */
  asSeenBySelf(user: StoredRecord): object;
}

/** Makes the account side of the user resource. */
export function createUsers(host: Host, context: RecordsContext, entity: Entity, gateway: ResourceGateway): Users {
  const { database } = host;
  const table = `"${gateway.table}"`;
  const password = entity.resource.field.get('password')!.column;
  const hash = storedHash(password);
  // Relies on the unique index of the e-mail.
  const find = (by: string) => `select ${hash}, ${gateway.columns('u')} from ${table} u where u."${by}" = $1`;
  const [findByEmail, findById] = [find('email'), find('id')];
  const read = `select ${hash} from ${table} u where u."id" = $1`;
  const replace = `update ${table} set "${password}" = $2 where "id" = $1 returning 1`;
  const change = `update ${table} u set "${password}" = $3 where u."id" = $1 and ${hash} = $2 returning 1`;

  function accountOf([row]: [string, ...unknown[]][]): Account | undefined {
    return row === undefined ? undefined : { passwordHash: row[0], user: gateway.fromRow(row.slice(1)) };
  }

  return {
    register(body, req) {
      const visitor = requestContext({ user: undefined, req, service: context.service });
      return createRecord(context, entity, body, visitor, { authorized: true, check: registrationFaults });
    },
    async findForLogin(email) {
      return accountOf(await database.read({ name: 'user_login', text: findByEmail, values: [email] }));
    },
    async findById(id) {
      return accountOf(await database.read({ name: 'user_account', text: findById, values: [id] }));
    },
    async passwordHashOf(id) {
      return (await database.read<[string]>({ text: read, values: [id] }))[0]?.[0];
    },
    async setPasswordHash(id, from, to, on = database) {
      return (await on.write({ text: change, values: [id, from, to] })).length > 0;
    },
    async replacePassword(id, hash, on) {
      return (await on.write({ text: replace, values: [id, hash] })).length > 0;
    },
    asSeenBySelf: (user) => toBeSerialized(gateway.name, user, { viewer: user as StoredRecord & Viewer }),
  };
}
