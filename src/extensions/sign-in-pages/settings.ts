import { z } from 'zod';
import { colorSettings, pathSettingSchema, titleSettingSchema } from '../../extension/index.ts';

const RADIUS_ERROR = 'must be a number of pixels from 0 to 32';

/** The theme: colours for light and dark, and the radius of corners. Only hex colours and numbers, so that it can contain no CSS. */
const themeSchema = z.strictObject({
  ...colorSettings,
  radius: z.number({ error: RADIUS_ERROR }).min(0, { error: RADIUS_ERROR }).max(32, { error: RADIUS_ERROR }).optional(),
  /** Colours for users who prefer dark pages. Left out: the default dark colours, and `accent`. */
  dark: z.strictObject(colorSettings).optional(),
});

/** The theme as a project writes it. */

/** The settings of the extension. */
export const signInPagesSettings = z.strictObject({
  /** The name on every page. Default: the host of `APP_URL`, otherwise `openapi.title`. */
  title: titleSettingSchema.optional(),
  /** The page that opens after a sign-in. */
  afterSignIn: pathSettingSchema('/app').default('/'),
  theme: themeSchema.optional(),
  /** A stylesheet of this server that is loaded last. */
  stylesheet: pathSettingSchema('/brand/sign-in.css').optional(),
  /** An image of this server that replaces the title at the top of each page. */
  logo: pathSettingSchema('/brand/logo.svg').optional(),
});

/** The settings of the extension as a project writes them. All are optional. */
export type SignInPagesOptions = z.input<typeof signInPagesSettings>;
