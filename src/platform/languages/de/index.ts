import { createTranslate, type LanguageTexts, type Translate } from '../catalogue.ts';
import { accountPanelMessages } from './account-panels.ts';
import { accountMessages } from './accounts.ts';
import { auditWords } from './audit-words.ts';
import { consoleMessages } from './console.ts';
import { fieldMessages } from './fields.ts';
import { fileMessages } from './files.ts';
import { jobAndMessageMessages } from './jobs-and-messages.ts';
import { operationsMessages } from './operations.ts';
import { organisationMessages } from './organisations.ts';
import { queryMessages } from './queries.ts';
import { recordMessages } from './records.ts';
import { requestMessages } from './requests.ts';
import { webhookExplanations } from './webhook-explanations.ts';
import { webhookMessages } from './webhooks.ts';

/** The messages in German. */
export const german: LanguageTexts = {
  messages: [
    requestMessages,
    fieldMessages,
    queryMessages,
    recordMessages,
    accountMessages,
    accountPanelMessages,
    organisationMessages,
    fileMessages,
    webhookMessages,
    webhookExplanations,
    jobAndMessageMessages,
    consoleMessages,
    operationsMessages,
    auditWords,
  ],
  listWords: { ' or ': ' oder ', ' and ': ' und ', none: 'keine' },
  thousands: '.',
};

let compiled: Translate | undefined;

/** Returns a text of Belfry in German, for e-mails, which no request asks for. */
export const toGerman: Translate = (text) => {
  compiled ??= createTranslate(german);
  return compiled(text);
};
