import { readableTextOn } from '../../../declare/page-settings.ts';
import type { PortalSettings } from '../settings/portal-settings.ts';

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
export function createPortalCss({ dark = {}, ...light }: Colors): string {
  const darkColors = { ...(light.accent === undefined ? {} : { accent: light.accent }), ...dark };
  return `:root {\n${[...declareColors('light', light), ...declareColors('dark', darkColors)].join('')}}\n`;
}
