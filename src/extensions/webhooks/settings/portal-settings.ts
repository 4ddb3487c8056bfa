import { z } from 'zod';
import {
  colorSettings,
  pathSettingSchema,
  readableTextOn,
  titleSettingSchema,
} from '../../../declare/page-settings.ts';

const ORIGIN_ERROR = 'must be an origin without a path, such as https://app.example.com';

/** Whether a text is an origin as browsers write it, so that it can be compared and be part of a Content Security Policy. */
function isWebOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

const origin = z.string({ error: ORIGIN_ERROR }).refine(isWebOrigin, { error: ORIGIN_ERROR });

/** The schema of the setting `portal`, once `true` stands for no settings and `false` for none at all. */
export const portalSettingsSchema = z
  .strictObject(
    {
      /** The origins whose pages may show the portal in a frame. Default: none. */
      frameAncestors: z.array(origin, { error: 'must be a list of origins' }).max(50).default([]),
      /** The name at the top of the page. Default: none, because an embedded page needs no name. */
      title: titleSettingSchema.optional(),
      /** An image of this server, before the title. */
      logo: pathSettingSchema('/brand/logo.svg').optional(),
      /** The colours of the page, in light and in dark mode. */
      colors: z.strictObject({ ...colorSettings, dark: z.strictObject(colorSettings).optional() }).default({}),
      /** A stylesheet of this server that is loaded last. */
      stylesheet: pathSettingSchema('/brand/portal.css').optional(),
      /** The origin of this server, with which links begin. Default: that of `APP_URL`. */
      url: origin.optional(),
    },
    { error: 'must be true, false or an object of settings' },
  )
  .optional();

/** The settings of the portal with all defaults filled. */
export type PortalSettings = NonNullable<z.output<typeof portalSettingsSchema>>;

/** The settings of the portal as a project writes them. `true`: with the defaults. */
export type PortalOption = boolean | z.input<typeof portalSettingsSchema>;

/** Returns the setting as `portalSettingsSchema` expects it: undefined if the portal is off. */
export function normalizePortalOption(option: PortalOption): z.input<typeof portalSettingsSchema> {
  if (option === true) return {};
  return option === false ? undefined : option;
}

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
