import type { Response } from 'express';
import { z } from 'zod';
import {
  ApiError,
  type ConsoleRoute,
  type ConsoleTab,
  type Host,
  isId,
  isStorable,
  type RouteContext,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { type CompleteMail, validateMail } from '../../../platform/mail/message.ts';
import { createMailStore } from '../../../platform/mail/store.ts';

const PAGE_SIZE = 50;
/** The maximum number of links of an e-mail in the list below it. */
const MAX_LINKS = 50;

// The page shows the HTML of an e-mail in a frame. Mail programs run no scripts and send no forms, and neither does the frame. E-mails have
// inline styles, because mail programs ignore style sheets.
const FRAME_POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  'img-src https: data:',
  'font-src https: data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  'sandbox',
].join('; ');

const frameQuery = z.strictObject({
  scheme: z.enum(['light', 'dark'], { error: 'Must be light or dark' }).default('light'),
});
const capturedQuery = z.strictObject({
  recipient: z.string().max(254).refine(isStorable, { error: 'Must be a part of an e-mail address' }).optional(),
  after: z.string().refine(isId, { error: 'Must be the `next` of a page' }).optional(),
});

function sendFrame(res: Response, { html }: CompleteMail, scheme: 'light' | 'dark'): void {
  res.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': FRAME_POLICY,
    'Cross-Origin-Resource-Policy': 'same-origin',
  });
  const head = `<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="${scheme}">`;
  res.end(`<!doctype html>${head}${html}`);
}

/** Returns the web addresses in an e-mail, each once. The frame cannot open them, so the page lists them. */
function findLinks({ text, html }: CompleteMail): string[] {
  const inHtml = [...html.matchAll(/\shref="([^"]*)"/gi)].map((match) => match[1]!.replaceAll('&amp;', '&'));
  const inText = text.match(/https?:\/\/[^\s<>"']+[^\s<>"'.,;:!?)]/gi) ?? [];
  const isWebAddress = (link: string) => /^https?:/i.test(link) && URL.canParse(link);
  return [...new Set([...inText, ...inHtml])].filter(isWebAddress).slice(0, MAX_LINKS);
}

/** Renders an e-mail with example values. @throws ApiError NOT_FOUND; VALIDATION_ERROR if its text throws or returns an invalid e-mail */
async function renderExample({ mailTexts }: Pick<Host, 'mailTexts'>, kind: string, locale: string) {
  const found = mailTexts.list().find((one) => one.kind === kind);
  if (found === undefined || !found.locales.includes(locale)) throw new ApiError('NOT_FOUND');
  try {
    return validateMail({ to: 'ada@example.com', ...(await found.render(locale)) });
  } catch (error) {
    const problem = error instanceof ApiError ? 'returned an invalid e-mail' : `threw ${String(error)}`;
    const details = error instanceof ApiError ? error.details : undefined;
    throw new ApiError('VALIDATION_ERROR', `The text of ${kind} in ${locale} ${problem}`, { details, cause: error });
  }
}

/** The tab of the console that shows all e-mails of the app with example values, and the newest captured e-mails. */
export function createMailsTab(host: Pick<Host, 'mailTexts' | 'database' | 'keyring'>): ConsoleTab {
  const store = createMailStore(host.database, host.keyring);

  async function readCaptured({ params }: RouteContext) {
    const found = await store.readCaptured(params.id!);
    if (found === undefined) throw new ApiError('NOT_FOUND', 'There is no captured e-mail with this id');
    return found;
  }

  const readExample = ({ params }: RouteContext) => renderExample(host, params.kind!, params.locale!);

  async function listCaptured(filter: z.output<typeof capturedQuery>) {
    const found = await store.listCaptured({ ...filter, limit: PAGE_SIZE + 1 });
    const { page, next } = toPage(found, PAGE_SIZE, ({ id }) => id);
    const rows = page.map(({ id, to, subject, kind, createdAt }) => ({ id, to, subject, kind, createdAt }));
    return withMeta(rows, { limit: PAGE_SIZE, next });
  }

  /** The e-mail as data, and its HTML alone, for the frame. */
  const mailRoutes = (path: string, read: (ctx: RouteContext) => Promise<CompleteMail>): ConsoleRoute[] => [
    {
      method: 'GET',
      path,
      async handler(ctx) {
        const mail = await read(ctx);
        return { ...mail, links: findLinks(mail) };
      },
    },
    {
      method: 'GET',
      path: `${path}/html`,
      query: frameQuery,
      handler: async (ctx) => sendFrame(ctx.res, await read(ctx), (ctx.query as z.output<typeof frameQuery>).scheme),
    },
  ];

  return {
    id: 'mails',
    label: 'E-mails',
    // E-mails are captured only in development, and examples are of no use to administrators.
    onlyInDevelopment: true,
    routes: [
      {
        method: 'GET',
        path: '/texts',
        handler: () =>
          host.mailTexts
            .list()
            .map(({ kind, description, origin, locales }) => ({ kind, description, origin, locales })),
      },
      ...mailRoutes('/texts/:kind/:locale', readExample),
      {
        method: 'GET',
        path: '/captured',
        query: capturedQuery,
        handler: ({ query }) => listCaptured(query),
      },
      ...mailRoutes('/captured/:id', readCaptured),
    ],
  };
}
