import {
  ApiError,
  escapeHtml,
  type Route,
  type RouteContext,
  type ServedContent,
  sendContent,
} from '../../extension/index.ts';
import { createBuiltPage } from '../../platform/http/built-pages.ts';
import type { Feature, PageConfig } from './page-config.ts';

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

/** The content of the pages that depends on the settings. */
interface PageContent {
  /** Called at the first request, when all features are set up. */
  config: () => PageConfig;
  themeCss: string | undefined;
  stylesheet: string | undefined;
  logo: string | undefined;
}

/** Fills the page, which is the same at all paths: the script chooses what it shows by the path. */
function fillPage({ config, stylesheet, logo }: PageContent): Record<string, string> {
  const { title, ...rest } = config();
  const name = escapeHtml(title);
  return {
    $title$: name,
    $brand$: logo === undefined ? name : `<img src="${escapeHtml(logo)}" alt="${name}">`,
    $stylesheet$: stylesheet === undefined ? '' : `<link rel="stylesheet" href="${escapeHtml(stylesheet)}">`,
    // A script element ends at the first `</script`, so no `<` may stay.
    '"$config$"': JSON.stringify({ title, ...rest }).replaceAll('<', '\\u003c'),
  };
}

const createRoute = (path: string, find: (ctx: RouteContext) => Promise<ServedContent | undefined>): Route => ({
  method: 'GET',
  path,
  policy: 'public',
  async handler(ctx) {
    const found = await find(ctx);
    if (found === undefined) throw new ApiError('NOT_FOUND');
    sendContent(ctx.req, ctx.res, found);
  },
});

/** Serves the pages below `/auth`, and their scripts and stylesheets. */
export function pageFileRoutes(content: PageContent): Route[] {
  const { getPage, getAsset } = createBuiltPage({
    page: 'sign-in',
    assets: ASSETS,
    ...(content.themeCss !== undefined && { css: content.themeCss }),
    fill: () => fillPage(content),
    isStorable: false,
  });
  const isAnyOffered = (features: readonly Feature[]) =>
    content.config().features.some((one) => features.includes(one));
  const pages = Object.entries(PAGES).map(([name, features]) =>
    createRoute(`${HOME}/${name}`, async () => (isAnyOffered(features) ? getPage() : undefined)),
  );
  return [
    { method: 'GET', path: HOME, policy: 'public', handler: ({ res }) => res.redirect(`${HOME}/account`) },
    ...pages,
    createRoute(`${ASSETS}/:file`, ({ params }) => getAsset(params.file!)),
  ];
}
