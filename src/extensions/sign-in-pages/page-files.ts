import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import {
  ApiError,
  escapeHtml,
  memoizeAsync,
  prepareContent,
  type Route,
  type ServedContent,
  sendContent,
} from '../../extension/index.ts';
import type { Feature, PageConfig } from './page-config.ts';

const FOLDER = new URL('./page/', import.meta.url);
const SHELL = 'index.html';
const HOME = '/auth';
const ASSETS = `${HOME}/assets`;

/** The pages, each with the features of which the app must offer at least one. */
const PAGES: Readonly<Record<string, readonly Feature[]>> = {
  'sign-in': ['password'],
  register: ['register'],
  forgot: ['reset'],
  reset: ['reset'],
  verify: ['emailVerification'],
  'change-email': ['emailChange'],
  'undo-email-change': ['emailChange'],
  email: ['emailSignIn'],
  callback: ['providers'],
  invitation: ['invitations'],
  'organisation-invitation': ['organisationInvitations'],
  'two-factor': ['twoFactor', 'passkeySecondFactor'],
  account: ['password'],
};

const SHARED_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const PAGE_HEADERS = {
  ...SHARED_HEADERS,
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

// Browsers ask whether a file has changed, so that a deployment never mixes old and new modules for long.
const ASSET_HEADERS = { ...SHARED_HEADERS, 'Cache-Control': 'no-cache' };

const CONTENT_TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** The content of the pages that depends on the settings. */
interface PageContent {
  /** Called at the first request, when all features are set up. */
  config: () => PageConfig;
  themeCss: string;
  stylesheet: string | undefined;
  logo: string | undefined;
}

/** Fills the shell, which is the same for all pages: the script chooses the page by the path. */
function fillShell(shell: string, { config, stylesheet, logo }: PageContent): string {
  const { title, ...rest } = config();
  const name = escapeHtml(title);
  const values: Record<string, string> = {
    $title$: name,
    $brand$: logo === undefined ? name : `<img src="${escapeHtml(logo)}" alt="${name}">`,
    $stylesheet$: stylesheet === undefined ? '' : `<link rel="stylesheet" href="${escapeHtml(stylesheet)}">`,
    // A script element ends at the first `</script`, so no `<` may stay.
    '"$config$"': JSON.stringify({ title, ...rest }).replaceAll('<', '\\u003c'),
  };
  return shell.replaceAll(/"\$\w+\$"|\$\w+\$/g, (placeholder) => values[placeholder]!);
}

const createRoute = (path: string, getContent: () => Promise<ServedContent>, isOffered = () => true): Route => ({
  method: 'GET',
  path,
  policy: 'public',
  async handler({ req, res }) {
    if (!isOffered()) throw new ApiError('NOT_FOUND');
    sendContent(req, res, await getContent());
  },
});

/** Serves the pages below `/auth`, and their scripts and styles: the files of `page/`, each read on its first request. */
export function pageFileRoutes(content: PageContent): Route[] {
  const getPage = memoizeAsync(async () => {
    const shell = await readFile(new URL(SHELL, FOLDER), 'utf8');
    return prepareContent('text/html; charset=utf-8', Buffer.from(fillShell(shell, content)), PAGE_HEADERS);
  });
  const isAnyOffered = (features: readonly Feature[]) =>
    content.config().features.some((one) => features.includes(one));
  const pages = Object.entries(PAGES).map(([name, features]) =>
    createRoute(`${HOME}/${name}`, getPage, () => isAnyOffered(features)),
  );
  const assets = readdirSync(FOLDER)
    .filter((name) => name !== SHELL)
    .map((name) => {
      const read = async () =>
        prepareContent(CONTENT_TYPES[extname(name)]!, await readFile(new URL(name, FOLDER)), ASSET_HEADERS);
      return createRoute(`${ASSETS}/${name}`, memoizeAsync(read));
    });
  const getTheme = memoizeAsync(() =>
    prepareContent(CONTENT_TYPES['.css']!, Buffer.from(content.themeCss), ASSET_HEADERS),
  );
  return [
    { method: 'GET', path: HOME, policy: 'public', handler: ({ res }) => res.redirect(`${HOME}/account`) },
    ...pages,
    ...assets,
    createRoute(`${ASSETS}/theme.css`, getTheme),
  ];
}
