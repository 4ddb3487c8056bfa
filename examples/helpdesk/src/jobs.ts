import { defineJob } from 'belfry';
import { z } from 'zod';
import { ticket } from './resources/ticket.ts';

/** Closes tickets whose customer has not replied. The hook of the ticket sends the e-mail, in the transaction of each update. */
export const closeStaleTickets = defineJob('close-stale-tickets', {
  description: 'Closes tickets that have waited for the customer for a while',
  input: z.strictObject({ days: z.number().int().positive() }),
  async run({ input, service, signal, progress }) {
    const before = new Date(Date.now() - input.days * 86_400_000);
    let closed = 0;
    for await (const { id } of service(ticket).each({ status: 'waiting', updatedAt: { lt: before } })) {
      signal.throwIfAborted();
      await service(ticket).update(id, { status: 'closed' });
      progress(++closed);
    }
    return { closed };
  },
});
