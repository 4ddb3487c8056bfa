import { z } from 'zod';
import { colorSettings, pathSettingSchema, titleSettingSchema } from '../../../extension/index.ts';

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
