import { defineMail } from 'belfry';
import { z } from 'zod';

const aboutTicket = { input: z.strictObject({ title: z.string() }), example: { title: 'The printer is on fire' } };

/** To the customer, after an agent has replied. */
export const ticketAnswered = defineMail('ticket-answered', {
  ...aboutTicket,
  description: 'After an agent has replied to a ticket',
  texts: {
    en: ({ title }) => ({ subject: `New reply: ${title}`, text: 'We have replied to your ticket.' }),
    de: ({ title }) => ({ subject: `Neue Antwort: ${title}`, text: 'Wir haben auf Ihre Anfrage geantwortet.' }),
  },
});

/** To the customer, after an agent or the scheduled job has closed the ticket. */
export const ticketClosed = defineMail('ticket-closed', {
  ...aboutTicket,
  description: 'After a ticket was closed',
  texts: {
    en: ({ title }) => ({ subject: `Closed: ${title}`, text: 'We have closed your ticket.' }),
    de: ({ title }) => ({ subject: `Erledigt: ${title}`, text: 'Ihre Anfrage ist erledigt.' }),
  },
});
