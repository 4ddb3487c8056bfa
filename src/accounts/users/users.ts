import type { Request } from 'express';
import type { CreateUserOptions } from '../../declare/accounts.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';
import type { Transaction } from '../../declare/service.ts';
import type { Executor } from '../../platform/data/postgres/database.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { findPreferredLocale } from '../../platform/helpers/locale.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { createRequestContext, createSystemContext } from '../../records/access/operation-context.ts';
import type { RecordsContext } from '../../records/operations/context.ts';
import { createRecord } from '../../records/operations/create.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { markForSerialization } from '../../records/serialize/serialize.ts';
import { createTransactionContext } from '../../records/service/transaction.ts';
import type { Entity } from '../../records/store/entity.ts';
import { createNoPassword, storedHashSql } from '../passwords/password-hash.ts';
import { registrationPasswordErrors } from '../passwords/password-rules.ts';

/** A user with the stored password hash. */
export interface Account {
  user: StoredRecord;
  passwordHash: string;
}

/** Access to the user records for the account operations. */
export interface Users {
  /** Creates a user as an anonymous `POST /api/users` would, but without checking the create policy. */
  registerUser(body: unknown, req: Request): Promise<StoredRecord>;
  /**
   * Creates a user for an extension; without a `password` in the values, the user has none. Emits `auth.registered` after the commit. See
   * `Accounts`.
   */
  createUser(
    values: Readonly<Record<string, unknown>>,
    request: Request,
    options?: Omit<CreateUserOptions, 'tx'> & { tx?: Pick<Transaction, 'database' | 'afterCommit'> },
  ): Promise<StoredRecord>;
  /** Returns the user with this e-mail address, which must be trimmed and in lower case. Undefined if there is none. */
  findAccountByEmail(email: string): Promise<Account | undefined>;
  /** Returns the user with this id; undefined if the user no longer exists. */
  findAccountById(id: string): Promise<Account | undefined>;
  /** Returns the stored password hash; undefined if the user no longer exists. */
  findPasswordHash(id: string): Promise<string | undefined>;
  /** Replaces the password hash `from` by `to`. Returns false if the stored hash is no longer `from` or the user no longer exists. */
  replacePasswordHashIfUnchanged(id: string, from: string, to: string, on?: Executor): Promise<boolean>;
  /** Replaces the stored password hash, whatever it is. Returns false if the user no longer exists. */
  overwritePasswordHash(id: string, hash: string, on: Executor): Promise<boolean>;
  /** Returns a value that the HTTP kernel serializes for the user of the record, not for the caller. */
  asSeenBySelf(user: StoredRecord): object;
}

/**
 * Returns the body of a registration with the client's preferred locale, if the project's user resource has a field `locale` that a visitor
 * may set, and the body does not set it. E-mails are written in that locale.
 */
function withPreferredLocale({ field }: CompiledResource, body: unknown, req: Request): unknown {
  const locale = field.get('locale');
  if (locale === undefined || typeof body !== 'object' || body === null || 'locale' in body) return body;
  const { hidden, readOnly } = locale.spec;
  const preferred = hidden || readOnly || locale.writableBy ? undefined : findPreferredLocale(req);
  const accepted = [preferred, preferred?.split('-')[0]].find(
    (one) => one !== undefined && locale.schema.safeParse(one).success,
  );
  return accepted === undefined ? body : { ...body, locale: accepted };
}

export function registrationClosedError(): ApiError {
  return new ApiError('FORBIDDEN', 'Registration is closed');
}

/** Creates the access of accounts to the user resource. */
export function createUsers(host: Host, context: RecordsContext, entity: Entity, gateway: ResourceGateway): Users {
  const { database } = host;
  const table = `"${gateway.table}"`;
  const password = entity.resource.field.get('password')!.column;
  const hash = storedHashSql(password);
  // The query by e-mail uses the unique index on email.
  const findUserSql = (by: string) => `select ${hash}, ${gateway.columns('u')} from ${table} u where u."${by}" = $1`;
  const [findByEmailSql, findByIdSql] = [findUserSql('email'), findUserSql('id')];
  const read = `select ${hash} from ${table} u where u."id" = $1`;
  const replace = `update ${table} set "${password}" = $2 where "id" = $1 returning 1`;
  const change = `update ${table} u set "${password}" = $3 where u."id" = $1 and ${hash} = $2 returning 1`;

  function accountOf([row]: [string, ...unknown[]][]): Account | undefined {
    return row === undefined ? undefined : { passwordHash: row[0], user: gateway.fromRow(row.slice(1)) };
  }

  return {
    registerUser(body, req) {
      const visitor = createRequestContext({ user: undefined, req, service: context.service });
      return createRecord(context, entity, withPreferredLocale(entity.resource, body, req), visitor, {
        authorized: true,
        check: registrationPasswordErrors,
      });
    },
    async createUser(values, request, { invited = false, trusted, tx } = {}) {
      if (!invited && !host.settings.auth.register) throw registrationClosedError();
      // The caller lets errors roll its transaction back, so there is nothing else to do about them here.
      const on = tx === undefined ? context : createTransactionContext(context, { ...tx, abort: (error) => error });
      const entityThere = tx === undefined ? entity : on.entities.get(entity.resource.name)!;
      const operation =
        trusted === undefined
          ? createSystemContext(on.service)
          : createRequestContext({ user: undefined, req: request, service: on.service });
      const input = trusted === undefined ? values : withPreferredLocale(entity.resource, values, request);
      const user = await createRecord(on, entityThere, input, operation, {
        authorized: true,
        trusted,
        check: registrationPasswordErrors,
        passwordHash: values.password === undefined ? createNoPassword() : undefined,
      });
      const emitRegistered = () => host.events.emit('auth.registered', { user, ip: addressOf(request) });
      if (tx === undefined) emitRegistered();
      else tx.afterCommit(emitRegistered);
      return user;
    },
    async findAccountByEmail(email) {
      return accountOf(await database.read({ name: 'user_login', text: findByEmailSql, values: [email] }));
    },
    async findAccountById(id) {
      return accountOf(await database.read({ name: 'user_account', text: findByIdSql, values: [id] }));
    },
    async findPasswordHash(id) {
      return (await database.read<[string]>({ text: read, values: [id] }))[0]?.[0];
    },
    async replacePasswordHashIfUnchanged(id, from, to, on = database) {
      return (await on.write({ text: change, values: [id, from, to] })).length > 0;
    },
    async overwritePasswordHash(id, hash, on) {
      return (await on.write({ text: replace, values: [id, hash] })).length > 0;
    },
    asSeenBySelf: (user) => markForSerialization(gateway.name, user, { viewer: user as StoredRecord & Viewer }),
  };
}
