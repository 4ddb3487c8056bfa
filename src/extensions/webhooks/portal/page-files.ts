import { ApiError, createThemeCss, escapeHtml, type Route, sendContent } from '../../../extension/index.ts';
import { createBuiltPage } from '../../../platform/http/built-pages.ts';
import type { PortalSettings } from '../settings/portal-settings.ts';
import { PORTAL_PATH } from './links.ts';

const ASSETS = `${PORTAL_PATH}/assets`;

/** Fills the shell of the page. Nothing in it is secret or depends on the user. */
function fillShell({ title, logo, stylesheet, frameAncestors }: PortalSettings): Record<string, string> {
  const name = title === undefined ? '' : escapeHtml(title);
  const image = logo === undefined ? '' : `<img src="${escapeHtml(logo)}" alt="">`;
  const config = { frameAncestors };
  return {
    $title$: name === '' ? 'Webhooks' : `Webhooks · ${name}`,
    $brand$: image === '' && name === '' ? '' : `<header class="brand">${image}<span>${name}</span></header>`,
    $stylesheet$: stylesheet === undefined ? '' : `<link rel="stylesheet" href="${escapeHtml(stylesheet)}">`,
    // A script element ends at the first `</script`, so no `<` may stay.
    '"$config$"': JSON.stringify(config).replaceAll('<', '\\u003c'),
  };
}

/** Serves the page of the portal with its scripts and styles. The page is the same for everyone: the link's secret never reaches the server. */
export function portalPageRoutes(settings: PortalSettings): Route[] {
  const { getPage, getAsset } = createBuiltPage({
    page: 'portal',
    assets: ASSETS,
    css: createThemeCss(settings.colors),
    fill: () => fillShell(settings),
    frameAncestors: settings.frameAncestors,
  });
  return [
    {
      method: 'GET',
      path: PORTAL_PATH,
      policy: 'public',
      async handler({ req, res }) {
        sendContent(req, res, await getPage());
      },
    },
    {
      method: 'GET',
      path: `${ASSETS}/:file`,
      policy: 'public',
      async handler({ req, res, params }) {
        const content = await getAsset(params.file!);
        if (content === undefined) throw new ApiError('NOT_FOUND');
        sendContent(req, res, content);
      },
    },
  ];
}
