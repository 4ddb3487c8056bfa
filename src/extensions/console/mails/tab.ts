import { z } from 'zod';
import {
  ApiError,
  type ConsoleConcern,
  type ConsoleRoute,
  type ConsoleTab,
  type Host,
  isId,
  isStorable,
  type Route,
  type RouteContext,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { type CompleteMail, validateMail } from '../../../platform/mail/message.ts';
import { countFailedMails, createMailStore } from '../../../platform/mail/store.ts';
import { createMailFrames, type FramedMail } from './frames.ts';
import type { CapturedMailItem, ListedMail, Mail, MailDelivery } from './responses.ts';
import { ownAddressOf, testRoutes } from './send-test.ts';

const PAGE_SIZE = 50;
/** The maximum number of links of an e-mail in the list below it. */
const MAX_LINKS = 50;
/** The recipient of examples. */
const EXAMPLE_RECIPIENT = 'ada@example.com';

const capturedQuery = z.strictObject({
  recipient: z.string().max(254).refine(isStorable, { error: 'Must be a part of an e-mail address' }).optional(),
  after: z.string().refine(isId, { error: 'Must be the `next` of a page' }).optional(),
});

/** Returns the web addresses in an e-mail, each once. The frame cannot open them, so the page lists them. */
function findLinks({ text, html }: CompleteMail): string[] {
  const inHtml = [...html.matchAll(/\shref="([^"]*)"/gi)].map((match) => match[1]!.replaceAll('&amp;', '&'));
  const inText = text.match(/https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)]/gi) ?? [];
  const isWebAddress = (link: string) => /^https?:/i.test(link) && URL.canParse(link);
  return [...new Set([...inText, ...inHtml])].filter(isWebAddress).slice(0, MAX_LINKS);
}

/** Renders an e-mail with example values. @throws ApiError NOT_FOUND; VALIDATION_ERROR if its text throws or returns an invalid e-mail */
async function renderExample(
  { mailTexts }: Pick<Host, 'mailTexts'>,
  { params: { kind, locale = '' } }: Pick<RouteContext, 'params'>,
  to: string,
): Promise<CompleteMail> {
  const found = mailTexts.list().find((one) => one.kind === kind);
  if (found === undefined || !found.locales.includes(locale)) throw new ApiError('NOT_FOUND');
  try {
    return validateMail({ to, ...(await found.render(locale)) });
  } catch (error) {
    const problem = error instanceof ApiError ? 'returned an invalid e-mail' : `threw ${String(error)}`;
    const details = error instanceof ApiError ? error.details : undefined;
    throw new ApiError('VALIDATION_ERROR', `The text of ${kind} in ${locale} ${problem}`, { details, cause: error });
  }
}

/** What becomes of the e-mails of the app: a mail server gets them, they are captured, or they wait in vain. */
function deliveryOf({ nodeEnv, smtp }: Host['env']): MailDelivery['delivery'] {
  if (smtp !== undefined) return 'server';
  return nodeEnv === 'production' ? 'none' : 'captured';
}

/** The tab of the console that shows the e-mails of the app, with the public routes of its frames. */
interface MailsTab {
  tab: ConsoleTab;
  frameRoutes: readonly Route[];
}

/**
 * Creates the tab of the console that shows all e-mails of the app with example values. In development it also shows the newest captured e-mails, and
 * in production administrators can send examples to themselves.
 *
 * @param frameGuards the middleware of files without data
 */
export function createMailsTab(
  host: Pick<Host, 'mail' | 'mailTexts' | 'database' | 'keyring' | 'limits' | 'settings' | 'env'>,
  mode: 'development' | 'production',
  frameGuards: NonNullable<Route['middleware']>,
): MailsTab {
  const store = createMailStore(host.database, host.keyring);
  const frames = createMailFrames(host);
  const isDevelopment = mode === 'development';

  const examples: FramedMail = {
    path: '/texts/:kind/:locale',
    read: (ctx) => renderExample(host, ctx, EXAMPLE_RECIPIENT),
  };
  const captured: FramedMail = {
    path: '/captured/:id',
    async read({ params }) {
      const found = await store.readCaptured(params.id!);
      if (found === undefined) throw new ApiError('NOT_FOUND', 'There is no captured e-mail with this id');
      return found;
    },
  };
  const shown = isDevelopment ? [examples, captured] : [examples];

  async function listCaptured(filter: z.output<typeof capturedQuery>) {
    const found = await store.listCaptured({ ...filter, limit: PAGE_SIZE + 1 });
    const { page, next } = toPage(found, PAGE_SIZE, ({ id }) => id);
    const rows = page.map(
      ({ id, to, subject, kind, createdAt }): CapturedMailItem => ({ id, to, subject, kind, createdAt }),
    );
    return withMeta(rows, { limit: PAGE_SIZE, next });
  }

  async function listConcerns(): Promise<ConsoleConcern[]> {
    const count = await countFailedMails(host.database);
    if (count === 0) return [];
    const message = `${count.toLocaleString('en')} ${count === 1 ? 'e-mail' : 'e-mails'} of the last 24 hours could not be sent`;
    return [{ level: 'error', message, href: '/console/mails' }];
  }

  function listTexts(ctx: RouteContext) {
    const rows = host.mailTexts
      .list()
      .map(({ kind, description, origin, locales }): ListedMail => ({ kind, description, origin, locales }));
    const testTo = isDevelopment ? undefined : ownAddressOf(ctx);
    return withMeta(rows, { delivery: deliveryOf(host.env), testTo: testTo ?? null } satisfies MailDelivery);
  }

  const readRoute = ({ path, read }: FramedMail): ConsoleRoute => ({
    method: 'GET',
    path,
    async handler(ctx): Promise<Mail> {
      const mail = await read(ctx);
      return { ...mail, links: findLinks(mail) };
    },
  });

  const modeRoutes: ConsoleRoute[] = isDevelopment
    ? [{ method: 'GET', path: '/captured', query: capturedQuery, handler: ({ query }) => listCaptured(query) }]
    : testRoutes(host, store, (ctx, to) => renderExample(host, ctx, to));
  return {
    tab: {
      id: 'mails',
      label: 'E-mails',
      concerns: listConcerns,
      routes: [
        { method: 'GET', path: '/texts', handler: listTexts },
        ...shown.flatMap((mail) => [readRoute(mail), frames.urlRoute(mail)]),
        ...modeRoutes,
      ],
    },
    frameRoutes: shown.map((mail) => frames.pageRoute(mail, frameGuards)),
  };
}
