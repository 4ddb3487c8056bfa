import type { Route } from '../../../declare/route.ts';
import { escapeHtml } from '../../../platform/helpers/escape-html.ts';
import { createModulePage, prepareStylesheet, type ServedFile } from '../../../platform/http/module-pages.ts';
import { memoizeAsync, sendContent } from '../../../platform/http/served-bytes.ts';
import type { PortalSettings } from '../settings/portal-settings.ts';
import { createPortalCss } from './colors.ts';
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
  const { getPage, assets } = createModulePage({
    folder: new URL('./page/', import.meta.url),
    assets: ASSETS,
    fill: () => fillShell(settings),
    frameAncestors: settings.frameAncestors,
  });
  const createRoute = ({ path, getContent }: ServedFile): Route => ({
    method: 'GET',
    path,
    policy: 'public',
    async handler({ req, res }) {
      sendContent(req, res, await getContent());
    },
  });
  const getColors = memoizeAsync(() => prepareStylesheet(createPortalCss(settings.colors)));
  const files = [
    { path: PORTAL_PATH, getContent: getPage },
    { path: `${ASSETS}/colors.css`, getContent: getColors },
  ];
  return [...files, ...assets].map(createRoute);
}
