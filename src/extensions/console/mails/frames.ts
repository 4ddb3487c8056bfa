import type { Response } from 'express';
import { z } from 'zod';
import {
  ApiError,
  type ConsoleRoute,
  type ExtensionHost,
  type Route,
  type RouteContext,
} from '../../../extension/index.ts';
import { createKeyedHashes } from '../../../platform/data/crypto/keyring.ts';
import type { CompleteMail } from '../../../platform/mail/message.ts';

const FRAMES = '/console/mail-frames';
/** The purpose of the key that signs URLs. */
const CONTEXT = 'console mail frame';
/** The page loads the URL of a frame at once. */
const LIFETIME_SECONDS = 60;

const frameQuery = z.strictObject({
  scheme: z.enum(['light', 'dark'], { error: 'Must be light or dark' }).default('light'),
  images: z.enum(['blocked', 'loaded'], { error: 'Must be blocked or loaded' }).default('blocked'),
});
type FrameOptions = z.output<typeof frameQuery>;

const signedQuery = frameQuery.extend({
  expires: z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number),
  signature: z.string(),
});

/**
 * The content security policy of a frame. Mail programs run no scripts and send no forms, and neither does the frame. E-mails have inline styles,
 * because mail programs ignore style sheets. Images of other servers tell these servers about the reader, so they are loaded on request only.
 */
const framePolicy = ({ images }: FrameOptions) =>
  [
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    `img-src data:${images === 'loaded' ? ' https:' : ''}`,
    `font-src data:${images === 'loaded' ? ' https:' : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    'sandbox',
  ].join('; ');

function sendFrame(res: Response, { html }: CompleteMail, options: FrameOptions): void {
  res.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': framePolicy(options),
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
  });
  const head = `<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="${options.scheme}">`;
  res.end(`<!doctype html>${head}${html}`);
}

/** An e-mail that can be shown in a frame. */
export interface FramedMail {
  /** The path of the e-mail below the tab, in express style: `/captured/:id`. */
  path: string;
  read(ctx: Pick<RouteContext, 'params'>): Promise<CompleteMail>;
}

/** The frames that show the HTML of e-mails. */
export interface MailFrames {
  /** The route of the tab that responds with the URL of the frame of an e-mail. */
  urlRoute(mail: FramedMail): ConsoleRoute;
  /**
   * The route of the frame itself. The browser cannot send the session with the request of a frame, so it is public, and needs the signature of a
   * URL.
   */
  pageRoute(mail: FramedMail, middleware: Route['middleware']): Route;
}

/** Creates the frames. Their URLs are signed, work for a minute, and give access to nothing but one e-mail. */
export function createMailFrames({ env }: Pick<ExtensionHost, 'env'>, now = Date.now): MailFrames {
  const hashes = createKeyedHashes(env.encryptionKeys);
  const pathOf = ({ path }: FramedMail, params: Record<string, string>) =>
    FRAMES + path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!));
  const signedText = (path: string, { scheme, images }: FrameOptions, expires: number) =>
    [path, scheme, images, expires].join('\n');

  return {
    urlRoute: (mail) => ({
      method: 'GET',
      path: `${mail.path}/frame`,
      query: frameQuery,
      async handler(ctx) {
        // An e-mail that cannot be shown has an error instead of a frame.
        await mail.read(ctx);
        const options = ctx.query as FrameOptions;
        const path = pathOf(mail, ctx.params);
        const expires = Math.floor(now() / 1000) + LIFETIME_SECONDS;
        const signature = hashes.hash(signedText(path, options, expires), CONTEXT);
        return { url: `${path}?${new URLSearchParams({ ...options, expires: String(expires), signature })}` };
      },
    }),
    pageRoute: (mail, middleware) => ({
      method: 'GET',
      path: FRAMES + mail.path,
      policy: 'public',
      ...(middleware && { middleware }),
      async handler(ctx) {
        const parsed = signedQuery.safeParse(ctx.query);
        if (!parsed.success) throw new ApiError('NOT_FOUND');
        const { expires, signature, ...options } = parsed.data;
        const text = signedText(pathOf(mail, ctx.params), options, expires);
        if (expires * 1000 <= now() || !hashes.matches(signature, text, CONTEXT)) throw new ApiError('NOT_FOUND');
        sendFrame(ctx.res, await mail.read(ctx), options);
      },
    }),
  };
}
