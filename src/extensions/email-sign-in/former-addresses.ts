import type { OutboxConsumer, ResourceGateway } from '../../extension/index.ts';

// Uses index email_proofs_email_index.
const REMOVE = `delete from email_proofs where email = any($1) and purpose = 'sign-in'`;

const emailOf = (columns: unknown) => (columns as { email?: string } | undefined)?.email;

/**
 * Creates the relay consumer that ends the links and codes that were sent to the former address of a user. They never give access to the
 * account, which is found by its current address, but would create a new one.
 */
export function createFormerAddressConsumer(users: Pick<ResourceGateway, 'name'>): OutboxConsumer {
  return {
    wants: ({ name, payload }) =>
      name === `${users.name}.updated` &&
      emailOf(payload.previous) !== undefined &&
      emailOf(payload.previous) !== emailOf(payload.record),
    async handle(rows, tx) {
      await tx.write({ text: REMOVE, values: [rows.map(({ payload }) => emailOf(payload.previous))] });
      return undefined;
    },
  };
}
