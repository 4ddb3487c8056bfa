import {
  createModulePage,
  escapeHtml,
  memoizeAsync,
  prepareStylesheet,
  type Route,
  readableTextOn,
  type ServedFile,
  sendContent,
} from '../../../extension/index.ts';
import type { PortalSettings } from '../settings/portal-settings.ts';
import { PORTAL_PATH } from './links.ts';

type Colors = PortalSettings['colors'];

/** Returns the declarations of the colours of one mode. The page's own stylesheet chooses between `--light-…` and `--dark-…`. */
function declareColors(mode: 'light' | 'dark', { accent, background, surface, text }: Omit<Colors, 'dark'>): string[] {
  const accentText = accent === undefined ? undefined : readableTextOn(accent);
  const values = { accent, 'accent-text': accentText, background, surface, text };
  return Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`  --${mode}-${name}: ${value};\n`],
  );
}

/** Returns the colours as a stylesheet. Without a dark accent, the accent holds for both modes; other colours hold for light pages only. */
function createPortalCss({ dark = {}, ...light }: Colors): string {
  const darkColors = { ...(light.accent === undefined ? {} : { accent: light.accent }), ...dark };
  return `:root {\n${[...declareColors('light', light), ...declareColors('dark', darkColors)].join('')}}\n`;
}

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
