import type { RequestHandler, Response } from 'express';
import type { Host } from '../../declare/host.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { type CompleteMail, validateMail } from '../../platform/mail/message.ts';
import { createMailStore } from '../../platform/mail/store.ts';
import { forbidCaching } from './access.ts';

/** The maximum number of captured e-mails in the list of the page. */
const MAX_CAPTURED = 50;

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

function sendFrame(res: Response, { html }: CompleteMail): void {
  res.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': FRAME_POLICY,
    'Cross-Origin-Resource-Policy': 'same-origin',
  });
  res.end(`<!doctype html><meta name="viewport" content="width=device-width, initial-scale=1">${html}`);
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

/** The routes of the page at `path`: all e-mails of the app with example values, and the newest captured e-mails. */
export function mailPreviewRoutes(
  path: string,
  {
    host,
    middleware,
  }: { host: Pick<Host, 'mailTexts' | 'database' | 'keyring'>; middleware: readonly RequestHandler[] },
): Route[] {
  const store = createMailStore(host.database, host.keyring);

  async function readCaptured({ params }: RouteContext): Promise<CompleteMail> {
    const found = (await store.listCaptured()).find(({ id }) => id === params.id);
    if (found === undefined) throw new ApiError('NOT_FOUND');
    return found;
  }

  const readExample = ({ params }: RouteContext) => renderExample(host, params.kind!, params.locale!);

  const get = (below: string, handler: Route['handler']): Route => ({
    method: 'GET',
    path: `${path}/${below}`,
    policy: 'public',
    middleware: [...middleware, forbidCaching],
    handler,
  });

  /** The e-mail without its HTML, and the HTML alone, for the frame. */
  const mailRoutes = (below: string, read: (ctx: RouteContext) => Promise<CompleteMail>): Route[] => [
    get(below, async (ctx) => {
      const { to, subject, text } = await read(ctx);
      return { to, subject, text };
    }),
    get(`${below}/html`, async (ctx) => sendFrame(ctx.res, await read(ctx))),
  ];

  return [
    get('texts', () => host.mailTexts.list().map(({ kind, description, locales }) => ({ kind, description, locales }))),
    ...mailRoutes('texts/:kind/:locale', readExample),
    get('captured', async () =>
      (await store.listCaptured()).slice(0, MAX_CAPTURED).map(({ id, to, subject }) => ({ id, to, subject })),
    ),
    ...mailRoutes('captured/:id', readCaptured),
  ];
}
