import {
  type Accounts,
  appHostOf,
  type ExtensionHost,
  localeOfUser,
  quoteIdentifier,
  type ResourceGateway,
} from '../../../extension/index.ts';
import type { KeptData } from './erasure.ts';
import type { RecordEraser, RunningErasure } from './record-eraser.ts';
import { ADD_TO_COUNT, FINISH_ERASURE, STORE_NOTICE_ID } from './sql.ts';

type FinishErasure = (erasing: RunningErasure, recheckDelayMs: number) => Promise<void>;

/** Creates the last step of an erasure: it deletes the user record, completes the report and sends the e-mail, all in one transaction. */
export function createErasureFinisher(
  { events, env, mail, mailTexts, userData }: Pick<ExtensionHost, 'events' | 'env' | 'mail' | 'mailTexts' | 'userData'>,
  { revoke }: Pick<Accounts, 'revoke'>,
  users: ResourceGateway,
  user: RecordEraser,
  owned: readonly RecordEraser[],
): FinishErasure {
  const table = quoteIdentifier(users.table);
  const lockUserSql = `select ${users.columns('_row')} from ${table} _row where "id" = $1 for update`;
  const selectEmailSql = (from: string) => `select "email" from ${quoteIdentifier(from)} where "id" = $1`;
  const archive = users.archiveTable;
  const appHost = appHostOf(env);

  async function listKeptData(userId: string): Promise<KeptData[]> {
    const kept: KeptData[] = userData().flatMap(({ name, kept: why }) =>
      why === undefined ? [] : [{ name, count: null, why }],
    );
    for (const share of owned.filter(({ plan }) => plan.action === 'keep')) {
      const count = await share.count(userId);
      if (count !== 0)
        kept.push({ name: share.gateway.name, count, why: `Kept as declared by the resource (onOwnerDelete: 'keep')` });
    }
    return kept;
  }

  return async function finish({ id, userId }, recheckDelayMs) {
    const kept = await listKeptData(userId);
    await user.runRemovalTransaction(async (tx, removeRecords) => {
      const { database } = tx;
      const values = [id, JSON.stringify(kept), recheckDelayMs];
      if ((await database.write({ text: FINISH_ERASURE, values })).length === 0) return;
      const rows = await database.write({ text: lockUserSql, values: [userId] });
      const [emailRow] = await database.write<[unknown]>({
        text: archive === undefined || rows.length > 0 ? selectEmailSql(users.table) : selectEmailSql(archive),
        values: [userId],
      });
      if (rows.length > 0) await removeRecords(rows);
      await revoke({ cause: 'user_deleted', userIds: [userId] }, tx);
      if (archive !== undefined) {
        await database.write({ text: `delete from ${quoteIdentifier(archive)} where "id" = $1`, values: [userId] });
      }
      await database.write({ text: ADD_TO_COUNT, values: [id, `deleted:${users.name}`, 1] });
      const email = emailRow?.[0];
      if (typeof email === 'string') {
        const [row] = rows;
        const locale = row === undefined ? undefined : localeOfUser(users.fromRow(row));
        // This e-mail is the last use of the user's address.
        const notice = await mail.send(
          { to: email, ...(await mailTexts.render('account-erased', { kept, appHost }, locale)) },
          tx,
        );
        await database.write({ text: STORE_NOTICE_ID, values: [id, notice.id] });
      }
      tx.afterCommit(() => events.emit('security.account_erased', { userId, erasureId: id }));
    });
  };
}
